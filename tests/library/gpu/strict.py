"""A stand-in for CuPy on machines without a GPU: as strict as CuPy, and a little stricter.

`cupy`, at the end of this file, takes CuPy's place in sys.modules. Its arrays hold NumPy arrays, so
the numbers are NumPy's, but they are not NumPy arrays themselves:

- they have the functions, methods and keywords of cupy_names.txt and no others;
- they never mix with NumPy arrays: `asarray` and `get` are the only bridges;
- integer arrays as indices wrap around, and assigning twice to one place is an error, as is `add.at`;
- reductions give arrays without dimensions, never scalars;
- everything that makes the host wait for the GPU is recorded in `waits`.
"""

import inspect
import operator
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from minitransformer import backend

HEADER, *LINES = Path(__file__).with_name("cupy_names.txt").read_text(encoding="utf-8").splitlines()
VERSION = HEADER.removeprefix("# ").partition(",")[0]  # "CuPy 14.2.0"


def _parse(line):
    """(name, its inspect.Signature, or None for a constant, a type or an attribute)."""
    name, _, parameters = line.removesuffix(")").partition("(")
    return name, inspect.signature(eval(f"lambda {parameters}: 0")) if line.endswith(")") else None


NAMES = dict(map(_parse, LINES))

# What the host must wait for: values, and results whose size depends on values.
WAITING = {
    "argwhere",
    "array_equal",
    "bincount",
    "compress",
    "extract",
    "flatnonzero",
    "nonzero",
    "unique",
    "ndarray.compress",
    "ndarray.item",
    "ndarray.nonzero",
    "ndarray.tobytes",
    "ndarray.tolist",
}

UNREPEATABLE = {"add.at", "subtract.at", "ndarray.scatter_add"}

waits = []  # one line for each wait: for what, in which file and line
used = set()  # the names that were called


def _wait(what):
    frame = sys._getframe(1)
    while frame.f_code.co_filename in (__file__, backend.__file__):
        frame = frame.f_back
    waits.append(f"{what} ({Path(frame.f_code.co_filename).name}, line {frame.f_lineno})")


def _known(name):
    """The signature of CuPy's `name`."""
    if name not in NAMES:
        raise AttributeError(f"{VERSION} has no {name}")
    return NAMES[name]


def _inside(value):
    """`value` with each of our arrays replaced by the NumPy array in it; refuses any other NumPy
    array.
    """
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray):
        raise TypeError("a CuPy function was given a NumPy array; to_device moves it")
    return _each(_inside, value)


def _outside(value):
    """`value` with each NumPy array or scalar replaced by one of our arrays."""
    return (
        ndarray(np.asarray(value))
        if isinstance(value, (np.ndarray, np.generic))
        else _each(_outside, value)
    )


def _each(function, value):
    return type(value)(map(function, value)) if type(value) in (list, tuple) else value


class Function:
    """A NumPy function with the name and the signature of CuPy's."""

    def __init__(self, name, function):
        self._name = name
        self._function = function

    def __call__(self, *args, **kwargs):
        try:
            _known(self._name).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name} of {VERSION}: {error}") from None
        if self._name in UNREPEATABLE:
            raise TypeError(
                f"{self._name} adds in any order: on a GPU floats come out differently each time"
            )
        used.add(self._name)
        if self._name in WAITING or (self._name == "where" and len(args) == 1):
            _wait(self._name)
        return _outside(
            self._function(
                *map(_inside, args), **{key: _inside(value) for key, value in kwargs.items()}
            )
        )

    def __getattr__(self, method):  # add.reduceat, and the like
        _known(f"{self._name}.{method}")
        return Function(f"{self._name}.{method}", getattr(self._function, method))


class ndarray:
    """An array on the GPU, as far as the code under test can tell."""

    __module__ = "cupy"  # by which module_of finds its module
    __slots__ = ("_array",)
    __array_ufunc__ = None  # NumPy's ufuncs refuse it, its operators leave the work to ours
    __hash__ = None

    def __init__(self, array):
        self._array = array

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion to a NumPy array; to_host moves it")

    def __array_function__(self, function, *_):
        raise TypeError(f"numpy.{function.__name__} was given a CuPy array")

    def get(self):
        _wait("get")
        return self._array.copy()

    def __getattr__(self, name):
        is_method = _known(f"ndarray.{name}") is not None
        value = getattr(self._array, name)
        return Function(f"ndarray.{name}", value) if is_method else _outside(value)

    def __len__(self):
        return len(self._array)

    def __iter__(self):
        _wait("iteration")
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        _wait("printing")
        return f"cupy {self._array!r}"

    def __getitem__(self, key):
        return _outside(self._array[self._host_key(key)])

    def __setitem__(self, key, value):
        key = self._host_key(key)
        if any(isinstance(item, np.ndarray) for item in key):
            places = np.arange(self._array.size).reshape(self._array.shape)[key]
            if len(np.unique(places)) < places.size:
                raise IndexError("two values are assigned to one place: on a GPU either may stay")
        self._array[key] = _operand(value)

    def _host_key(self, key):
        """`key` as a tuple for the NumPy array, with ... in it: it makes x[0] of a vector a view,
        not a scalar.
        """
        key = key if isinstance(key, tuple) else (key,)
        if not any(item is ... for item in key):
            key += (...,)
        widths = [
            item.ndim if _is_mask(item) else 0 if item is None or item is ... else 1 for item in key
        ]
        axis, host_key = 0, []
        for item, width in zip(key, widths):
            if _is_mask(item):
                _wait("boolean index")
                item = item._array
            elif isinstance(item, ndarray):
                item = item._array % self._array.shape[axis]
            elif not (item is None or item is ... or isinstance(item, (int, np.integer, slice))):
                raise TypeError(
                    f"an index is a {type(item).__module__}.{type(item).__name__}; to_device moves it"
                )
            host_key.append(item)
            axis += self._array.ndim - sum(widths) if item is ... else width
        return tuple(host_key)


def _is_mask(item):
    return isinstance(item, ndarray) and item.dtype == bool


def _operand(value):
    """The other side of an operator: one of our arrays, or a scalar of Python or NumPy."""
    if isinstance(value, (ndarray, bool, int, float, complex, np.generic)):
        return _inside(value)
    raise TypeError(
        f"a CuPy array and a {type(value).__module__}.{type(value).__name__} do not mix"
    )


def _binary(function):
    return lambda self, other: _outside(function(self._array, _operand(other)))


def _reflected(function):
    return lambda self, other: _outside(function(_operand(other), self._array))


def _in_place(function):
    def method(self, other):
        function(self._array, _operand(other))
        return self

    return method


def _unary(function):
    return lambda self: _outside(function(self._array))


def _scalar(convert):
    def method(self):
        _wait(convert.__name__)
        return convert(self._array)

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and or xor rshift".split():
    setattr(ndarray, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
    setattr(ndarray, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
    setattr(ndarray, f"__i{_name}__", _in_place(getattr(operator, f"__i{_name}__")))
for _name in "lt le eq ne ge gt".split():
    setattr(ndarray, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", _unary(getattr(operator, _name)))
for _convert in (bool, int, float, complex, operator.index):
    setattr(ndarray, f"__{_convert.__name__}__", _scalar(_convert))


class Generator:
    """CuPy's few distributions, with NumPy's streams: the same seed gives the same numbers as on
    the CPU.
    """

    def __init__(self, generator):
        self._generator = generator

    def __getattr__(self, name):
        _known(f"random.Generator.{name}")
        return Function(f"random.Generator.{name}", getattr(self._generator, name))


class Module(ModuleType):
    """cupy, cupy.linalg or cupy.random: the functions in NAMES, built from NumPy's."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}".removeprefix("cupy.")
        is_function = _known(path) is not None
        value = OWN.get(path) or operator.attrgetter(path)(np)
        return Function(path, value) if is_function else value


# Where NumPy has no such function, or one that does another thing.
OWN = {
    "is_available": lambda: True,
    "random.default_rng": lambda seed=None: Generator(np.random.default_rng(seed)),
    "take_along_axis": lambda a, indices, axis: np.take_along_axis(
        a, indices % a.shape[axis], axis
    ),
}


def asarray(a, dtype=None):
    """The bridge to the GPU: a NumPy array is copied, one of ours is not."""
    return ndarray(np.asarray(a._array, dtype) if isinstance(a, ndarray) else np.array(a, dtype))


cupy = Module("cupy")
cupy.ndarray, cupy.asarray = ndarray, asarray
cupy.linalg, cupy.random = Module("cupy.linalg"), Module("cupy.random")
