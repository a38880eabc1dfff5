"""The residual connection with dropout and LayerNorm around a sub-layer (sections 3.1, 5.4)."""

from typing import NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_fraction, check_shape
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.layers.config import StackConfig
from minitransformer.layers.layer import Layer
from minitransformer.layers.layer_norm import NORMS, LayerNorm
from minitransformer.dispatch import replaceable


class ResidualCache(NamedTuple):
    dropout: DropoutCache
    norm: LayerNormCache | None    # post-norm only


class Residual(Layer):
    """Post-norm, as in the paper: y = LayerNorm(x + dropout(h)), where a sub-layer has made h from x. All: (B, T, d_model).

    With pre_norm=True, the LayerNorm comes first: the sub-layer makes h from LayerNorm(x), and y = x + dropout(h).

        h, entered = residual.enter(x)          # what the sub-layer reads
        h, cache = sublayer.forward(h)
        y, left = residual.forward(x, h, rng)
    """

    stepwise = True

    def __init__(self, d_model: int, dropout: float = 0.0,
                 pre_norm: bool = False, norm: Layer | None = None):
        check_fraction("the dropout rate", dropout)
        self.norm = norm or LayerNorm(d_model)
        self.dropout = dropout
        self.pre_norm = pre_norm

    @classmethod
    def of(cls, config: StackConfig) -> "Residual":
        """The residual that a StackConfig asks for."""
        return cls(config.d_model, config.dropout, config.pre_norm, NORMS[config.norm](config.d_model, config.norm_epsilon))

    def enter(self, x: Array) -> tuple[Array, LayerNormCache | None]:
        """What the sub-layer reads: x or, with pre_norm, LayerNorm(x)."""
        return self.norm.forward(x) if self.pre_norm else (x, None)

    def enter_backward(self, dh: Array, cache: LayerNormCache | None) -> Array:
        """The gradient that x gets through the sub-layer, from that of what the sub-layer has read."""
        return self.norm.backward(dh, cache) if self.pre_norm else dh

    @replaceable
    def forward(self, x: Array, h: Array,
                rng: Generator | None = None) -> tuple[Array, ResidualCache]:
        """y, from x and the sub-layer's output h."""
        check_shape("Residual: h", h, *x.shape)
        h, dropout = dropout_forward(h, self.dropout, rng)
        y, norm = (x + h, None) if self.pre_norm else self.norm.forward(x + h)
        return y, ResidualCache(dropout, norm)

    def backward(self, dy: Array, cache: ResidualCache) -> tuple[Array, Array]:
        """Returns dx, the gradient that goes past the sub-layer, and dh, the sub-layer's."""
        check_cache(self, cache, ResidualCache)
        if not self.pre_norm:
            dy = self.norm.backward(dy, cache.norm)
        return dy, dropout_backward(dy, cache.dropout)
