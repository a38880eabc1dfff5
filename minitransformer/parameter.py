"""A parameter and its gradient, and the flat vectors that hold all of a model's."""

from typing import Any, NamedTuple

from minitransformer.backend import module_of
from minitransformer.errors import InputError


class Parameter:
    """An array that is learned (`data`) and the gradient of the loss with respect to it (`grad`).

    `backward` adds to `grad` and never assigns it: a parameter used in two places receives the
    sum of both gradients without anyone having to know.
    """

    def __init__(self, data, grad=None):
        self.data = data
        self.grad = module_of(data).zeros_like(data) if grad is None else grad
        self.bound = False    # whether data and grad are views of a model's flat vectors

    @property
    def shape(self):
        return self.data.shape

    def __getstate__(self):
        """What copy and pickle take: the copy's arrays are its own."""
        return {**vars(self), "bound": False}

    def __repr__(self):
        return f"Parameter(shape={self.shape}, dtype={self.data.dtype})"


class Flat(NamedTuple):
    """All parameters of a model in one vector `data`, all gradients in another, `grad`."""

    data: Any   # (P,)
    grad: Any   # (P,)


def flatten(named):
    """Move the parameters of {name: Parameter} into one vector and their gradients into another; returns Flat.

    Each parameter's `data` and `grad` become views of them, so an optimiser that walks the vectors
    updates every parameter. Raises InputError where one is a view of another model's vectors.
    """
    for name, parameter in named.items():
        if parameter.bound:
            raise InputError(f"{name} already lies in the flat vectors of another layer; use that one's")
    parameters = list(named.values())
    xp = module_of(parameters[0].data)
    data = xp.concatenate([parameter.data.ravel() for parameter in parameters])
    grad = xp.concatenate([parameter.grad.ravel() for parameter in parameters])
    return bind(parameters, data, grad)


def bind(parameters, data, grad):
    """Make each of `parameters` a view of its own slice of the vectors `data` and `grad`."""
    start = 0
    for parameter in parameters:
        stop = start + parameter.data.size
        shape = parameter.shape
        parameter.data = data[start:stop].reshape(shape)
        parameter.grad = grad[start:stop].reshape(shape)
        parameter.bound = True
        start = stop
    return Flat(data, grad)
