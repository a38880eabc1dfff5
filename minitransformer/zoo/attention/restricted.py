"""Self-attention restricted to a neighbourhood (section 4 of the paper), without the T x T scores."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device
from minitransformer.checks import check_integer, check_mask, check_sequence, check_shape
from minitransformer.errors import InputError
from minitransformer.functional import padding_mask
from minitransformer.functional.attention import AttentionCache, attention_backward, attention_forward
from minitransformer.layers.attention import MultiHeadAttentionCache, SelfAttention
from minitransformer.layers.attention_kinds import ScaledAttention
from minitransformer.layers.config import StackConfig
from minitransformer.dispatch import replaceable
from minitransformer.zoo.convolutional.windows import WindowsCache, windows_backward, windows_forward


SIDE = 2    # blocks in a radius: with more of them, fewer pairs are masked and the products are smaller


class RestrictedAttentionCache(NamedTuple):
    attention: AttentionCache    # attention.softmax.p: (B, H, N, c, w), the attention weights, block by block
    window: WindowsCache         # of the keys' blocks, and of the values'
    length: int                  # T


@replaceable
def restricted_attention_forward(query: Array, key: Array, value: Array, radius: int,
                                 causal: bool = False, mask: Array | None = None,
                                 dropout_rate: float = 0.0, rng: Generator | None = None,
                                 ) -> tuple[Array, RestrictedAttentionCache]:
    """Attention in which position t may attend to the positions t - radius ... t + radius, or ... t with causal=True.

    query, key: (B, H, T, d_k); value: (B, H, T, d_v); mask: None or bool, (B, T), True = may be attended to.
    Returns y (B, H, T, d_v). A position that may attend to nothing gives 0; radius 0 leaves each to itself.

    T is cut into N blocks of c = radius / 2 queries, rounded up. A block needs no other keys than its own and those of the two
    blocks on each side: at most w = 5 c, or 3 c with causal=True. Attention is then the usual one of N short sequences, with a mask
    for the pairs in them that are too far apart: T w scores, instead of T^2.
    """
    xp, length = module_of(query), query.shape[2]
    reach = min(radius, length - 1)    # there is nothing further away
    block = max(1, -(-reach // SIDE))
    size = -(-reach // block) * (1 if causal else 2) + 1                                    # blocks in a window
    keys, window = _block_windows(key, block, size, causal)
    values, _ = _block_windows(value, block, size, causal)
    real = xp.ones((1, length), bool) if mask is None else mask
    reachable, _ = _block_windows(real[:, None, :, None], block, size, causal)              # (B, 1, N, w, 1)
    distance = np.arange(size * block) - window.left * block - np.arange(block)[:, None]    # (c, w) of a key from a query
    near = to_device((-radius <= distance) & (distance <= (0 if causal else radius)), xp)
    y, attention = attention_forward(_blocks(query, block), keys, values, near & reachable.swapaxes(-1, -2), dropout_rate, rng)
    return _unblocked(y, length), RestrictedAttentionCache(attention, window, length)


@replaceable
def restricted_attention_backward(dy: Array,
                                  cache: RestrictedAttentionCache) -> tuple[Array, Array, Array]:
    """Returns dquery, dkey, dvalue: a key is in the windows of several blocks, and receives the sum of their gradients."""
    attention, window, length = cache
    block = attention.query.shape[-2]
    dquery, dkeys, dvalues = attention_backward(_blocks(dy, block), attention)
    return (_unblocked(dquery, length), _block_windows_backward(dkeys, block, window, length),
            _block_windows_backward(dvalues, block, window, length))


def _blocks(x: Array, block: int) -> Array:
    """(B, H, T, d) -> (B, H, N, c, d), with zeros after the end."""
    batch, heads, length, d = x.shape
    count = -(-length // block)
    padded = module_of(x).pad(x, ((0, 0), (0, 0), (0, count * block - length), (0, 0)))
    return padded.reshape(batch, heads, count, block, d)


def _unblocked(x: Array, length: int) -> Array:
    """(B, H, N, c, d) -> (B, H, T, d)."""
    batch, heads, count, block, d = x.shape
    return x.reshape(batch, heads, count * block, d)[:, :, :length]


def _block_windows(x: Array, block: int, size: int, causal: bool) -> tuple[Array, WindowsCache]:
    """(B, H, T, d) -> (B, H, N, w, d): for each block, the w positions of the `size` blocks that it needs."""
    blocks = _blocks(x, block)
    batch, heads, count, _, d = blocks.shape
    windows, cache = windows_forward(blocks.reshape(batch * heads, count, block * d), size, causal=causal)
    return windows.reshape(batch, heads, count, size * block, d), cache


def _block_windows_backward(dwindows: Array, block: int, cache: WindowsCache, length: int) -> Array:
    batch, heads, count, width, d = dwindows.shape
    dblocks = windows_backward(dwindows.reshape(batch * heads, count, width // block, block * d), cache)
    return _unblocked(dblocks.reshape(batch, heads, count, block, d), length)


class RestrictedSelfAttention(SelfAttention):
    """SelfAttention in which position t may attend to t - radius ... t + radius, or ... t with causal=True.

    x, y: (B, T, d_model); the mask is None or (B, 1, 1, T), as padding_mask makes it: the layer knows what is near. Time and
    memory grow with T radius, not with T^2: the T x T scores are never made. With radius 0 each position attends to itself alone.
    """

    def __init__(self, d_model: int, num_heads: int, rng: Generator | None = None,
                 radius: int | None = None, causal: bool = False, d_k: int | None = None,
                 d_v: int | None = None, dropout: float = 0.0):
        check_integer("radius", radius, 0)
        super().__init__(d_model, num_heads, rng, d_k, d_v, dropout)
        self.radius: Any = radius    # an int: None is refused
        self.causal = causal

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None,
               rng: Generator | None) -> tuple[Array, RestrictedAttentionCache]:
        mask = None if mask is None else mask[:, 0, 0]                                            # (B, T)
        return restricted_attention_forward(q, k, v, self.radius, self.causal, mask, self.dropout, rng)

    def attend_backward(self, dheads: Array,
                        cache: RestrictedAttentionCache) -> tuple[Array, Array, Array]:
        return restricted_attention_backward(dheads, cache)

    def attended(self, cache: MultiHeadAttentionCache) -> Array:
        """The attention weights (B, H, T, T), for a look at a short sentence; they are zero beyond the radius."""
        attention, window, length = cache.attention
        p = attention.softmax.p
        batch, heads, count, block, width = p.shape
        before = window.left * block                    # positions of a window that lie before its block
        found = module_of(p).zeros((batch, heads, count * block, (count - 1) * block + width), p.dtype)
        for n in range(count):
            found[:, :, n * block:(n + 1) * block, n * block:n * block + width] = p[:, :, n]
        return found[:, :, :length, before:before + length]

    def _check(self, query: Array, key: Array, value: Array, mask: Array | None) -> None:
        check_sequence("RestrictedSelfAttention: x", query, "B", "T", self.query.weight.shape[0])
        batch, length, _ = query.shape
        if mask is not None:
            check_shape("RestrictedSelfAttention: mask", mask, batch, 1, 1, length)
            check_mask("RestrictedSelfAttention", mask, "(B, 1, 1, T)", mask.shape)


class RestrictedKind(ScaledAttention):
    """Restricted self-attention; cross-attention is the paper's."""

    description = "self-attention within a --radius"
    settings: ClassVar = {"radius": "how many positions to each side restricted attention may look at"}

    @classmethod
    def check(cls, config: StackConfig) -> None:
        if "radius" not in config.attention_settings:
            raise InputError("radius is missing: how far away a position of restricted attention may look")
        check_integer("radius", config.attention_settings["radius"], 0)

    @classmethod
    def make_self(cls, config: StackConfig, rng: Generator | None,
                  causal: bool) -> RestrictedSelfAttention:
        radius = config.attention_settings["radius"]
        return RestrictedSelfAttention(config.d_model, config.num_heads, rng, radius, causal, config.d_k, config.d_v,
                                       config.attention_dropout)

    @classmethod
    def causal_self_mask(cls, ids: Array) -> np.ndarray:
        """(B, 1, 1, T): the layer itself knows which positions are later."""
        return padding_mask(ids)
