"""Attention whose scores become weights in one pass over a head, while it is in the processor's
nearest cache.
"""

import math

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_broadcasts, check_shape
from minitransformer.dispatch import textbook_of
from minitransformer.functional.attention import (
    AttentionCache,
    attention_backward,
    attention_forward,
    check_heads,
)
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer.speed.compiled.dropout import KeptCache, draw, flags_of, is_ours
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import Cube, FlagCube, loop, packed

SPREAD = 60.0  # e^-60 is still a normal float32


def attention_forward_compiled(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    dropout_rate: float = 0.0,
    rng: Generator | None = None,
) -> tuple[Array, AttentionCache]:
    """The textbook takes the rare case: scores so far apart that one maximum cannot serve all rows."""
    check_heads(query, key, value)
    scores = np.ascontiguousarray(query @ key.swapaxes(-1, -2))
    scale = 1 / math.sqrt(query.shape[-1])
    peak = scores.max(initial=-np.inf)
    together = scale * (peak - scores.min(initial=np.inf)) <= SPREAD  # False for nan
    if not together or scores.dtype != np.float32 or (mask is not None and mask.dtype != bool):
        return textbook_of(attention_forward)(query, key, value, mask, dropout_rate, rng)
    dropout = draw(scores, dropout_rate, rng)
    p, heads = np.empty(scores.shape, scores.dtype), (-1, *scores.shape[-2:])
    weights = np.empty_like(p) if isinstance(dropout, KeptCache) else p
    attend(
        scores.reshape(heads),
        *masks_of_heads(mask, scores.shape),
        float(peak),
        scale,
        *flags_of(dropout, *heads),
        p.reshape(heads),
        weights.reshape(heads),
    )
    return merged_matmul(weights, value), AttentionCache(
        query, key, value, SoftmaxCache(p), dropout, weights
    )


def attention_backward_compiled(dy: Array, cache: AttentionCache) -> tuple[Array, Array, Array]:
    query, key, value, (p,), dropout, weights = cache
    check_shape("attention: dy", dy, *query.shape[:-1], value.shape[-1])
    # of the weights; `attend_backward` makes it that of the scores
    dscores = np.ascontiguousarray(dy @ value.swapaxes(-1, -2))
    if dscores.dtype != p.dtype or dscores.shape != p.shape or not is_ours(dropout, dscores):
        return textbook_of(attention_backward)(dy, cache)
    heads = (-1, *p.shape[-2:])
    attend_backward(
        dscores.reshape(heads),
        p.reshape(heads),
        *flags_of(dropout, *heads),
        1 / math.sqrt(query.shape[-1]),
    )
    return (
        merged_matmul(dscores, key),
        merged_matmul(dscores.swapaxes(-1, -2), query),
        merged_matmul(weights.swapaxes(-1, -2), dy),
    )


def merged_matmul(a: Array, b: Array) -> Array:
    """a @ b (B, H, T, d), stored in the order (B, T, H, d), so that merging the heads copies
    nothing.
    """
    if a.ndim != 4:
        return a @ b
    batch, heads, length, _ = a.shape
    y = np.empty((batch, length, heads, b.shape[-1]), np.result_type(a, b)).swapaxes(1, 2)
    return np.matmul(a, b, out=y)


def masks_of_heads(mask: Array | None, shape: tuple[int, ...]) -> tuple[Array, int]:
    """A mask for scores of that shape as (masks, T_q or 1, T_k), and how many heads in a row share
    each of them.
    """
    *lead, _, width = shape
    if mask is None:
        return np.ones((1, 1, width), bool), math.prod(lead)
    check_broadcasts("attention: mask", mask, shape)
    mask = mask[(None,) * (len(shape) - mask.ndim)]
    share = 1
    if lead and mask.shape[-3] == 1:  # one for all heads of a sentence
        share, mask = lead.pop(), mask[..., 0, :, :]
    mask = np.broadcast_to(mask, (*lead, mask.shape[-2], width))
    return packed(mask, -1, mask.shape[-2], width), share


@loop
def attend(
    scores: Cube,
    allowed: FlagCube,
    share: int,
    peak: float,
    scale: float,
    keep: FlagCube,
    kept_scale: float,
    p: Cube,
    weights: Cube,
) -> None:
    """scores, p, weights: (heads, T_q, T_k); allowed: (masks, T_q or 1, T_k); keep: as p, or empty.
    Writes p and weights.

    Each head in two passes, as the rows are short: all exponentials, then row by row.
    """
    number = scores.dtype.type
    heads, rows, width = scores.shape
    flat_scores, flat_p = scores.reshape(heads, rows * width), p.reshape(heads, rows * width)
    for head in range(heads):
        for i in range(rows * width):
            flat_p[head, i] = exp((flat_scores[head, i] - number(peak)) * number(scale))
        for row in range(rows):
            may = allowed[head // share, min(row, allowed.shape[1] - 1)]
            total = number(0)
            for i in range(width):
                total += p[head, row, i] * (number(1) if may[i] else number(0))
            # 0: nothing to attend to
            inverse = number(0) if total == number(0) else number(1) / total
            for i in range(width):
                p[head, row, i] *= inverse if may[i] else number(0)
            if len(keep):
                for i in range(width):
                    weights[head, row, i] = p[head, row, i] * (
                        number(kept_scale) if keep[head, row, i] else number(0)
                    )


@loop
def attend_backward(
    dscores: Cube, p: Cube, keep: FlagCube, kept_scale: float, scale: float
) -> None:
    """dscores comes as the gradient of the weights, and all are (heads, T_q, T_k); keep may be
    empty.
    """
    number = p.dtype.type
    heads, rows, width = p.shape
    for head in range(heads):
        for row in range(rows):
            if len(keep):
                for i in range(width):
                    dscores[head, row, i] *= number(kept_scale) if keep[head, row, i] else number(0)
            along = number(0)
            for i in range(width):
                along += dscores[head, row, i] * p[head, row, i]
            for i in range(width):
                dscores[head, row, i] = (
                    number(scale) * p[head, row, i] * (dscores[head, row, i] - along)
                )
