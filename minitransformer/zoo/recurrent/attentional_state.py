"""A decoder's hidden states after a look at the source (Luong et al. 2015, https://arxiv.org/abs/1508.04025, section 3)."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator, module_of
from minitransformer.checks import check_cache, check_floats, check_fraction
from minitransformer.functional.dropout import DropoutCache, dropout_backward, dropout_forward
from minitransformer.layers.layer import Layer
from minitransformer.layers.linear import Linear, LinearCache
from minitransformer.zoo.attention.additive import AdditiveAttention


class AttentionalStateCache(NamedTuple):
    attention: Any         # the attention's own cache
    output: LinearCache
    tanh: Array            # (B, T_q, D) what comes out of it
    dropout: DropoutCache


class AttentionalState(Layer):
    """y = dropout(tanh([c, x] W + b)), c = attention(x, memory): x, y (B, T_q, D), memory (B, T_k, d_memory).

    The recurrence does not see y (there is no input feeding), so all positions attend at once.
    """

    stepwise = True

    def __init__(self, attention: AdditiveAttention, d_model: int, d_memory: int,
                 rng: Generator | None = None, dropout: float = 0.0):
        check_fraction("the dropout rate", dropout)
        self.attention = attention
        self.output = Linear(d_memory + d_model, d_model, rng)
        self.dropout = dropout

    def forward(self, x: Array, memory: Array, mask: Array | None = None,
                rng: Generator | None = None) -> tuple[Array, AttentionalStateCache]:
        """mask: None or bool, (T_q, T_k) or with three axes that broadcast to (B, T_q, T_k); True = may attend."""
        context, attention = self.attention.forward(x, memory, mask)
        h, output = self.output.forward(module_of(x).concatenate([context, x], axis=-1))
        tanh = module_of(h).tanh(h)
        y, dropout = dropout_forward(tanh, self.dropout, rng)
        return y, AttentionalStateCache(attention, output, tanh, dropout)

    def backward(self, dy: Array, cache: AttentionalStateCache) -> tuple[Array, Array]:
        """Returns dx, dmemory."""
        check_cache(self, cache, AttentionalStateCache)
        check_floats("AttentionalState: dy", dy, *cache.tanh.shape)
        dh = dropout_backward(dy, cache.dropout)
        dh = dh * (1 - cache.tanh * cache.tanh)    # tanh' = 1 - tanh^2
        dh = self.output.backward(dh, cache.output)
        d_memory = dh.shape[-1] - dy.shape[-1]
        dx, dmemory = self.attention.backward(dh[..., :d_memory], cache.attention)
        return dh[..., d_memory:] + dx, dmemory
