"""Attention Is All You Need in NumPy: every derivative by hand, proven by gradient checks."""

from minitransformer import evaluation
from minitransformer.checking import gradcheck
from minitransformer.data.batches import Batch, make_batch
from minitransformer.decoding import greedy, translate
from minitransformer.errors import InputError
from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
from minitransformer.layers import Layer, Transformer, TransformerConfig
from minitransformer.optim import Adam, clip_gradient_norm, schedule
from minitransformer.parameter import Parameter
from minitransformer.training.run import Run
from minitransformer.training.step import training_step
from minitransformer.training.trainer import TrainingConfig, train
