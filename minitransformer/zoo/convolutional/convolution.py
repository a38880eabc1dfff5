"""Convolution over time (Kim 2014, https://arxiv.org/abs/1408.5882, section 2): a linear layer on every window."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_floats, check_integer, check_sequence
from minitransformer.layers.initial import zeros
from minitransformer.layers.layer import Layer
from minitransformer.dispatch import replaceable
from minitransformer.zoo import initial
from minitransformer.zoo.convolutional.windows import WindowsCache, windows_backward, windows_forward


class ConvolutionCache(NamedTuple):
    shape: tuple     # of x
    window: WindowsCache
    rows: Array      # (B T, K D_in) the windows, each as one row
    weight: Array    # (K, D_in, D_out)


@replaceable
def convolution_forward(x: Array, weight: Array, dilation: int = 1,
                        causal: bool = False) -> tuple[Array, ConvolutionCache]:
    """y_t = sum_k window_tk W_k: x (B, T, D_in), weight W (K, D_in, D_out), y (B, T, D_out).

    window_tk is position t + dilation k - left, or zeros beyond the ends (windows.py). With its K positions side by side in one
    row, the sum over k is part of one product.
    """
    size, d_in, d_out = weight.shape
    batch, length, _ = x.shape
    windows, window = windows_forward(x, size, dilation, causal)
    rows = windows.reshape(batch * length, size * d_in)
    y = rows @ weight.reshape(-1, d_out)
    return y.reshape(batch, length, d_out), ConvolutionCache(x.shape, window, rows, weight)


@replaceable
def convolution_backward(dy: Array, cache: ConvolutionCache) -> tuple[Array, Array]:
    """Returns dx, dweight. From Y = R W with the rows R: dW = R^T dY and dR = dY W^T; each row goes back to its window."""
    (batch, length, d_in), window, rows, weight = cache
    size, _, d_out = weight.shape
    drows = dy.reshape(-1, d_out)
    dweight = rows.T @ drows
    dwindows = (drows @ weight.reshape(-1, d_out).T).reshape(batch, length, size, d_in)
    return windows_backward(dwindows, window), dweight.reshape(weight.shape)


class Convolution(Layer):
    """y_t = sum_k x_{t + dilation k - left} W_k + b: x (B, T, d_in), W (K, d_in, d_out), b (d_out,), y (B, T, d_out).

    left is dilation (K - 1) with causal=True, so that position t sees none after it, and half of that otherwise (rounded
    down, as in PyTorch). Beyond the ends, x counts as zeros. A kernel may be wider than the text.
    """

    def __init__(self, d_in: int, d_out: int, rng: Generator | None = None, kernel_size: int = 3,
                 dilation: int = 1, causal: bool = False):
        check_integer("kernel_size", kernel_size)
        check_integer("dilation", dilation)
        self.weight = initial.xavier_kernel(rng, kernel_size, d_in, d_out)
        self.bias = zeros(d_out)
        self.dilation = dilation
        self.causal = causal

    def forward(self, x: Array) -> tuple[Array, ConvolutionCache]:
        check_sequence("Convolution: x", x, "B", "T", self.weight.shape[1])
        y, cache = convolution_forward(x, self.weight.data, self.dilation, self.causal)
        return y + self.bias.data, cache

    def backward(self, dy: Array, cache: ConvolutionCache) -> Array:
        check_cache(self, cache, ConvolutionCache)
        batch, length, _ = cache.shape
        check_floats("Convolution: dy", dy, batch, length, self.bias.shape[0])
        self.bias.grad += dy.sum(axis=(0, 1))
        dx, dweight = convolution_backward(dy, cache)
        self.weight.grad += dweight
        return dx
