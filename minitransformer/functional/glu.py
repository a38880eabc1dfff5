"""The gated linear unit (Dauphin et al. 2017, https://arxiv.org/abs/1612.08083, equation 1)."""

from typing import NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.functional.activations import sigmoid
from minitransformer.replaceable import replaceable


class GluCache(NamedTuple):
    a: Array      # (..., D)
    gate: Array   # (..., D) sigmoid(b)


@replaceable
def glu_forward(x) -> tuple[Array, GluCache]:
    """y = a sigmoid(b), the two halves of x = [a, b]: x (..., 2 D), y (..., D)."""
    half = x.shape[-1] // 2
    a, gate = x[..., :half], sigmoid(x[..., half:])
    return a * gate, GluCache(a, gate)


@replaceable
def glu_backward(dy, cache) -> Array:
    """da = dy g and, from g' = g (1 - g) of the sigmoid, db = dy a g (1 - g)."""
    a, gate = cache
    return module_of(dy).concatenate([dy * gate, dy * a * gate * (1 - gate)], axis=-1)
