"""The blocks of the paper. Each file contains a formula, its backward and the `+=` of its parameters."""

from minitransformer.layers.attention import CrossAttention, MultiHeadAttention, SelfAttention
from minitransformer.layers.config import StackConfig
from minitransformer.layers.decoder import Decoder, DecoderLayer
from minitransformer.layers.embedding import Embedding
from minitransformer.layers.encoder import Encoder, EncoderLayer
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.layers.input import Input
from minitransformer.layers.layer import Layer
from minitransformer.layers.layer_norm import LayerNorm
from minitransformer.layers.linear import Linear
from minitransformer.layers.output_projection import LinearCrossEntropy, OutputProjection
from minitransformer.layers.pooling import FirstToken, MeanOverTokens
from minitransformer.layers.positions import LearnedPositions, SinusoidalPositions
from minitransformer.layers.residual import Residual
