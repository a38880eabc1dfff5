"""The linear layer."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_floats, check_shape
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.dispatch import replaceable


class LinearCache(NamedTuple):
    x: Array   # (..., d_in)


class Linear(Layer):
    """y = x W + b: x (..., d_in), W (d_in, d_out), b (d_out,), y (..., d_out)."""

    stepwise = True

    def __init__(self, d_in: int, d_out: int, rng: Generator | None = None):
        self.weight = initial.xavier(rng, d_in, d_out)
        self.bias = initial.zeros(d_out)

    def forward(self, x: Array) -> tuple[Array, LinearCache]:
        d_in, d_out = self.weight.shape
        check_floats("Linear: x", x, ..., d_in)
        rows = x.reshape(-1, d_in)      # one matrix product for all leading axes
        y = rows @ self.weight.data
        y += self.bias.data
        return y.reshape(*x.shape[:-1], d_out), LinearCache(x)

    @replaceable
    def backward(self, dy: Array, cache: LinearCache) -> Array:
        """From y_nj = sum_i x_ni W_ij + b_j: dW = x^T dy, db = sum_n dy_n, dx = dy W^T."""
        check_cache(self, cache, LinearCache)
        d_in, d_out = self.weight.shape
        check_shape("Linear: dy", dy, *cache.x.shape[:-1], d_out)
        rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
        self.weight.grad += rows.T @ drows                                # (d_in, d_out) a sum over the rows
        self.bias.grad += module_of(dy).ones(len(drows), dy.dtype) @ drows    # (d_out,) their sum: as a product it is faster
        return (drows @ self.weight.data.T).reshape(cache.x.shape)        # (..., d_in)
