"""The residual connection with dropout and LayerNorm around a sub-layer (sections 3.1, 5.4)."""

from typing import Any, NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_kind, check_share
from minitransformer.functional.dropout import DropoutCache, dropout_sum_backward, dropout_sum_forward
from minitransformer.functional.layer_norm import LayerNormCache
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.layers.layer_norm import NORMS, LayerNorm


class ResidualCache(NamedTuple):
    norm: LayerNormCache
    sublayer: Any          # the sub-layer's own cache
    dropout: DropoutCache


class Residual(Layer):
    """Post-norm, as in the paper: y = LayerNorm(x + dropout(sublayer(x, ...))).

    With pre_norm=True: y = x + dropout(sublayer(LayerNorm(x), ...)). x, y: (B, T, d_model). The sub-layer's
    other arguments (memory, mask) are passed on to it, and backward also returns their gradients, such as dmemory.
    """

    def __init__(self, sublayer, d_model, dropout=0.0, pre_norm=False, norm=None):
        check_share("the dropout rate", dropout)
        check_kind(isinstance(sublayer, Layer), "Residual: the sub-layer", sublayer, "a Layer")
        self.sublayer: Any = sublayer
        self.norm = norm or LayerNorm(d_model)
        self.dropout = dropout
        self.pre_norm = pre_norm

    @classmethod
    def of(cls, config, sublayer) -> "Residual":
        """The residual around an untrained sub-layer that a StackConfig asks for. It makes the sub-layer's last weights smaller."""
        initial.shrink_end(sublayer, config.num_layers)
        norm = NORMS[config.norm](config.d_model, config.norm_epsilon)
        return cls(sublayer, config.d_model, config.dropout, config.pre_norm, norm)

    def forward(self, x, *others, rng=None) -> tuple[Array, ResidualCache]:
        h, norm = self.norm.forward(x) if self.pre_norm else (x, None)
        h, sublayer = self.sublayer.forward(h, *others, rng=rng)
        y, dropout = dropout_sum_forward(x, h, self.dropout, rng)
        if not self.pre_norm:
            y, norm = self.norm.forward(y)
        return y, ResidualCache(norm, sublayer, dropout)    # type: ignore[arg-type]    # one of the two made norm

    def backward(self, dy, cache) -> Array | tuple:
        """Returns dx, followed by the gradients of the sub-layer's other inputs, if any."""
        check_cache(self, cache, ResidualCache)
        if not self.pre_norm:
            dy = self.norm.backward(dy, cache.norm)
        dy, dh = dropout_sum_backward(dy, cache.dropout)
        dh = self.sublayer.backward(dh, cache.sublayer)
        dh, *dothers = dh if isinstance(dh, tuple) else (dh,)
        if self.pre_norm:
            dh = self.norm.backward(dh, cache.norm)
        dx = dy + dh    # past the sub-layer, and through it
        return (dx, *dothers) if dothers else dx

    def evaluate(self, x, sublayer) -> Array:
        """y with a function of the hidden states in place of the sub-layer: decoding computes only one position."""
        h = self.norm.forward(x)[0] if self.pre_norm else x
        y = x + sublayer(h)
        return y if self.pre_norm else self.norm.forward(y)[0]
