"""A layer of RMSNorm, grouped-query attention and SwiGLU at one position: BLAS multiplies, one loop
does all else.

The weights come from memory, and nothing can be faster than that; between two of them, Python code
would wait for memory, too.
"""

from typing import Any
import numpy as np

from numpy.typing import DTypeLike
from minitransformer.backend import Array
from minitransformer.decoding.cached_layer import CachedLayer
from minitransformer.speed.compiled.cached import kept
from minitransformer.speed.compiled.cached_loops import attended
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import (
    FEW,
    Cube,
    Doubles,
    FlagCube,
    Ids,
    Matrix,
    Vector,
    loop,
    packed,
)
from minitransformer.layers.encoder import EncoderLayer
from minitransformer.layers.exactly import may_be_bypassed
from minitransformer.layers.residual import Residual
from minitransformer.dispatch import textbook_of
from minitransformer.zoo.modern.gated import GATES, GatedFeedForward, silu_forward
from minitransformer.zoo.modern.grouped_attention import GroupedQueryAttention
from minitransformer.zoo.modern.grouped_past import next_grouped_position
from minitransformer.zoo.modern.projection import Projection
from minitransformer.zoo.modern.rms_norm import RMSNorm
from minitransformer.zoo.modern.rotary import rotary_frequencies

# What the loops assume of a layer that they bypass, as in speed/compiled/cached.py; and the norm
# comes before both sub-layers.
KINDS = {EncoderLayer, GroupedQueryAttention, GatedFeedForward, Residual, RMSNorm, Projection}


def next_grouped_position_compiled(
    x: Array, cached: CachedLayer, past: Array, memory_mask: Array | None = None
) -> Array:
    batch, width, d_model = x.shape
    own = cached.self_attention
    if cached.prepared is None:
        as_assumed = is_as_assumed(cached.layer, x.dtype)
        cached.prepared = parameters_of(cached.layer) if as_assumed else ()
    if not cached.prepared or batch * width > FEW or own.keys.dtype != x.dtype:
        return textbook_of(next_grouped_position)(x, cached, past, memory_mask)
    side_by_side, sizes, output, gate, inner, outer, first_norm, second_norm, layout = (
        cached.prepared
    )
    x = packed(x, batch * width, d_model)
    h = normalised(x, *first_norm)
    query, key, value = (
        packed(part, len(x), -1) for part in np.split(h @ side_by_side, sizes, axis=1)
    )
    y = turn_and_attend(
        query,
        key,
        value,
        own.positions,
        *layout,
        *kept(own),
        own.length,
        packed(past, batch, width, past.shape[-1]),
    )
    own.length += width
    x = x + y @ output
    h = normalised(x, *second_norm)
    x += gated(h @ gate, h @ inner) @ outer
    return x.reshape(batch, width, d_model)


def is_as_assumed(layer: Any, dtype: DTypeLike) -> bool:
    """Whether a layer is what the loops were written for."""
    parts = [layer, *layer.sublayers().values()]
    return (
        may_be_bypassed(parts, KINDS)
        and GATES[layer.feed_forward.activation][0] is silu_forward
        and all(part.pre_norm for part in parts if type(part) is Residual)
        and all(parameter.data.dtype == dtype for parameter in layer.parameters().values())
    )


def parameters_of(layer: Any) -> tuple:
    """The layer's weights, its norms' gamma and epsilon, and how its queries turn."""
    attention, network = layer.self_attention, layer.feed_forward
    inputs = [part.weight.data for part in (attention.query, attention.key, attention.value)]
    # one product, large enough for BLAS to share it among threads
    side_by_side = np.concatenate(inputs, axis=1)
    sizes = np.cumsum([weight.shape[1] for weight in inputs])[:-1].tolist()
    weights = (
        part.weight.data for part in (attention.output, network.gate, network.inner, network.outer)
    )
    norms = (
        (packed(norm.gamma.data, -1), norm.epsilon)
        for norm in (layer.self_attention_residual.norm, layer.feed_forward_residual.norm)
    )
    base = attention.rotary_base
    frequencies = np.empty(0) if base is None else rotary_frequencies(attention.d_k, base)
    step, gap = (2, 1) if attention.rotary_layout == "interleaved" else (1, attention.d_k // 2)
    return (
        side_by_side,
        sizes,
        *weights,
        *norms,
        (frequencies.reshape(1, -1), step, gap, attention.num_heads),
    )


@loop
def normalised(x: Matrix, gamma: Vector, epsilon: float) -> np.ndarray:
    y, number, size = np.empty_like(x), x.dtype.type, x.shape[1]
    for row in range(len(x)):
        squares = number(0)
        for i in range(size):
            squares += x[row, i] * x[row, i]
        scale = number(1) / np.sqrt(squares / number(size) + number(epsilon))
        for i in range(size):
            y[row, i] = x[row, i] * scale * gamma[i]
    return y


@loop
def gated(gate: Matrix, inner: Matrix) -> np.ndarray:
    """gate * sigmoid(gate) * inner. With e = exp(-|x|), which cannot overflow, sigmoid(x) = (1 or
    e, for x < 0) / (1 + e).
    """
    y, number = np.empty_like(gate), gate.dtype.type
    for row in range(len(gate)):
        for i in range(gate.shape[1]):
            x = gate[row, i]
            e = exp(-abs(x))
            y[row, i] = x * (e if x < number(0) else number(1)) / (number(1) + e) * inner[row, i]
    return y


@loop
def turn_and_attend(
    query: Matrix,
    key: Matrix,
    value: Matrix,
    positions: Ids,
    frequencies: Doubles,
    step: int,
    gap: int,
    heads: int,
    keys: Cube,
    values: Cube,
    start: int,
    allowed: FlagCube,
) -> np.ndarray:
    """The heads' outputs (R, H d). query: (R, H d), R = B width; key, value: (R, G d); positions:
    (width,); frequencies: (1, d/2), or none if nothing turns.

    keys, values: (B G, room, d), to which these positions are added; allowed: (B, width, list).
    """
    width, d = allowed.shape[1], keys.shape[2]
    groups = key.shape[1] // d
    if frequencies.size:
        query, key = (
            turned(query, positions, frequencies, d, step, gap),
            turned(key, positions, frequencies, d, step, gap),
        )
    for row in range(len(query)):
        for group in range(groups):
            own = row // width * groups + group
            keys[own, start + row % width] = key[row, group * d : (group + 1) * d]
            values[own, start + row % width] = value[row, group * d : (group + 1) * d]
    return attended(query, keys, values, allowed, width, heads)


@loop
def turned(
    x: Matrix, positions: Ids, frequencies: Doubles, d: int, step: int, gap: int
) -> np.ndarray:
    """x (R, H d), whose row r is at position r % width; pair i of a head's numbers is (i step, i
    step + gap).
    """
    y, number = np.empty_like(x), x.dtype.type
    for row in range(len(x)):
        for i in range(d // 2):
            angle = positions[row % len(positions)] * frequencies[0, i]  # in float64
            cos, sin = number(np.cos(angle)), number(np.sin(angle))
            for first in range(i * step, x.shape[1], d):
                a, b = x[row, first], x[row, first + gap]
                y[row, first], y[row, first + gap] = a * cos - b * sin, a * sin + b * cos
    return y
