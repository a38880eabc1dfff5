"""Convolution of each dimension on its own: the first half of a separable one (Chollet 2017, https://arxiv.org/abs/1610.02357)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.functional.windows import WindowsCache, windows_backward, windows_forward
from minitransformer.replaceable import replaceable


class DepthwiseConvolutionCache(NamedTuple):
    window: WindowsCache
    windows: Array   # (B, T, K, D)
    weight: Array    # (K, D)


@replaceable
def depthwise_convolution_forward(x, weight, dilation=1, causal=False) -> tuple[Array, DepthwiseConvolutionCache]:
    """y_ti = sum_k window_tki w_ki: x, y (B, T, D), weight w (K, D), windows as in functional/convolution.py."""
    windows, window = windows_forward(x, len(weight), dilation, causal)
    y = module_of(x).einsum("btkd,kd->btd", windows, weight)
    return y, DepthwiseConvolutionCache(window, windows, weight)


@replaceable
def depthwise_convolution_backward(dy, cache) -> tuple[Array, Array]:
    """Returns dx, dweight: dw_ki = sum_bt window_btki dy_bti, and dwindow_btki = w_ki dy_bti goes back to its position."""
    window, windows, weight = cache
    dweight = module_of(dy).einsum("btkd,btd->kd", windows, dy)
    return windows_backward(dy[:, :, None] * weight, window), dweight
