"""Convolution over time."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_whole
from minitransformer.errors import InputError
from minitransformer.functional import convolution_backward, convolution_forward
from minitransformer.functional.convolution import ConvolutionCache
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.layers.recurrent import check_real


class ConvolutionLayerCache(NamedTuple):
    mask: Array | None               # (B, T, 1) bool: where a token is real
    convolution: ConvolutionCache


class Convolution(Layer):
    """y_t = sum_k x_{t + dilation k - left} W_k + b: x (B, T, d_in), W (K, d_in, d_out), b (d_out,), y (B, T, d_out).

    left is dilation (K - 1) with causal=True, so that position t sees none after it, and half of that otherwise (rounded
    down, as in PyTorch). Beyond the ends, and at padding, x counts as zeros. A kernel may be wider than the text.
    """

    def __init__(self, d_in, d_out, rng, kernel_size=3, dilation=1, causal=False):
        check_whole("kernel_size", kernel_size)
        check_whole("dilation", dilation)
        self.weight = initial.xavier_kernel(rng, kernel_size, d_in, d_out)
        self.bias = initial.zeros(d_out)
        self.dilation = dilation
        self.causal = causal

    def forward(self, x, mask=None) -> tuple[Array, ConvolutionLayerCache]:
        """mask: None or (B, T) bool, True = a real token."""
        check_convolved("Convolution", x, mask, self.weight.shape[1])
        mask = None if mask is None else mask[:, :, None]
        y, convolution = convolution_forward(x if mask is None else x * mask, self.weight.data, self.dilation, self.causal)
        return y + self.bias.data, ConvolutionLayerCache(mask, convolution)

    def backward(self, dy, cache) -> Array:
        check_cache(self, cache, ConvolutionLayerCache)
        batch, length, _ = cache.convolution.shape
        check_floats("Convolution: dy", dy, batch, length, self.bias.shape[0])
        self.bias.grad += dy.sum(axis=(0, 1))
        dx, dweight = convolution_backward(dy, cache.convolution)
        self.weight.grad += dweight
        return dx if cache.mask is None else dx * cache.mask


def check_convolved(name, x, mask, d_in) -> None:
    """Raise InputError unless x is (B, T, d_in) with at least one position, and mask None or (B, T) bool."""
    check_floats(f"{name}: x", x, "B", "T", d_in)
    if not x.shape[1]:
        raise InputError(f"{name}: x has no positions, expected at least one")
    check_real(name, mask, *x.shape[:2])
