"""The pre-softmax linear layer, which may share an embedding's weight (section 3.4 of the paper), alone and with the loss."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, Generator
from minitransformer.checks import check_cache, check_cache_of, check_floats, check_shape
from minitransformer.functional.cross_entropy import CrossEntropyCache, cross_entropy_backward, cross_entropy_forward
from minitransformer.layers import initial
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter
from minitransformer.dispatch import replaceable


class OutputCache(NamedTuple):
    x: Array   # (..., d_model)


class OutputProjection(Layer):
    """logits = x W^T: x (..., d_model), W (V, d_model), logits (..., V).

    W has the shape of an embedding, so an embedding's Parameter can be passed as `weight` to share it; this
    is also why there is no bias.
    """

    def __init__(self, vocab_size: int, d_model: int,
                 rng: Generator | None = None, weight: Parameter | None = None):
        self.weight = initial.normal(rng, vocab_size, d_model) if weight is None else weight

    def forward(self, x: Array) -> tuple[Array, OutputCache]:
        vocab_size, d_model = self.weight.shape
        check_floats("OutputProjection: x", x, ..., d_model)
        logits = x.reshape(-1, d_model) @ self.weight.data.T
        return logits.reshape(*x.shape[:-1], vocab_size), OutputCache(x)

    def backward(self, dlogits: Array, cache: OutputCache) -> Array:
        """From logits_nv = sum_i x_ni W_vi: dW = dlogits^T x, dx = dlogits W."""
        check_cache(self, cache, OutputCache)
        vocab_size, d_model = self.weight.shape
        check_shape("OutputProjection: dlogits", dlogits, *cache.x.shape[:-1], vocab_size)
        rows, drows = cache.x.reshape(-1, d_model), dlogits.reshape(-1, vocab_size)
        self.weight.grad += drows.T @ rows
        return (drows @ self.weight.data).reshape(cache.x.shape)


class LinearCrossEntropyCache(NamedTuple):
    output: Any              # the cache of the layer that made the logits
    loss: CrossEntropyCache
    log_likelihood: Array    # (...) that of `loss`


class LinearCrossEntropy(Layer):
    """The summed cross-entropy of the logits that `output`, a model's last layer, makes of x (..., d_model).

    It has no weight of its own, and asks the layer when it runs.
    """

    @replaceable
    def forward(self, x: Array, output: Layer, targets: Array, smoothing: float = 0.0,
                *, padding: int | None) -> tuple[Array, LinearCrossEntropyCache]:
        """targets (...) ids -> the sum over all that are not `padding`; cache.log_likelihood (...) holds that of each target."""
        logits, output_cache = output.forward(x)
        loss, cache = cross_entropy_forward(logits, targets, smoothing, padding=padding)
        return loss, LinearCrossEntropyCache(output_cache, cache, cache.log_likelihood)

    @replaceable
    def backward(self, dloss: float | Array, output: Layer,
                 cache: LinearCrossEntropyCache) -> Array:
        """Returns dx (..., d_model), and adds to the gradients of `output`."""
        check_cache_of("LinearCrossEntropy.backward", cache, LinearCrossEntropyCache)
        dlogits = cross_entropy_backward(dloss, cache.loss)
        return output.backward(dlogits, cache.output)
