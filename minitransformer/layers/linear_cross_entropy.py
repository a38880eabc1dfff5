"""The loss of hidden states: the pre-softmax linear layer and cross-entropy in one, so that a kernel need not keep all logits."""

from minitransformer.backend import Array
from minitransformer.checks import check_floats
from minitransformer.functional import linear_cross_entropy_backward, linear_cross_entropy_forward
from minitransformer.functional.linear_cross_entropy import LinearCrossEntropyCache
from minitransformer.layers.layer import Layer


class LinearCrossEntropy(Layer):
    """The summed cross-entropy of the logits x W^T: x (..., d_model), W (V, d_model) the Parameter of an OutputProjection."""

    def __init__(self, weight):
        self.weight = weight

    def forward(self, x, targets, smoothing=0.0, *, padding) -> tuple[Array, LinearCrossEntropyCache]:
        """targets (...) ids -> the sum over all that are not `padding`; cache.log_likelihood (...) holds that of each target."""
        check_floats("LinearCrossEntropy: x", x, ..., self.weight.shape[1])
        return linear_cross_entropy_forward(x, self.weight.data, targets, smoothing, padding=padding)

    def backward(self, dloss, cache) -> Array:
        """Returns dx (..., d_model)."""
        dx, dweight = linear_cross_entropy_backward(dloss, cache)
        self.weight.grad += dweight
        return dx
