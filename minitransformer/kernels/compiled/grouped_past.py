"""Grouped-query attention at one position, for a few hypotheses, in one loop."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.kernels.compiled.cached import attended, kept
from minitransformer.kernels.loops import FEW, loop, packed
from minitransformer.replaceable import replaces, textbook_of
from minitransformer.successors.grouped_past import next_heads
from minitransformer.successors.rotary import rotary_angles


@replaces(next_heads, "numpy", "float32", "b")
def next_heads_compiled(queries, keys, values, cached, past) -> Array:
    batch, width, size = queries.shape
    attention, rows = cached.attention, batch * width
    if rows > FEW or cached.keys.dtype != queries.dtype:
        return textbook_of(next_heads)(queries, keys, values, cached, past)
    cos = sin = np.empty((width, 0), queries.dtype)    # nothing turns
    if attention.rotary_base is not None:
        cos, sin = rotary_angles(cached.positions, attention.d_k, attention.rotary_base, np, "float32")
    step, gap = (2, 1) if attention.rotary_layout == "interleaved" else (1, attention.d_k // 2)
    y = turn_and_attend(packed(queries, rows, size), packed(keys, rows, -1), packed(values, rows, -1), cos, sin, step, gap,
                        *kept(cached), cached.length, packed(past, batch, width, past.shape[-1]), attention.num_heads)
    cached.length += width
    return y.reshape(queries.shape)


@loop("matrix matrix matrix matrix matrix whole whole cube cube whole flag_cube whole")
def turn_and_attend(query, key, value, cos, sin, step, gap, keys, values, start, allowed, heads) -> np.ndarray:
    """The heads' outputs (R, H d). query: (R, H d), R = B width; key, value: (R, G d); cos, sin: (width, d/2); keys, values: (B G, room, d).

    Pair i of a head's numbers is (i step, i step + gap). The positions are added to keys and values.
    """
    width, d = allowed.shape[1], keys.shape[2]
    query, key = turned(query, cos, sin, d, step, gap), turned(key, cos, sin, d, step, gap)
    for row in range(len(query)):
        for group in range(key.shape[1] // d):
            own = row // width * (key.shape[1] // d) + group
            keys[own, start + row % width] = key[row, group * d:(group + 1) * d]
            values[own, start + row % width] = value[row, group * d:(group + 1) * d]
    return attended(query, keys, values, allowed, width, heads)


@loop("matrix matrix matrix whole whole whole")
def turned(x, cos, sin, d, step, gap) -> np.ndarray:
    """x: (R, H d), row r at position r % width."""
    y = x.copy()
    for row in range(len(x)):
        c, s = cos[row % len(cos)], sin[row % len(cos)]
        for head in range(x.shape[1] // d):
            before, after = x[row, head * d:(head + 1) * d], y[row, head * d:(head + 1) * d]
            for i in range(len(c)):
                a, b = before[i * step], before[i * step + gap]
                after[i * step], after[i * step + gap] = a * c[i] - b * s[i], a * s[i] + b * c[i]
    return y
