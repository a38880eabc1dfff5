"""From the positions of a sentence to one vector."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache, check_mask, check_sequence, check_shape
from minitransformer.layers.layer import Layer


class MeanCache(NamedTuple):
    share: Array    # (B, T, 1) 1 / number of real positions at each of them, 0 elsewhere
    d_model: int


class MeanOverTokens(Layer):
    """y = the mean of x over the real positions: x (B, T, d_model), real (B, T) bool, y (B, d_model).

    A sentence without real positions gives zeros.
    """

    def forward(self, x: Array, real: Array) -> tuple[Array, MeanCache]:
        _check(self, x, real)
        xp = module_of(x)
        count = xp.maximum(real.sum(axis=1, keepdims=True), 1)
        share = (real / count).astype(x.real.dtype)[:, :, None]
        return (x * share).sum(axis=1), MeanCache(share, x.shape[2])

    def backward(self, dy: Array, cache: MeanCache) -> Array:
        """From y_bi = sum_t share_bt x_bti: dx_bti = share_bt dy_bi."""
        check_cache(self, cache, MeanCache)
        check_shape("MeanOverTokens: dy", dy, len(cache.share), cache.d_model)
        return dy[:, None, :] * cache.share


class FirstCache(NamedTuple):
    shape: tuple   # of x


class FirstToken(Layer):
    """y = the first position of x (B, T, d_model): y (B, d_model). The mask of real positions is not used."""

    def forward(self, x: Array, real: Array) -> tuple[Array, FirstCache]:
        _check(self, x, real)
        return x[:, 0], FirstCache(x.shape)

    def backward(self, dy: Array, cache: FirstCache) -> Array:
        """Only the first position is used: dx is dy there, and 0 elsewhere."""
        check_cache(self, cache, FirstCache)
        check_shape("FirstToken: dy", dy, cache.shape[0], cache.shape[2])
        dx = module_of(dy).zeros(cache.shape, dy.dtype)
        dx[:, 0] = dy
        return dx


def _check(layer: Layer, x: Array, real: Array) -> None:
    name = type(layer).__name__
    check_sequence(f"{name}: x", x, "B", "T", "d_model")
    check_shape(f"{name}: real", real, *x.shape[:2])
    check_mask(name, real, "(B, T)", x.shape[:2])
