"""The block of the convolutional encoder-decoder: a convolution to twice the width, half of which gates the other half."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache
from minitransformer.functional import dropout_backward, dropout_forward, glu_backward, glu_forward
from minitransformer.functional.dropout import DropoutCache
from minitransformer.functional.glu import GluCache
from minitransformer.layers.convolution import Convolution, ConvolutionLayerCache
from minitransformer.layers.layer import Layer


class GatedConvolutionCache(NamedTuple):
    dropout: DropoutCache
    convolution: ConvolutionLayerCache
    glu: GluCache


class GatedConvolution(Layer):
    """y = a sigmoid(b), [a, b] = convolution(dropout(x)): x, y (B, T, d_model), a, b (B, T, d_model).

    Gehring et al. 2017 (https://arxiv.org/abs/1705.03122), section 3.2. The gate decides for each number how much of it passes.
    """

    def __init__(self, d_model, rng, kernel_size=3, causal=False, dropout=0.0):
        self.convolution = Convolution(d_model, 2 * d_model, rng, kernel_size, causal=causal)
        self.dropout = dropout

    def forward(self, x, mask=None, rng=None) -> tuple[Array, GatedConvolutionCache]:
        """mask: None or (B, T) bool, True = a real token."""
        h, dropout = dropout_forward(x, self.dropout, rng)
        h, convolution = self.convolution.forward(h, mask)
        y, glu = glu_forward(h)
        return y, GatedConvolutionCache(dropout, convolution, glu)

    def backward(self, dy, cache) -> Array:
        check_cache(self, cache, GatedConvolutionCache)
        dh = glu_backward(dy, cache.glu)
        dh = self.convolution.backward(dh, cache.convolution)
        return dropout_backward(dh, cache.dropout)
