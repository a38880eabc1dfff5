"""The weights of a model by their names, as the reader's functions take them, in one vector that
Adam moves.
"""

from typing import Any

import numpy as np

from minitransformer.training.optim import clip_factor
from minitransformer_course.judge.capstone_train import ADAM


class FlatWeights:
    """parameters: {name: Parameter}, whose values they begin with. `values` is the vector."""

    def __init__(self, parameters):
        self.shapes = {name: one.data.shape for name, one in parameters.items()}
        self.values = np.concatenate([one.data.ravel() for one in parameters.values()])
        self.values = self.values.astype("float64")
        self.moments = np.zeros((2, self.values.size))

    def by_name(self) -> dict[str, np.ndarray]:
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in self.shapes.values()])
        arrays = np.split(self.values, ends[:-1])
        return {name: a.reshape(shape) for (name, shape), a in zip(self.shapes.items(), arrays)}

    def move(self, adam_step, gradients, step, learning_rate) -> None:
        """One step of Adam, its gradients {name: array} clipped to a norm of 1 together."""
        g = np.concatenate([np.ravel(gradients[name]) for name in self.shapes])
        g = g * clip_factor(g @ g, 1.0)
        self.values, *self.moments = adam_step(
            self.values, g, *self.moments, step, learning_rate, *ADAM
        )


def put(parameters, weights) -> None:
    """Give each of {name: Parameter} its weights."""
    for name, parameter in parameters.items():
        parameter.data[...] = weights[name]


def gradients(model, parameters, dlogits, cache) -> dict[str, Any]:
    """{name: gradient} of the model's {name: Parameter}."""
    model.zero_grad()
    model.backward(dlogits, cache)
    return {name: parameter.grad.copy() for name, parameter in parameters.items()}
