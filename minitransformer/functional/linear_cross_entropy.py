"""The pre-softmax linear layer and the loss in one function: a kernel can compute the logits, the largest array, in blocks."""

from typing import NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache_of
from minitransformer.functional.cross_entropy import CrossEntropyCache, cross_entropy_backward, cross_entropy_forward
from minitransformer.dispatch import replaceable


class LinearCrossEntropyCache(NamedTuple):
    x: Array                      # (..., D)
    weight: Array                 # (V, D)
    loss: CrossEntropyCache
    log_likelihood: Array         # (...) that of `loss`, which the kernels do not have


@replaceable
def linear_cross_entropy_forward(x, weight, targets, smoothing=0.0, *, padding) -> tuple[Array, LinearCrossEntropyCache]:
    """cross_entropy_forward of the logits x W^T: x (..., D), weight W (V, D), targets (...) ids; returns the sum."""
    rows = x.reshape(-1, x.shape[-1])
    logits = (rows @ weight.T).reshape(*x.shape[:-1], len(weight))
    loss, cache = cross_entropy_forward(logits, targets, smoothing, padding=padding)
    return loss, LinearCrossEntropyCache(x, weight, cache, cache.log_likelihood)


@replaceable
def linear_cross_entropy_backward(dloss, cache) -> tuple[Array, Array]:
    """Returns dx (..., D) and dweight (V, D): from logits = x W^T, dx = dlogits W and dW = dlogits^T x."""
    check_cache_of("linear_cross_entropy_backward", cache, LinearCrossEntropyCache)
    x, weight, loss, _ = cache
    dlogits = cross_entropy_backward(dloss, loss).reshape(-1, len(weight))    # (tokens, V)
    dx = (dlogits @ weight).reshape(x.shape)                                  # (..., D)
    dweight = dlogits.T @ x.reshape(-1, x.shape[-1])                          # (V, D) a sum over the tokens
    return dx, dweight
