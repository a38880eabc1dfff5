"""A parameter with its gradient, and the flat vectors that hold all of a model's parameters and gradients."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_kind
from minitransformer.errors import InputError

DTYPES = ("float32", "float64", "complex128")    # for training, for finite differences, for the complex step


class Flat(NamedTuple):
    """All parameters of a model in one vector, `data`, and all gradients in another, `grad`."""

    data: Array   # (P,)
    grad: Array   # (P,)


class Parameter:
    """A learned array (`data`) and the gradient of the loss with respect to it (`grad`).

    `backward` adds to `grad` and never assigns it: a parameter used in two places receives the
    sum of both gradients without special treatment. Once a model has its flat vectors (an optimiser makes them),
    an assignment to `data` or `grad` writes into them. Raises InputError for data with a dtype that is not in DTYPES,
    and for an array that does not fit the vectors.
    """

    def __init__(self, data: Array, grad: Array | None = None):
        self.flat: Flat | None = None    # the Flat of which data and grad are views
        self.start = 0      # where they begin in it
        self._data = _array("data", data)
        if str(data.dtype) not in DTYPES:
            raise InputError(f"a Parameter's data is {data.dtype}, expected {', '.join(DTYPES[:-1])} or {DTYPES[-1]}")
        self._grad = grad    # None: zeros, made when they are first needed, because a model that only writes has no use for them

    @property
    def data(self) -> Array:
        return self._data

    @data.setter
    def data(self, array: Array) -> None:
        self._data = self._assigned("data", self._data, array)

    @property
    def grad(self) -> Array:
        if self._grad is None:
            self._grad = module_of(self._data).zeros_like(self._data)
        return self._grad

    @grad.setter
    def grad(self, array: Array) -> None:
        self._grad = self._assigned("grad", self._grad, array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    def _assigned(self, name: str, view: Array | None, array: Array) -> Array:
        """`array`; if the parameter is in flat vectors, the old view with the values of `array`."""
        if array is view:    # from +=, which assigns the array that it has just changed
            return array
        _array(name, array)
        if self.flat is None or view is None:
            return array
        if (array.shape, array.dtype) != (view.shape, view.dtype) or module_of(array) is not module_of(view):
            raise InputError(f"{name} is assigned a {module_of(array).__name__} array of shape {array.shape}, {array.dtype}, but "
                             f"this parameter of an optimised model is one of {module_of(view).__name__}, of shape {view.shape}, "
                             f"{view.dtype}")
        view[...] = array
        return view

    def __getstate__(self) -> dict[str, Any]:
        """For copy and pickle: the copy has its own arrays."""
        return {**vars(self), "flat": None}

    def __repr__(self) -> str:
        return f"Parameter(shape={self.shape}, dtype={self.data.dtype})"


def _array(name: str, value: Array) -> Array:
    check_kind(hasattr(value, "dtype") and hasattr(value, "shape"), f"a Parameter's {name}", value, "a NumPy or CuPy array")
    return value


def flatten(named: dict[str, Parameter], before: Flat | None = None) -> Flat:
    """Move the parameters of {name: Parameter} into one vector and their gradients into another; returns Flat.

    Each parameter's `data` and `grad` become views of them, so an optimiser that traverses the vectors
    updates every parameter. `before`: the Flat that already holds some of them. Raises InputError if there are no
    parameters, if one is a view of another model's vectors, and if their dtypes differ.
    """
    parameters = list(named.values())
    for name, parameter in named.items():
        if parameter.flat is not None and parameter.flat is not before:
            raise InputError(f"{name} is already in the flat vectors of another layer; use those")
        if parameter.data.dtype != parameters[0].data.dtype:
            raise InputError(f"{name} is {parameter.data.dtype}, but {next(iter(named))} is {parameters[0].data.dtype}; "
                             f"convert them to one dtype with model.astype(\"{parameters[0].data.dtype}\")")
    xp = module_of(parameters[0].data)
    data = xp.concatenate([parameter.data.ravel() for parameter in parameters])
    grad = xp.concatenate([parameter.grad.ravel() for parameter in parameters])
    return bind(parameters, data, grad)


def bind(parameters: Iterable[Parameter], data: Array, grad: Array) -> Flat:
    """Make each of `parameters` a view of its own slice of the vectors `data` and `grad`."""
    flat, start = Flat(data, grad), 0
    for parameter in parameters:
        stop = start + parameter.data.size
        shape = parameter.shape
        parameter.flat = None    # the arrays move into these vectors
        parameter.data = data[start:stop].reshape(shape)
        parameter.grad = grad[start:stop].reshape(shape)
        parameter.flat = flat
        parameter.start = start
        start = stop
    return flat


def fills(flat: Flat, parameters: Iterable[Parameter]) -> bool:
    """Whether these parameters, in this order, are the views that make up the vectors of `flat`."""
    start = 0
    for parameter in parameters:
        if parameter.flat is not flat or parameter.start != start:
            return False
        start += parameter.data.size
    return start == flat.data.size
