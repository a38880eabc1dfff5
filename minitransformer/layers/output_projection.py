"""The pre-softmax linear layer, which may share an embedding's weight (section 3.4 of the paper), alone and with the loss."""

from typing import Any, NamedTuple

from minitransformer.backend import Array
from minitransformer.checks import check_cache, check_floats, check_shape
from minitransformer.functional import (
    cross_entropy_backward, cross_entropy_forward, linear_cross_entropy_backward, linear_cross_entropy_forward)
from minitransformer.functional.cross_entropy import CrossEntropyCache
from minitransformer.functional.linear_cross_entropy import LinearCrossEntropyCache
from minitransformer.layers import initial
from minitransformer.layers.exactly import exactly
from minitransformer.layers.layer import Layer


class OutputCache(NamedTuple):
    x: Array   # (..., d_model)


class OutputProjection(Layer):
    """logits = x W^T: x (..., d_model), W (V, d_model), logits (..., V).

    W has the shape of an embedding, so an embedding's Parameter can be passed as `weight` to share it; this
    is also why there is no bias.
    """

    def __init__(self, vocab_size, d_model, rng=None, weight=None):
        self.weight = initial.normal(rng, vocab_size, d_model) if weight is None else weight

    def forward(self, x) -> tuple[Array, OutputCache]:
        vocab_size, d_model = self.weight.shape
        check_floats("OutputProjection: x", x, ..., d_model)
        logits = x.reshape(-1, d_model) @ self.weight.data.T
        return logits.reshape(*x.shape[:-1], vocab_size), OutputCache(x)

    def backward(self, dlogits, cache) -> Array:
        """From logits_nv = sum_i x_ni W_vi: dW = dlogits^T x, dx = dlogits W."""
        check_cache(self, cache, OutputCache)
        vocab_size, d_model = self.weight.shape
        check_shape("OutputProjection: dlogits", dlogits, *cache.x.shape[:-1], vocab_size)
        rows, drows = cache.x.reshape(-1, d_model), dlogits.reshape(-1, vocab_size)
        self.weight.grad += drows.T @ rows
        return (drows @ self.weight.data).reshape(cache.x.shape)


class LogitsLossCache(NamedTuple):
    output: Any              # the cache of the layer that made the logits
    loss: CrossEntropyCache
    log_likelihood: Array    # (...) that of `loss`


class LinearCrossEntropy(Layer):
    """The summed cross-entropy of the logits that `output`, a model's last layer, makes of x (..., d_model).

    It has no weight of its own. With an OutputProjection, logits x W^T and loss are one function, so that a kernel need
    not keep all logits.
    """

    def forward(self, x, output, targets, smoothing=0.0, *, padding) -> tuple[Array, LinearCrossEntropyCache | LogitsLossCache]:
        """targets (...) ids -> the sum over all that are not `padding`; cache.log_likelihood (...) holds that of each target."""
        if exactly(output, OutputProjection):
            check_floats("LinearCrossEntropy: x", x, ..., output.weight.shape[1])
            return linear_cross_entropy_forward(x, output.weight.data, targets, smoothing, padding=padding)
        logits, output_cache = output.forward(x)
        loss, cache = cross_entropy_forward(logits, targets, smoothing, padding=padding)
        return loss, LogitsLossCache(output_cache, cache, cache.log_likelihood)

    def backward(self, dloss, output, cache) -> Array:
        """Returns dx (..., d_model), and adds to the gradients of `output`."""
        if isinstance(cache, LogitsLossCache):
            return output.backward(cross_entropy_backward(dloss, cache.loss), cache.output)
        dx, dweight = linear_cross_entropy_backward(dloss, cache)
        output.weight.grad += dweight
        return dx
