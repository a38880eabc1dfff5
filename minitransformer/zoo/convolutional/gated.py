"""The gated linear unit (Dauphin et al. 2017, https://arxiv.org/abs/1612.08083, equation 1)."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_floats, check_fraction
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.layer import Layer
from minitransformer.replaceable import replaceable
from minitransformer.zoo.convolutional.convolution import Convolution, ConvolutionLayerCache, check_convolved
from minitransformer.zoo.sigmoid import sigmoid


class GluCache(NamedTuple):
    a: Array      # (..., D)
    gate: Array   # (..., D) sigmoid(b)


@replaceable
def glu_forward(x) -> tuple[Array, GluCache]:
    """y = a sigmoid(b), the two halves of x = [a, b]: x (..., 2 D), y (..., D)."""
    half = x.shape[-1] // 2
    a, gate = x[..., :half], sigmoid(x[..., half:])
    with np.errstate(under="ignore"):    # of closed gates
        y = a * gate
    return y, GluCache(a, gate)


@replaceable
def glu_backward(dy, cache) -> Array:
    """da = dy g and, from g' = g (1 - g) of the sigmoid, db = dy a g (1 - g)."""
    a, gate = cache
    return module_of(dy).concatenate([dy * gate, dy * a * gate * (1 - gate)], axis=-1)


class GatedConvolutionCache(NamedTuple):
    dropout: DropoutCache
    convolution: ConvolutionLayerCache
    glu: GluCache


class GatedConvolution(Layer):
    """y = a sigmoid(b), [a, b] = convolution(dropout(x)): x, y (B, T, d_model), a, b (B, T, d_model).

    Gehring et al. 2017 (https://arxiv.org/abs/1705.03122), section 3.2. The gate decides for each number how much of it passes.
    """

    def __init__(self, d_model, rng=None, kernel_size=3, causal=False, dropout=0.0):
        check_fraction("the dropout rate", dropout)
        self.convolution = Convolution(d_model, 2 * d_model, rng, kernel_size, causal=causal)
        self.dropout = dropout

    def forward(self, x, mask=None, rng=None) -> tuple[Array, GatedConvolutionCache]:
        """mask: None or (B, T) bool, True = a real token."""
        check_convolved("GatedConvolution", x, mask, self.convolution.weight.shape[1])
        h, dropout = dropout_forward(x, self.dropout, rng)
        h, convolution = self.convolution.forward(h, mask)
        y, glu = glu_forward(h)
        return y, GatedConvolutionCache(dropout, convolution, glu)

    def backward(self, dy, cache) -> Array:
        check_cache(self, cache, GatedConvolutionCache)
        check_floats("GatedConvolution: dy", dy, *cache.glu.a.shape)
        dh = glu_backward(dy, cache.glu)
        dh = self.convolution.backward(dh, cache.convolution)
        return dropout_backward(dh, cache.dropout)
