"""Convolution of each dimension on its own: the first half of a separable one (Chollet 2017, https://arxiv.org/abs/1610.02357)."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_integer, check_sequence
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.dispatch import replaceable
from minitransformer.zoo import initial
from minitransformer.zoo.convolutional.windows import WindowsCache, windows_backward, windows_forward


class DepthwiseConvolutionCache(NamedTuple):
    window: WindowsCache
    windows: Array   # (B, T, K, D)
    weight: Array    # (K, D)


@replaceable
def depthwise_convolution_forward(x: Array, weight: Array, dilation: int = 1,
                                  causal: bool = False) -> tuple[Array, DepthwiseConvolutionCache]:
    """y_ti = sum_k window_tki w_ki: x, y (B, T, D), weight w (K, D), windows as in convolution.py."""
    windows, window = windows_forward(x, len(weight), dilation, causal)
    y = module_of(x).einsum("btkd,kd->btd", windows, weight)
    return y, DepthwiseConvolutionCache(window, windows, weight)


@replaceable
def depthwise_convolution_backward(dy: Array,
                                   cache: DepthwiseConvolutionCache) -> tuple[Array, Array]:
    """Returns dx, dweight: dw_ki = sum_bt window_btki dy_bti, and dwindow_btki = w_ki dy_bti goes back to its position."""
    window, windows, weight = cache
    dweight = module_of(dy).einsum("btkd,btd->kd", windows, dy)
    return windows_backward(dy[:, :, None] * weight, window), dweight


class SeparableConvolutionCache(NamedTuple):
    depthwise: DepthwiseConvolutionCache
    pointwise: LinearCache


class SeparableConvolution(Layer):
    """y_t = z_t W + b, z_ti = sum_k x_{t + dilation k - left, i} w_ki.

    x: (B, T, d_in); w: (K, d_in); W: (d_in, d_out); b: (d_out,); y: (B, T, d_out). Kaiser, Gomez and Chollet 2017
    (https://arxiv.org/abs/1706.03059), without the activation between the two. The windows are those of
    Convolution, whose K d_in d_out weights become K d_in + d_in d_out.
    """

    def __init__(self, d_in: int, d_out: int, rng: Generator | None = None, kernel_size: int = 3,
                 dilation: int = 1, causal: bool = False):
        check_integer("kernel_size", kernel_size)
        check_integer("dilation", dilation)
        self.weight = initial.normal(rng, kernel_size, d_in)
        self.pointwise = Linear(d_in, d_out, rng)
        self.dilation = dilation
        self.causal = causal

    def forward(self, x: Array) -> tuple[Array, SeparableConvolutionCache]:
        check_sequence("SeparableConvolution: x", x, "B", "T", self.weight.shape[1])
        h, depthwise = depthwise_convolution_forward(x, self.weight.data, self.dilation, self.causal)
        y, pointwise = self.pointwise.forward(h)
        return y, SeparableConvolutionCache(depthwise, pointwise)

    def backward(self, dy: Array, cache: SeparableConvolutionCache) -> Array:
        check_cache(self, cache, SeparableConvolutionCache)
        dh = self.pointwise.backward(dy, cache.pointwise)
        dx, dweight = depthwise_convolution_backward(dh, cache.depthwise)
        self.weight.grad += dweight
        return dx
