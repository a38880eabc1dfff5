"""What a convolution over time sees at each position: the positions around it, with zeros beyond both ends."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.dispatch import replaceable


class WindowsCache(NamedTuple):
    left: int        # how far a window's first position is before its own
    dilation: int


@replaceable
def windows_forward(x: Array, size: int, dilation: int = 1,
                    causal: bool = False) -> tuple[Array, WindowsCache]:
    """y[:, t, k] = x[:, t + dilation k - left]: x (B, T, D), y (B, T, size, D).

    A window spans dilation (size - 1) + 1 positions. With causal=True it ends at its own position; otherwise its own is in
    the middle, and what is left over by an even size lies after it, as in PyTorch. A window may be wider than x.
    """
    xp, length = module_of(x), x.shape[1]
    reach = dilation * (size - 1)
    left = reach if causal else reach // 2
    padded = xp.pad(x, ((0, 0), (left, reach - left), (0, 0)))
    y = xp.stack([padded[:, start:start + length] for start in range(0, reach + 1, dilation)], axis=2)
    return y, WindowsCache(left, dilation)


@replaceable
def windows_backward(dy: Array, cache: WindowsCache) -> Array:
    """A position is in `size` windows, at a different place in each: dx is the sum over them."""
    xp, (batch, length, size, width) = module_of(dy), dy.shape
    left, dilation = cache
    dpadded = xp.zeros((batch, length + dilation * (size - 1), width), dy.dtype)
    for k in range(size):
        dpadded[:, dilation * k:dilation * k + length] += dy[:, :, k]
    return dpadded[:, left:left + length]
