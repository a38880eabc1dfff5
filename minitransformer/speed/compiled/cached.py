"""A layer at one position, for a few hypotheses: one loop for each sub-layer.

A single sentence is decoded this way. With a handful of rows, a call of NumPy costs more than what
it computes. With more rows, the products of BLAS are faster.
"""

import numpy as np

from minitransformer.backend import Array
from minitransformer.speed.compiled.activations import gelu, relu
from minitransformer.speed.compiled.layer_norm import normalise
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import FEW, loop, packed
from minitransformer.layers.attention import CrossAttention, SelfAttention
from minitransformer.layers.decoder import DecoderLayer
from minitransformer.layers.encoder import EncoderLayer
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.layers.layer_norm import LayerNorm
from minitransformer.layers.linear import Linear
from minitransformer.layers.residual import Residual
from minitransformer.decoding.cached import next_position
from minitransformer.dispatch import textbook_of

EPSILON = 1e-5  # LayerNorm's
KNOWN = {
    DecoderLayer,
    EncoderLayer,
    SelfAttention,
    CrossAttention,
    FeedForward,
    Residual,
    LayerNorm,
    Linear,
}


def next_position_compiled(x, cached, past, memory_mask=None) -> Array:
    batch, width, d_model = x.shape
    if (
        cached.prepared is None
    ):  # a layer with parts that are not ours, or are being watched, has no parameters for the loops
        parts = cached.layer, *cached.layer.sublayers().values()
        known = all(type(part) in KNOWN and "forward" not in vars(part) for part in parts)
        known = known and cached.layer.feed_forward_residual.norm.epsilon == EPSILON
        cached.prepared = parameters_of(cached.layer) if known else ()
    if not cached.prepared or batch * width > FEW or cached.self_attention.keys.dtype != x.dtype:
        return textbook_of(next_position)(x, cached, past, memory_mask)
    heads, pre_norm = (
        cached.layer.self_attention.num_heads,
        cached.layer.feed_forward_residual.pre_norm,
    )
    x, own, cross = packed(x, batch * width, d_model), cached.self_attention, cached.cross_attention
    for_past, for_memory, for_network = cached.prepared
    y = np.empty_like(x)
    attend_to_past(
        x,
        *for_past,
        *kept(own),
        own.length,
        packed(past, batch, width, past.shape[-1]),
        heads,
        pre_norm,
        y,
    )
    own.length += width
    if cross:
        x, y = y, np.empty_like(x)
        attend_to_memory(
            x,
            *for_memory,
            *kept(cross),
            packed(memory_mask, batch, 1, cross.keys.shape[2]),
            width,
            heads,
            pre_norm,
            y,
        )
    x, y = y, np.empty_like(x)
    feed_forward(x, *for_network, cached.layer.feed_forward.activation == "gelu", pre_norm, y)
    return y.reshape(batch, width, d_model)


def parameters_of(layer) -> tuple[tuple, tuple | None, tuple]:
    """A layer's parameters as the loops take them, in pairs of arrays: of self-attention,
    cross-attention and feed-forward.
    """
    attention, cross, network = (
        layer.self_attention,
        getattr(layer, "cross_attention", None),
        layer.feed_forward,
    )
    return (
        (
            *map(pair, (attention.query, attention.key, attention.value, attention.output)),
            pair(layer.self_attention_residual.norm),
        ),
        cross
        and (pair(cross.query), pair(cross.output), pair(layer.cross_attention_residual.norm)),
        (pair(network.inner), pair(network.outer), pair(layer.feed_forward_residual.norm)),
    )


def pair(layer) -> tuple[Array, ...]:
    """The weight and bias of a Linear, or gamma and beta of a LayerNorm."""
    return tuple(
        packed(parameter.data, *parameter.shape) for parameter in layer.parameters().values()
    )


def kept(attention) -> tuple[Array, Array]:
    """The keys and values that an attention keeps, each (B H, room, d)."""
    keys, values = attention.keys, attention.values
    return packed(keys, -1, *keys.shape[2:]), packed(values, -1, *values.shape[2:])


@loop("matrix linear linear linear linear norm cube cube whole flag_cube whole flag matrix")
def attend_to_past(
    x, query, key, value, output, norm, keys, values, start, allowed, heads, pre_norm, y
) -> None:
    """x, y: (R, d_model), R = B width; keys, values: (B H, room, d), to which this position is
    added; allowed: (B, width, list).
    """
    width = allowed.shape[1]
    h = normalised(x, norm) if pre_norm else x
    k, v = linear(h, key), linear(h, value)
    for row in range(len(x)):
        for head in range(heads):
            own, d_k, d_v = row // width * heads + head, keys.shape[2], values.shape[2]
            keys[own, start + row % width] = k[row, head * d_k : (head + 1) * d_k]
            values[own, start + row % width] = v[row, head * d_v : (head + 1) * d_v]
    h = linear(attended(linear(h, query), keys, values, allowed, width, heads), output)
    add(x, h, norm, pre_norm, y)


@loop("matrix linear linear norm cube cube flag_cube whole whole flag matrix")
def attend_to_memory(
    x, query, output, norm, keys, values, allowed, width, heads, pre_norm, y
) -> None:
    """x, y: (R, d_model); keys, values: (B H, T_k, d); allowed: (B, 1, T_k)."""
    h = normalised(x, norm) if pre_norm else x
    h = linear(attended(linear(h, query), keys, values, allowed, width, heads), output)
    add(x, h, norm, pre_norm, y)


@loop("matrix linear linear norm flag flag matrix")
def feed_forward(x, inner, outer, norm, with_gelu, pre_norm, y) -> None:
    """x, y: (R, d_model)."""
    h = linear(normalised(x, norm) if pre_norm else x, inner)
    flat = h.reshape(-1)
    if with_gelu:
        gelu(flat, flat, np.empty_like(flat))
    else:
        relu(flat, flat, np.empty(flat.size, np.bool_))
    add(x, linear(h, outer), norm, pre_norm, y)


@loop("matrix linear")
def linear(x, weight_and_bias) -> np.ndarray:
    """x W + b: four rows of W at a time, so that the sums are read and written a quarter as often."""
    weight, bias = weight_and_bias
    d_in, d_out = weight.shape
    y = np.empty((len(x), d_out), x.dtype)
    for row in range(len(x)):
        for j in range(d_out):
            y[row, j] = bias[j]
    for i in range(0, d_in - 3, 4):
        for row in range(len(x)):
            a, b, c, d = x[row, i], x[row, i + 1], x[row, i + 2], x[row, i + 3]
            for j in range(d_out):
                y[row, j] += (
                    a * weight[i, j]
                    + b * weight[i + 1, j]
                    + c * weight[i + 2, j]
                    + d * weight[i + 3, j]
                )
    for i in range(d_in - d_in % 4, d_in):
        for row in range(len(x)):
            for j in range(d_out):
                y[row, j] += x[row, i] * weight[i, j]
    return y


@loop("matrix norm")
def normalised(x, gamma_and_beta) -> np.ndarray:
    gamma, beta = gamma_and_beta
    y, normed, inverse = np.empty_like(x), np.empty_like(x), np.empty(len(x), x.dtype)
    normalise(x, gamma, beta, EPSILON, y, normed, inverse)
    return y


@loop("matrix matrix norm flag matrix")
def add(x, h, norm, pre_norm, y) -> None:
    """The residual sum x + h, normalised unless the norm comes before. Writes y, changes h."""
    for row in range(len(x)):
        for i in range(x.shape[1]):
            h[row, i] += x[row, i]
    y[:] = h if pre_norm else normalised(h, norm)


@loop("matrix cube cube flag_cube whole whole")
def attended(query, keys, values, allowed, width, heads) -> np.ndarray:
    """The heads' outputs side by side, (R, H d_v): query (R, H d_k); keys (B G, T, d_k), values (B
    G, T, d_v), G = H or fewer.

    allowed: (B, width or 1, at most T). Keys that a row may not attend to are not looked at.
    """
    number = query.dtype.type
    d_k, d_v, length, groups = (
        keys.shape[2],
        values.shape[2],
        allowed.shape[2],
        len(keys) // len(allowed),
    )
    scale = number(1) / np.sqrt(number(d_k))
    y, p = np.zeros((len(query), heads * d_v), query.dtype), np.empty(length, query.dtype)
    for row in range(len(query)):
        may = allowed[row // width, min(row % width, allowed.shape[1] - 1)]
        for head in range(heads):
            own = row // width * groups + head * groups // heads
            q, mixed = (
                query[row, head * d_k : (head + 1) * d_k],
                y[row, head * d_v : (head + 1) * d_v],
            )
            peak, total = number(-np.inf), number(0)
            for t in range(length):
                if may[t]:
                    score = number(0)
                    for i in range(d_k):
                        score += q[i] * keys[own, t, i]
                    p[t] = score * scale
                    if p[t] > peak:
                        peak = p[t]
            for t in range(length):
                if may[t]:
                    weight = exp(p[t] - peak)
                    total += weight
                    for i in range(d_v):
                        mixed[i] += weight * values[own, t, i]
            inverse = (
                number(0) if total == number(0) else number(1) / total
            )  # 0: nothing to attend to
            for i in range(d_v):
                mixed[i] *= inverse
    return y
