"""From the positions of a sentence to one vector."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache
from minitransformer.layers.layer import Layer


class MeanCache(NamedTuple):
    share: Array    # (B, T, 1) 1 / number of real positions at each of them, 0 elsewhere


class MeanOverTokens(Layer):
    """y = the mean of x over the real positions: x (B, T, d_model), real (B, T) bool, y (B, d_model).

    A sentence without real positions gives zeros.
    """

    def forward(self, x, real) -> tuple[Array, MeanCache]:
        xp = module_of(x)
        count = xp.maximum(real.sum(axis=1, keepdims=True), 1)
        share = (real / count).astype(x.real.dtype)[:, :, None]
        return (x * share).sum(axis=1), MeanCache(share)

    def backward(self, dy, cache) -> Array:
        """From y_bi = sum_t share_bt x_bti: dx_bti = share_bt dy_bi."""
        check_cache(self, cache, MeanCache)
        return dy[:, None, :] * cache.share


class FirstCache(NamedTuple):
    shape: tuple   # of x


class FirstToken(Layer):
    """y = the first position of x (B, T, d_model): y (B, d_model). The mask of real positions is not used."""

    def forward(self, x, real) -> tuple[Array, FirstCache]:
        return x[:, 0], FirstCache(x.shape)

    def backward(self, dy, cache) -> Array:
        """Only the first position is used: dx is dy there, and 0 elsewhere."""
        check_cache(self, cache, FirstCache)
        dx = module_of(dy).zeros(cache.shape, dy.dtype)
        dx[:, 0] = dy
        return dx
