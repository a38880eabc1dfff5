"""Layer normalisation, row by row: a row stays in the processor's nearest cache until its result is
written.
"""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_shape
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.speed.loops import Matrix, Vector, loop, packed


def layer_norm_forward_compiled(
    x: Array, gamma: Array, beta: Array, epsilon: float = 1e-5
) -> tuple[Array, LayerNormCache]:
    size = x.shape[-1]
    check_shape("LayerNorm: gamma", gamma, size)
    check_shape("LayerNorm: beta", beta, size)
    y, normed, inverse = (
        np.empty(x.shape, x.dtype),
        np.empty(x.shape, x.dtype),
        np.empty((*x.shape[:-1], 1), x.dtype),
    )
    normalise(
        packed(x, inverse.size, size),
        packed(gamma, size),
        packed(beta, size),
        epsilon,
        y.reshape(-1, size),
        normed.reshape(-1, size),
        inverse.reshape(-1),
    )
    return y, LayerNormCache(normed, inverse, gamma)


def layer_norm_backward_compiled(dy: Array, cache: LayerNormCache) -> tuple[Array, Array, Array]:
    normed, inverse, gamma = cache
    check_shape("LayerNorm: dy", dy, *normed.shape)
    rows = inverse.size, gamma.size
    dx, dgamma, dbeta = np.empty(normed.shape, dy.dtype), np.zeros_like(gamma), np.zeros_like(gamma)
    normalise_backward(
        packed(dy, *rows),
        packed(normed, *rows),
        packed(inverse, inverse.size),
        packed(gamma, gamma.size),
        dx.reshape(rows),
        dgamma,
        dbeta,
    )
    return dx, dgamma, dbeta


@loop
def normalise(
    x: Matrix,
    gamma: Vector,
    beta: Vector,
    epsilon: float,
    y: Matrix,
    normed: Matrix,
    inverse: Vector,
) -> None:
    """x, y, normed: (N, D); gamma, beta: (D,); inverse: (N,). Writes the last three."""
    number, size = x.dtype.type, x.shape[1]
    for n in range(len(x)):
        total = number(0)
        for i in range(size):
            total += x[n, i]
        mean = total / number(size)
        squares = number(0)
        for i in range(size):
            centred = x[n, i] - mean
            squares += centred * centred
        scale = number(1) / np.sqrt(squares / number(size) + number(epsilon))
        inverse[n] = scale
        for i in range(size):
            z = (x[n, i] - mean) * scale
            normed[n, i] = z
            y[n, i] = gamma[i] * z + beta[i]


@loop
def normalise_backward(
    dy: Matrix,
    normed: Matrix,
    inverse: Vector,
    gamma: Vector,
    dx: Matrix,
    dgamma: Vector,
    dbeta: Vector,
) -> None:
    """dy, normed, dx: (N, D); inverse: (N,); gamma, dgamma, dbeta: (D,). Writes dx, adds to dgamma
    and dbeta.
    """
    number, size = dy.dtype.type, dy.shape[1]
    for n in range(len(dy)):
        mean, along = number(0), number(0)
        for i in range(size):
            dn = dy[n, i] * gamma[i]
            mean += dn
            along += dn * normed[n, i]
            dgamma[i] += dy[n, i] * normed[n, i]
            dbeta[i] += dy[n, i]
        mean /= number(size)
        along /= number(size)
        for i in range(size):
            dx[n, i] = inverse[n] * (dy[n, i] * gamma[i] - mean - normed[n, i] * along)
