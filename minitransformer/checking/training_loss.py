"""A model as training runs it, for the gradient check: its loss for a batch, and the gradient of that."""

from typing import Any

from minitransformer.backend import Array
from minitransformer.layers.layer import Layer


class TrainingLoss(Layer):
    """The summed loss of a `model` (...): batch -> a number. Dropout, label smoothing and padding are part of it."""

    def __init__(self, model):
        self.model = model

    def forward(self, batch, smoothing=0.0, rng=None) -> tuple[Array, Any]:
        sums, cache = self.model.loss_forward(batch, rng, smoothing)
        return sums.loss, cache

    def backward(self, dloss, cache) -> None:
        self.model.loss_backward(dloss, cache)
