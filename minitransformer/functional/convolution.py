"""Convolution over time (Kim 2014, https://arxiv.org/abs/1408.5882, section 2): a linear layer on every window."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.functional.windows import WindowsCache, windows_backward, windows_forward
from minitransformer.replaceable import replaceable


class ConvolutionCache(NamedTuple):
    shape: tuple     # of x
    window: WindowsCache
    rows: Array      # (B T, K D_in) the windows, each as one row
    weight: Array    # (K, D_in, D_out)


@replaceable
def convolution_forward(x, weight, dilation=1, causal=False) -> tuple[Array, ConvolutionCache]:
    """y_t = sum_k window_tk W_k: x (B, T, D_in), weight W (K, D_in, D_out), y (B, T, D_out).

    window_tk is position t + dilation k - left, or zeros beyond the ends (functional/windows.py). With its K positions side
    by side in one row, the sum over k is part of one product.
    """
    size, _, d_out = weight.shape
    batch, length, _ = x.shape
    windows, window = windows_forward(x, size, dilation, causal)
    rows = windows.reshape(batch * length, -1)
    y = rows @ weight.reshape(-1, d_out)
    return y.reshape(batch, length, d_out), ConvolutionCache(x.shape, window, rows, weight)


@replaceable
def convolution_backward(dy, cache) -> tuple[Array, Array]:
    """Returns dx, dweight. From Y = R W with the rows R: dW = R^T dY and dR = dY W^T; each row goes back to its window."""
    (batch, length, d_in), window, rows, weight = cache
    size, _, d_out = weight.shape
    drows = dy.reshape(-1, d_out)
    dweight = rows.T @ drows
    dwindows = (drows @ weight.reshape(-1, d_out).T).reshape(batch, length, size, d_in)
    return windows_backward(dwindows, window), dweight.reshape(weight.shape)
