"""The stand-in is strict: it refuses what CuPy refuses, and records what makes CuPy wait."""

import operator

import numpy as np
import pytest

from minitransformer import backend
from tests.library.gpu import strict
from tests.library.gpu.strict import cupy


@pytest.fixture
def x():
    return cupy.asarray(np.array([3.0, 1.0, 2.0], np.float32))


HOST = np.ones(3, np.float32)

REFUSED = {
    "where= in a reduction": (
        lambda x: x.sum(where=x > 0),
        TypeError,
        "unexpected keyword argument 'where'",
    ),
    "where= in a ufunc": (
        lambda x: cupy.exp(x, where=x > 0),
        TypeError,
        "unexpected keyword argument 'where'",
    ),
    "errstate": (
        lambda x: cupy.errstate(all="ignore"),
        AttributeError,
        "CuPy 14.* has no errstate",
    ),
    "reduceat of maximum": (
        lambda x: cupy.maximum.reduceat(x, x),
        AttributeError,
        "has no maximum.reduceat",
    ),
    "a method": (lambda x: x.searchsort(x), AttributeError, "has no ndarray.searchsort"),
    "setting the shape": (lambda x: setattr(x, "shape", (1, 3)), AttributeError, "shape"),
    "__array__": (np.asarray, TypeError, "implicit conversion"),
    "a NumPy ufunc": (np.exp, TypeError, "does not support ufuncs"),
    "a NumPy function": (
        lambda x: np.concatenate([x, x]),
        TypeError,
        "numpy.concatenate was given a CuPy array",
    ),
    "a NumPy array in a function": (lambda x: cupy.exp(HOST), TypeError, "was given a NumPy array"),
    "a NumPy array in a list": (
        lambda x: cupy.concatenate([x, HOST]),
        TypeError,
        "was given a NumPy array",
    ),
    "a NumPy array in a keyword": (
        lambda x: cupy.exp(x, out=HOST.copy()),
        TypeError,
        "was given a NumPy array",
    ),
    "a NumPy array as index": (
        lambda x: x[np.array([0])],
        TypeError,
        "an index is a numpy.ndarray",
    ),
    "a NumPy array assigned": (lambda x: operator.setitem(x, ..., HOST), TypeError, "do not mix"),
    "a place assigned twice": (
        lambda x: operator.setitem(x, cupy.asarray([0, 1, 0]), x),
        IndexError,
        "two values",
    ),
    "the same place by wrapping": (
        lambda x: operator.setitem(x, cupy.asarray([0, 3]), 1),
        IndexError,
        "two values",
    ),
    "add.at": (lambda x: cupy.add.at(x, cupy.asarray([0, 1]), 1), TypeError, "adds in any order"),
    "normal": (
        lambda x: cupy.random.default_rng(0).normal(),
        AttributeError,
        "has no random.Generator.normal",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(x, what):
    work, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        work(x)


@pytest.mark.parametrize("other", [HOST, np.array(2.0), [1, 2, 3], None])
@pytest.mark.parametrize("name", "add sub mul truediv matmul lt eq iadd imul".split())
def test_what_does_not_mix(x, name, other):
    function = getattr(operator, name)
    with pytest.raises(TypeError):
        function(x, other)
    with pytest.raises(TypeError):
        function(other, x)


WAITS = {
    "float": (lambda x: float(x[0]), 3.0),
    "int": (lambda x: int(x[0]), 3),
    "bool": (lambda x: bool(x[0]), True),
    "index": (lambda x: [5, 6, 7][x.argmax()], 5),
    "ndarray.item": (lambda x: x[1].item(), 1.0),
    "ndarray.tolist": (lambda x: x.tolist(), [3, 1, 2]),
    "get": (lambda x: x.get().sum(), 6),
    "iteration": (lambda x: len(list(x)), 3),
    "printing": (lambda x: f"{x[0]}"[:5], "cupy "),
    "flatnonzero": (lambda x: len(cupy.flatnonzero(x > 1)), 2),
    "unique": (lambda x: len(cupy.unique(x)), 3),
    "nonzero": (lambda x: len(cupy.nonzero(x)), 1),
    "ndarray.nonzero": (lambda x: len(x.nonzero()), 1),
    "where": (lambda x: len(cupy.where(x)), 1),
    "boolean index": (lambda x: len(x[x > 1]), 2),
}


@pytest.mark.parametrize("what", WAITS)
def test_waits_are_noted(x, what):
    work, expected = WAITS[what]
    strict.waits.clear()
    assert work(x) == expected
    assert [wait.partition(" (test_strict.py, line ")[0] for wait in strict.waits] == [what]


def test_all_else_does_not_wait(x):
    strict.waits.clear()
    y = cupy.where(x > 1, x[::-1], -cupy.inf)[None, :1] @ x[:1, None] + x.max()
    x[1:] += y[0].astype("float32")
    x[cupy.asarray([2, 0])] *= 2
    assert len(x) == x.size == 3 and y.shape == (1, 1)
    assert strict.waits == []


def test_reductions_and_elements_are_arrays(x):
    for value in (
        x.sum(),
        x.max(axis=0),
        x[0],
        x @ x,
        cupy.sqrt(x[1]),
        cupy.random.default_rng(0).integers(5),
    ):
        assert type(value) is cupy.ndarray and value.shape == ()


@pytest.mark.parametrize(
    "scalar, dtype",
    [(2, "float32"), (2.0, "float32"), (np.float32(2), "float32"), (np.float64(2), "float64")],
)
def test_scalars_mix_and_keep_their_type(x, scalar, dtype):
    for result in (x * scalar, scalar * x, scalar - x, x / scalar):
        assert type(result) is cupy.ndarray and result.dtype == dtype


def test_indices_wrap_around(x):
    assert x[cupy.asarray([3, 4, -1])].tolist() == [3, 1, 2]
    assert cupy.take_along_axis(x, cupy.asarray([5]), axis=0).tolist() == [2]
    x[cupy.asarray([4])] = 7
    assert x[None, cupy.asarray([1])].tolist() == [[7]]


def test_views_are_views_and_the_bridges_copy():
    host = np.zeros((2, 3))
    x = cupy.asarray(host)
    x[0][...] = 1
    x[1, 2][...] = 2
    x.reshape(-1)[3:4] += 3
    assert x.tolist() == [[1, 1, 1], [3, 0, 2]] and not host.any()
    x.get()[...] = 9
    assert x.sum().item() == 8
    assert cupy.asarray(x).tolist() == x.tolist()


def test_the_same_seed_gives_numpys_numbers():
    one, other = (
        backend.generator(xp, 3, 4).integers(0, 256, size=(2, 3), dtype="uint8")
        for xp in (cupy, np)
    )
    np.testing.assert_array_equal(one.get(), other)
    assert one.dtype == other.dtype


def test_the_audit_sees_what_is_called(x):
    strict.used.clear()
    x.sum(axis=0)
    cupy.linalg.norm(x)
    cupy.add.reduceat(x, cupy.asarray([0, 2]))
    assert strict.used == {"ndarray.sum", "linalg.norm", "add.reduceat"}


def test_the_list_is_that_of_the_cupy_installed_here():
    real = pytest.importorskip(
        "cupy", reason="CuPy is not installed: its names cannot be listed anew"
    )
    from tests.library.gpu.list_cupy_names import names

    if f"CuPy {real.__version__}" != strict.VERSION:
        pytest.skip(f"the list is of {strict.VERSION}, here is {real.__version__}")
    assert names(real).keys() == strict.NAMES.keys()
