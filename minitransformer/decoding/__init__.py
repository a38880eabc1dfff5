"""From a source to a target, token by token, with each token chosen from the model's own output."""

from minitransformer.decoding.beam import beam_search, greedy
from minitransformer.decoding.generation import generate
from minitransformer.decoding.hypothesis import Hypothesis
from minitransformer.decoding.sampling import sample
from minitransformer.decoding.translation import GREEDY, Search, decode_all, encode, translate
