"""The linear layer without a bias."""

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_floats, check_shape
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import LinearCache


class Projection(Layer):
    """y = x W: x (..., d_in), W (d_in, d_out), y (..., d_out)."""

    stepwise = True

    def __init__(self, d_in: int, d_out: int, rng: Generator | None = None):
        self.weight = initial.xavier(rng, d_in, d_out)

    def forward(self, x: Array) -> tuple[Array, LinearCache]:
        d_in, d_out = self.weight.shape
        check_floats("Projection: x", x, ..., d_in)
        y = x.reshape(-1, d_in) @ self.weight.data
        return y.reshape(*x.shape[:-1], d_out), LinearCache(x)

    def backward(self, dy: Array, cache: LinearCache) -> Array:
        """From y_nj = sum_i x_ni W_ij: dW = x^T dy, dx = dy W^T."""
        check_cache(self, cache, LinearCache)
        d_in, d_out = self.weight.shape
        check_shape("Projection: dy", dy, *cache.x.shape[:-1], d_out)
        rows, drows = cache.x.reshape(-1, d_in), dy.reshape(-1, d_out)
        self.weight.grad += rows.T @ drows
        return (drows @ self.weight.data.T).reshape(cache.x.shape)
