"""Self-attention restricted to a neighbourhood (section 4 of the paper), without the T x T scores."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.functional.attention import AttentionCache, attention_backward, attention_forward
from minitransformer.functional.windows import WindowsCache, windows_backward, windows_forward
from minitransformer.replaceable import replaceable

SIDE = 2    # blocks that reach over a radius: with more of them fewer pairs are masked, and the products are smaller


class RestrictedAttentionCache(NamedTuple):
    attention: AttentionCache    # attention.softmax.p: (B, H, N, c, w), block for block who attends to whom
    window: WindowsCache         # of the keys' blocks, and of the values'
    length: int                  # T


@replaceable
def restricted_attention_forward(query, key, value, radius, causal=False, mask=None, dropout_rate=0.0, rng=None,
                                 ) -> tuple[Array, RestrictedAttentionCache]:
    """Attention in which position t may attend to the positions t - radius ... t + radius, or ... t with causal=True.

    query, key: (B, H, T, d_k); value: (B, H, T, d_v); mask: None or bool, (B, T), True = may be attended to.
    Returns y (B, H, T, d_v). A position that may attend to nothing gives 0; radius 0 leaves each to itself.

    T is cut into N blocks of c = radius / 2 queries, rounded up. A block needs no other keys than its own and those of the two
    blocks on each side: at most w = 5 c, or 3 c with causal=True. Attention is then the usual one of N short sequences, with a mask
    for the pairs in them that lie too far apart: T w scores, instead of T^2.
    """
    xp, length = module_of(query), query.shape[2]
    block, side = block_and_side(radius, length)
    keys, window = _block_windows(key, block, side, causal)
    values, _ = _block_windows(value, block, side, causal)
    real = xp.ones((1, length), bool) if mask is None else mask
    reachable, _ = _block_windows(real[:, None, :, None], block, side, causal)              # (B, 1, N, w, 1)
    near = to_device(_near(radius, block, side, causal), xp)                                # (c, w)
    y, attention = attention_forward(_blocks(query, block), keys, values, near & reachable.swapaxes(-1, -2), dropout_rate, rng)
    return _unblocked(y, length), RestrictedAttentionCache(attention, window, length)


@replaceable
def restricted_attention_backward(dy, cache) -> tuple[Array, Array, Array]:
    """Returns dquery, dkey, dvalue: a key stands in the windows of several blocks, and gets the sum of their gradients."""
    attention, window, length = cache
    block = attention.query.shape[-2]
    dquery, dkeys, dvalues = attention_backward(_blocks(dy, block), attention)
    return (_unblocked(dquery, length), _block_windows_backward(dkeys, block, window, length),
            _block_windows_backward(dvalues, block, window, length))


def all_pairs(cache) -> Array:
    """Who attends to whom as (B, H, T, T): for a picture."""
    p, xp = cache.attention.softmax.p, module_of(cache.attention.softmax.p)
    batch, heads, count, block, width = p.shape
    before = cache.window.left * block              # positions of a window that lie before its block
    found = xp.zeros((batch, heads, count * block, (count - 1) * block + width), p.dtype)
    for n in range(count):
        found[:, :, n * block:(n + 1) * block, n * block:n * block + width] = p[:, :, n]
    return found[:, :, :cache.length, before:before + cache.length]


def block_and_side(radius, length) -> tuple[int, int]:
    """c, how many positions a block has, and how many blocks reach over the radius."""
    radius = min(radius, length - 1)    # there is nothing further away
    block = max(1, -(-radius // SIDE))
    return block, -(-radius // block)


def _near(radius, block, side, causal) -> np.ndarray:
    """(c, w) bool: whether the j-th key of a block's window is within the radius of its i-th query."""
    distance = np.arange(block * (side + 1 if causal else 2 * side + 1)) - side * block - np.arange(block)[:, None]
    return (-radius <= distance) & (distance <= (0 if causal else radius))


def _blocks(x, block) -> Array:
    """(B, H, T, d) -> (B, H, N, c, d), with zeros behind the end."""
    batch, heads, length, d = x.shape
    count = -(-length // block)
    padded = module_of(x).pad(x, ((0, 0), (0, 0), (0, count * block - length), (0, 0)))
    return padded.reshape(batch, heads, count, block, d)


def _unblocked(x, length) -> Array:
    """(B, H, N, c, d) -> (B, H, T, d)."""
    batch, heads, count, block, d = x.shape
    return x.reshape(batch, heads, count * block, d)[:, :, :length]


def _block_windows(x, block, side, causal) -> tuple[Array, WindowsCache]:
    """(B, H, T, d) -> (B, H, N, w, d): for each block, the w positions that it needs."""
    blocks = _blocks(x, block)
    batch, heads, count, _, d = blocks.shape
    windows, cache = windows_forward(blocks.reshape(batch * heads, count, block * d), side + 1 if causal else 2 * side + 1,
                                     causal=causal)
    return windows.reshape(batch, heads, count, -1, d), cache


def _block_windows_backward(dwindows, block, cache, length) -> Array:
    batch, heads, count, width, d = dwindows.shape
    dblocks = windows_backward(dwindows.reshape(batch * heads, count, width // block, block * d), cache)
    return _unblocked(dblocks.reshape(batch, heads, count, block, d), length)
