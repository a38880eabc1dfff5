"""Grouped-query attention (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245): several heads share their keys and values."""

from typing import Any, ClassVar, NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_fraction, check_integer
from minitransformer.errors import InputError, counted
from minitransformer.functional.attention import AttentionCache, attention_backward, attention_forward
from minitransformer.layers.attention import MultiHeadAttentionCache, SelfAttention, head_sizes
from minitransformer.layers.attention_kinds import ScaledAttention
from minitransformer.layers.config import StackConfig
from minitransformer.layers.linear import Linear
from minitransformer.dispatch import replaceable
from minitransformer.zoo.modern.projection import Projection
from minitransformer.zoo.modern.rotary import (
    RotaryCache, base_of, check_rotary, rotary_backward, rotary_forward)


class GroupedAttentionCache(NamedTuple):
    attention: AttentionCache    # attention.softmax.p: (B, G, R T_q, T_k), R = H / G
    heads: int                   # H


@replaceable
def grouped_attention_forward(query: Array, key: Array, value: Array, mask: Array | None = None,
                              dropout_rate: float = 0.0,
                              rng: Generator | None = None) -> tuple[Array, GroupedAttentionCache]:
    """Attention in which R = H / G neighbouring heads share the keys and values of a group.

    query: (B, H, T_q, d_k); key: (B, G, T_k, d_k); value: (B, G, T_k, d_v); mask: None or bool, broadcastable to
    (B, H, T_q, T_k), True = may attend. Returns y (B, H, T_q, d_v). For its keys, a group is one head with R T_q queries:
    no key is repeated, and the usual attention does the rest.
    """
    batch, heads, length, _ = query.shape
    y, attention = attention_forward(_folded(query, key.shape[1]), key, value, _folded_mask(mask, query, key), dropout_rate, rng)
    return y.reshape(batch, heads, length, y.shape[-1]), GroupedAttentionCache(attention, heads)


@replaceable
def grouped_attention_backward(dy: Array,
                               cache: GroupedAttentionCache) -> tuple[Array, Array, Array]:
    """Returns dquery (B, H, T_q, d_k), dkey, dvalue (B, G, T_k, d).

    A key's gradient is a sum over its queries, and these are all the queries of its R heads: dk_g = sum_r dk_gr.
    """
    batch, _, length, _ = dy.shape
    dquery, dkey, dvalue = attention_backward(_folded(dy, cache.attention.key.shape[1]), cache.attention)
    return dquery.reshape(batch, cache.heads, length, dquery.shape[-1]), dkey, dvalue


def _folded(x: Array, groups: int) -> Array:
    """(B, H, T, d) -> (B, G, R T, d)."""
    batch, heads, length, d = x.shape
    return x.reshape(batch, groups, heads // groups * length, d)


def _folded_mask(mask: Array | None, query: Array, key: Array) -> Array | None:
    """A mask for R T_q queries: (B, G, R T_q, T_k)."""
    if mask is None:
        return None
    batch, heads, length, _ = query.shape
    groups, width = key.shape[1:3]
    return module_of(mask).broadcast_to(mask, (batch, heads, length, width)).reshape(batch, groups, heads // groups * length, width)


class RotatedAttentionCache(NamedTuple):
    query: RotaryCache | None    # None: without rotary positions
    key: RotaryCache | None
    grouped: GroupedAttentionCache


class GroupedQueryAttention(SelfAttention):
    """SelfAttention with H heads of queries, G = kv_heads of keys and values: x, y (B, T, d_model).

    With a `rotary_base`, queries and keys turn by their positions; their pairs are "interleaved" or "half" (LAYOUTS).
    `biases`: queries, keys and values have some, as in Qwen2; without it, nothing has.
    """

    def __init__(self, d_model: int, num_heads: int, rng: Generator | None = None,
                 kv_heads: int | None = None, d_k: int | None = None, dropout: float = 0.0,
                 rotary_base: float | dict[str, Any] | None = None,
                 rotary_layout: str = "interleaved", biases: bool = False):
        d_k, _ = head_sizes(d_model, num_heads, d_k, None)
        kv_heads = check_groups(num_heads, kv_heads)
        check_fraction("the dropout rate", dropout)
        base = None if rotary_base is None else base_of(rotary_base)
        if base is not None:
            check_rotary(d_k, base, rotary_layout)
        project = Linear if biases else Projection
        self.query: Any = project(d_model, num_heads * d_k, rng)
        self.key: Any = project(d_model, kv_heads * d_k, rng)
        self.value: Any = project(d_model, kv_heads * d_k, rng)
        self.output: Any = Projection(num_heads * d_k, d_model, rng)
        self.num_heads, self.d_k, self.dropout = num_heads, d_k, dropout
        self.rotary_base, self.rotary_layout = base, rotary_layout

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None,
               rng: Generator | None) -> tuple[Array, RotatedAttentionCache]:
        q, query = self.turn(q)
        k, key = self.turn(k)
        y, grouped = grouped_attention_forward(q, k, v, mask, self.dropout, rng)
        return y, RotatedAttentionCache(query, key, grouped)

    def attend_backward(self, dheads: Array,
                        cache: RotatedAttentionCache) -> tuple[Array, Array, Array]:
        dq, dk, dv = grouped_attention_backward(dheads, cache.grouped)
        return self.turn_backward(dq, cache.query), self.turn_backward(dk, cache.key), dv

    def turn(self, x: Array, positions: Array | None = None) -> tuple[Array, RotaryCache | None]:
        """x (B, H or G, T, d_k) at `positions` (T,), or else 0 to T - 1."""
        return (x, None) if self.rotary_base is None else rotary_forward(x, positions, self.rotary_base, self.rotary_layout)

    def turn_backward(self, dy: Array, cache: RotaryCache | None) -> Array:
        return dy if cache is None else rotary_backward(dy, cache)

    def attended(self, cache: MultiHeadAttentionCache) -> Array:
        p = cache.attention.grouped.attention.softmax.p    # (B, G, R T, T)
        return p.reshape(len(p), self.num_heads, p.shape[-1], p.shape[-1])

    def split(self, x: Array) -> Array:
        """(B, T, H d) -> (B, H, T, d), and (B, T, G d) -> (B, G, T, d)."""
        batch, length, width = x.shape
        return x.reshape(batch, length, width // self.d_k, self.d_k).swapaxes(1, 2)


def check_groups(num_heads: int, kv_heads: int | None) -> int:
    """kv_heads, or its default. Raises InputError unless it divides the heads into groups."""
    if kv_heads is None:
        return num_heads
    check_integer("kv_heads", kv_heads)
    if num_heads % kv_heads:
        raise InputError(f"kv_heads is {kv_heads}, expected a divisor of the {counted(num_heads, 'head')}")
    return kv_heads


class GroupedKind(ScaledAttention):
    """Grouped queries, turned if the configuration's positions are rotary; cross-attention is the paper's."""

    description = "heads share keys and values, without biases"
    settings: ClassVar = {"kv_heads": "heads of keys and values in grouped attention (default: as many as of queries)",
                          "rotary_base": "base of the angles of rotary positions (default: 10000)",
                          "rotary_layout": "",    # no option: both are the same but for the order of a head's numbers
                          "biases": ""}           # no option: for imported models

    @classmethod
    def check(cls, config: StackConfig) -> None:
        d_k, _ = head_sizes(config.d_model, config.num_heads, config.d_k, None)
        check_groups(config.num_heads, config.attention_settings.get("kv_heads"))
        biases = config.attention_settings.get("biases", False)
        if not isinstance(biases, bool):
            raise InputError(f"biases is {biases!r}, expected True or False")
        if config.d_v not in (None, d_k):
            raise InputError(f"d_v is {config.d_v}, but the values of grouped attention are as wide as its keys, {d_k}")
        rotary = {name: config.attention_settings[name] for name in ("rotary_base", "rotary_layout")
                  if name in config.attention_settings}
        if config.positions == "rotary":
            base = base_of(rotary.get("rotary_base", 10000.0))
            check_rotary(d_k, base, rotary.get("rotary_layout", "interleaved"))
        elif rotary:
            raise InputError(f"{' and '.join(rotary)} given, but positions are {config.positions}, not rotary")

    @classmethod
    def make_self(cls, config: StackConfig, rng: Generator | None,
                  causal: bool) -> GroupedQueryAttention:
        rotary = {"rotary_base": 10000.0} if config.positions == "rotary" else {}
        return GroupedQueryAttention(config.d_model, config.num_heads, rng, d_k=config.d_k, dropout=config.attention_dropout,
                                     **{**rotary, **config.attention_settings})
