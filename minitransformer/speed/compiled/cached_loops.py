"""The loops of a layer at one position, for a few hypotheses (cached.py)."""

import numpy as np

from minitransformer.speed.compiled.activations import gelu, relu
from minitransformer.speed.compiled.layer_norm import normalise
from minitransformer.speed.exponential import exp
from minitransformer.speed.loops import Cube, FlagCube, GammaAndBeta, Matrix, WeightAndBias, loop


@loop
def attend_to_past(
    x: Matrix,
    query: WeightAndBias,
    key: WeightAndBias,
    value: WeightAndBias,
    output: WeightAndBias,
    heads: int,
    norm: GammaAndBeta,
    epsilon: float,
    pre_norm: bool,
    keys: Cube,
    values: Cube,
    start: int,
    allowed: FlagCube,
    y: Matrix,
) -> None:
    """x, y: (R, d_model), R = B width; keys, values: (B H, room, d), to which this position is
    added; allowed: (B, width, list).
    """
    width = allowed.shape[1]
    h = normalised(x, norm, epsilon) if pre_norm else x
    k, v = linear(h, key), linear(h, value)
    for row in range(len(x)):
        for head in range(heads):
            own, d_k, d_v = row // width * heads + head, keys.shape[2], values.shape[2]
            keys[own, start + row % width] = k[row, head * d_k : (head + 1) * d_k]
            values[own, start + row % width] = v[row, head * d_v : (head + 1) * d_v]
    h = linear(attended(linear(h, query), keys, values, allowed, width, heads), output)
    add(x, h, norm, epsilon, pre_norm, y)


@loop
def attend_to_memory(
    x: Matrix,
    query: WeightAndBias,
    output: WeightAndBias,
    heads: int,
    norm: GammaAndBeta,
    epsilon: float,
    pre_norm: bool,
    keys: Cube,
    values: Cube,
    allowed: FlagCube,
    width: int,
    y: Matrix,
) -> None:
    """x, y: (R, d_model); keys, values: (B H, T_k, d); allowed: (B, 1, T_k)."""
    h = normalised(x, norm, epsilon) if pre_norm else x
    h = linear(attended(linear(h, query), keys, values, allowed, width, heads), output)
    add(x, h, norm, epsilon, pre_norm, y)


@loop
def feed_forward(
    x: Matrix,
    inner: WeightAndBias,
    outer: WeightAndBias,
    with_gelu: bool,
    norm: GammaAndBeta,
    epsilon: float,
    pre_norm: bool,
    y: Matrix,
) -> None:
    """x, y: (R, d_model)."""
    h = linear(normalised(x, norm, epsilon) if pre_norm else x, inner)
    flat = h.reshape(-1)
    if with_gelu:
        gelu(flat, flat, np.empty_like(flat))
    else:
        relu(flat, flat, np.empty(flat.size, np.bool_))
    add(x, linear(h, outer), norm, epsilon, pre_norm, y)


@loop
def linear(x: Matrix, weight_and_bias: WeightAndBias) -> np.ndarray:
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


@loop
def normalised(x: Matrix, gamma_and_beta: GammaAndBeta, epsilon: float) -> np.ndarray:
    gamma, beta = gamma_and_beta
    y, normed, inverse = np.empty_like(x), np.empty_like(x), np.empty(len(x), x.dtype)
    normalise(x, gamma, beta, epsilon, y, normed, inverse)
    return y


@loop
def add(
    x: Matrix, h: Matrix, norm: GammaAndBeta, epsilon: float, pre_norm: bool, y: Matrix
) -> None:
    """The residual sum x + h, normalised unless the norm comes before. Writes y, changes h."""
    for row in range(len(x)):
        for i in range(x.shape[1]):
            h[row, i] += x[row, i]
    y[:] = h if pre_norm else normalised(h, norm, epsilon)


@loop
def attended(
    query: Matrix, keys: Cube, values: Cube, allowed: FlagCube, width: int, heads: int
) -> np.ndarray:
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
            # 0: nothing to attend to
            inverse = number(0) if total == number(0) else number(1) / total
            for i in range(d_v):
                mixed[i] *= inverse
    return y
