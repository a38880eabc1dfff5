"""The linear layer: the products are those of BLAS; the bias is added, and its gradient summed, in a loop."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checks import check_floats, check_shape
from minitransformer.kernels.loops import loop, packed
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.replaceable import replaces


@replaces(Linear.forward, "numpy", "float32 float64")
def linear_forward_compiled(self, x) -> tuple[Array, LinearCache]:
    d_in, d_out = self.weight.shape
    check_floats("Linear: x", x, ..., d_in)
    y = x.reshape(-1, d_in) @ self.weight.data
    add_to_rows(y, self.bias.data)
    return y.reshape(*x.shape[:-1], d_out), LinearCache(x)


@replaces(Linear.backward, "numpy", "float32 float64")
def linear_backward_compiled(self, dy, cache) -> Array:
    d_in, d_out = self.weight.shape
    check_shape("Linear: dy", dy, *cache.x.shape[:-1], d_out)
    rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
    self.weight.grad += rows.T @ drows
    dbias = np.zeros(d_out, dy.dtype)    # of its own: a sum that begins at the old gradient rounds otherwise
    add_rows(packed(drows, len(drows), d_out), dbias)
    self.bias.grad += dbias
    return (drows @ self.weight.data.T).reshape(cache.x.shape)


@loop("matrix vector")
def add_to_rows(y, bias) -> None:
    """y: (N, D), bias: (D,)."""
    for n in range(len(y)):
        for i in range(y.shape[1]):
            y[n, i] += bias[i]


@loop("matrix vector")
def add_rows(dy, dbias) -> None:
    """dy: (N, D), dbias: (D,)."""
    for n in range(len(dy)):
        for i in range(dy.shape[1]):
            dbias[i] += dy[n, i]
