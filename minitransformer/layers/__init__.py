"""The blocks of the paper. Each file contains a formula, its backward and the `+=` of its parameters."""

from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.attention_kinds import (
    AdditiveCrossAttention, AdditiveSelfAttention, UnscaledCrossAttention, UnscaledSelfAttention)
from minitransformer.layers.attentional_state import AttentionalState
from minitransformer.layers.bidirectional import Bidirectional
from minitransformer.layers.config import StackConfig
from minitransformer.layers.convolution import Convolution
from minitransformer.layers.decoder import Decoder, DecoderLayer
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.encoder import Encoder, EncoderLayer
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.layers.gated_convolution import GatedConvolution
from minitransformer.layers.gru import GRU
from minitransformer.layers.input import Input
from minitransformer.layers.layer import Layer
from minitransformer.layers.layer_norm import LayerNorm
from minitransformer.layers.linear import Linear
from minitransformer.layers.linear_cross_entropy import LinearCrossEntropy
from minitransformer.layers.lstm import LSTM
from minitransformer.layers.output_projection import OutputProjection
from minitransformer.layers.pooling import FirstToken, MeanOverTokens
from minitransformer.layers.positions import LearnedPositions, SinusoidalPositions
from minitransformer.layers.recurrent_stack import RecurrentStack
from minitransformer.layers.residual import Residual
from minitransformer.layers.restricted_attention import RestrictedSelfAttention
from minitransformer.layers.rnn import RNN
from minitransformer.layers.separable_convolution import SeparableConvolution
from minitransformer.layers.single_attention import AdditiveAttention, DotProductAttention
