"""A parameter and its gradient, and the flat vectors that hold all of a model's."""

from typing import Any, NamedTuple

from minitransformer.backend import Array, module_of
from minitransformer.errors import InputError

DTYPES = ("float32", "float64", "complex128")    # to train, to be checked by finite differences, and by the complex step


class Flat(NamedTuple):
    """All parameters of a model in one vector `data`, all gradients in another, `grad`."""

    data: Any   # (P,)
    grad: Any   # (P,)


class Parameter:
    """An array that is learned (`data`) and the gradient of the loss with respect to it (`grad`).

    `backward` adds to `grad` and never assigns it: a parameter used in two places receives the
    sum of both gradients without anyone having to know. Once a model has its flat vectors (an optimiser makes them),
    what is assigned to `data` or `grad` is written into them. Raises InputError for data of another dtype than DTYPES,
    and for what does not fit the vectors.
    """

    def __init__(self, data, grad=None):
        self.flat = None    # the Flat of which data and grad are views
        self._data = _array("data", data)
        if str(data.dtype) not in DTYPES:
            raise InputError(f"a Parameter's data is {data.dtype}, expected {', '.join(DTYPES[:-1])} or {DTYPES[-1]}")
        self._grad = module_of(data).zeros_like(data) if grad is None else grad

    @property
    def data(self) -> Array:
        return self._data

    @data.setter
    def data(self, array) -> None:
        self._data = self._assigned("data", self._data, array)

    @property
    def grad(self) -> Array:
        return self._grad

    @grad.setter
    def grad(self, array) -> None:
        self._grad = self._assigned("grad", self._grad, array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    def _assigned(self, name, view, array) -> Array:
        """`array`; where the parameter lies in flat vectors the old view, with the values of `array`."""
        if array is view:    # of +=, which assigns the array that it has changed
            return view
        _array(name, array)
        if self.flat is None:
            return array
        if (array.shape, array.dtype) != (view.shape, view.dtype) or module_of(array) is not module_of(view):
            raise InputError(f"{name} is assigned a {module_of(array).__name__} array of shape {array.shape}, {array.dtype}, but "
                             f"this parameter of an optimised model is one of {module_of(view).__name__}, of shape {view.shape}, "
                             f"{view.dtype}")
        view[...] = array
        return view

    def __getstate__(self) -> dict[str, Any]:
        """What copy and pickle take: the copy's arrays are its own."""
        return {**vars(self), "flat": None}

    def __repr__(self) -> str:
        return f"Parameter(shape={self.shape}, dtype={self.data.dtype})"


def _array(name, value) -> Array:
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise InputError(f"a Parameter's {name} is a {type(value).__name__}, expected a NumPy or CuPy array")
    return value


def flatten(named, before=None) -> Flat:
    """Move the parameters of {name: Parameter} into one vector and their gradients into another; returns Flat.

    Each parameter's `data` and `grad` become views of them, so an optimiser that walks the vectors
    updates every parameter. `before`: the Flat in which some of them lie. Raises InputError if there is no parameter,
    where one is a view of another model's vectors, and where they differ in dtype.
    """
    parameters = list(named.values())
    for name, parameter in named.items():
        if parameter.flat is not None and parameter.flat is not before:
            raise InputError(f"{name} already lies in the flat vectors of another layer; use that one's")
        if parameter.data.dtype != parameters[0].data.dtype:
            raise InputError(f"{name} is {parameter.data.dtype}, but {next(iter(named))} is {parameters[0].data.dtype}; "
                             f"make them one dtype, as model.astype(\"{parameters[0].data.dtype}\") does")
    xp = module_of(parameters[0].data)
    data = xp.concatenate([parameter.data.ravel() for parameter in parameters])
    grad = xp.concatenate([parameter.grad.ravel() for parameter in parameters])
    return bind(parameters, data, grad)


def bind(parameters, data, grad) -> Flat:
    """Make each of `parameters` a view of its own slice of the vectors `data` and `grad`."""
    flat, start = Flat(data, grad), 0
    for parameter in parameters:
        stop = start + parameter.data.size
        shape = parameter.shape
        parameter.flat = None    # the arrays move to these vectors
        parameter.data = data[start:stop].reshape(shape)
        parameter.grad = grad[start:stop].reshape(shape)
        parameter.flat = flat
        start = stop
    return flat
