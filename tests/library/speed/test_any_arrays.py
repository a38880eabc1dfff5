"""Whatever arrays it is given, of any dtype and order in memory: a kernel returns what its textbook
does, or both refuse them.
"""

from contextlib import nullcontext

import numpy as np
import pytest

from minitransformer import InputError, functional as F
from minitransformer.decoding.cached_layer import CachedLayer, CachedSelfAttention, next_position
from minitransformer.decoding.continuations import OutputWeight, continuations, log_normaliser
from minitransformer.layers import Embedding, EncoderLayer, Residual, StackConfig
from minitransformer.dispatch import TABLE
from minitransformer.zoo.modern.grouped_past import CachedGroupedAttention, next_grouped_position
from tests.helpers.kernels import INPUTS, cast, loss_of, needs_numba, textbook

pytestmark = needs_numba
B, H, T, K, D, V = 2, 3, 4, 5, 6, 9


class Arrays:
    """Random arrays of one dtype."""

    def __init__(self, dtype):
        self.rng, self.dtype = np.random.default_rng(0), dtype

    def __call__(self, *shape):
        return (self.rng.standard_normal(shape) * 2).astype(self.dtype)

    def flags(self, *shape):
        return self.rng.random(shape) < 0.7


def generator():
    return np.random.default_rng(7)


def upstream(y):
    return np.random.default_rng(1).standard_normal(y.shape).astype(y.dtype)


def inputs_of(operation, dtype):
    """What test_kernels.py gives this operation, with dropout and a mask."""
    inputs, a = (
        cast(INPUTS[operation](np.random.default_rng(0), B, H, T, K, D), dtype),
        Arrays(dtype),
    )
    if "mask" in inputs:
        inputs["mask"] = a.flags(B, 1, T, K)
    return {
        **inputs,
        **({"dropout_rate": 0.3, "rng": generator()} if "dropout_rate" in inputs else {}),
    }


def of_operation(operation, dtype):
    """Calls of its forward with all its arrays, and of its backward with the gradient."""
    forward, backward = getattr(F, f"{operation}_forward"), getattr(F, f"{operation}_backward")

    def forward_case():
        inputs = inputs_of(operation, dtype)
        names = [name for name, value in inputs.items() if isinstance(value, np.ndarray)]
        return lambda *arrays: forward(**{**inputs, **dict(zip(names, arrays))}), tuple(
            map(inputs.get, names)
        )

    def backward_case():
        y, cache = forward(**inputs_of(operation, dtype))
        return lambda dy: backward(dy, cache), (upstream(y),)

    return {forward.__name__: forward_case, backward.__name__: backward_case}


def cases(dtype):
    """{name of a replaceable function with kernels: function that returns a call and its arrays}."""
    a = Arrays(dtype)
    embedding = Embedding(V, D, a.rng).astype(dtype)
    stack = StackConfig(num_layers=1, d_model=D, num_heads=H, d_ff=5)
    layer = EncoderLayer(stack, a.rng).astype(dtype)
    residual = Residual(D, 0.3).astype(dtype)
    ids = a.rng.integers(0, V, (B, T))

    def gathered(grad, other):
        return F.gather_gradients(grad, [other]), grad, other

    def embedded(dy):
        embedding.zero_grad()
        embedding.backward(dy, embedding.forward(ids)[1])
        return embedding.weight.grad

    def adam(*vectors):
        return (F.adam_update(*vectors, 3, 0.1, 0.5, 0.9, 0.98, 1e-9, np.bool_(True)), *vectors)

    grouped = EncoderLayer(
        StackConfig(
            num_layers=1,
            d_model=D,
            num_heads=H,
            d_ff=5,
            norm="rms",
            positions="rotary",
            attention="grouped",
            attention_settings={"kv_heads": 1},
            activation="swiglu",
            pre_norm=True,
        ),
        a.rng,
    ).astype(dtype)

    def cached(x, kept=CachedSelfAttention, layer=layer, function=next_position):
        state = CachedLayer(kept, layer, B)
        state.self_attention.make_room(np.zeros((B, 0), int), 8)
        state.self_attention.positions = np.array([3])
        return function(x, state, np.ones((B, 1, 1, 1), bool))

    return {
        **{
            name: case
            for operation in INPUTS
            for name, case in of_operation(operation, dtype).items()
        },
        **dict.fromkeys(
            ("LinearCrossEntropy.forward", "LinearCrossEntropy.backward"),
            lambda: (
                lambda weight, x: tuple(loss_of(weight, x, ids, 0.1, None)),
                (a(V, D), a(B, T, D)),
            ),
        ),
        "Residual.forward": lambda: (
            lambda x, h: residual.forward(x, h, generator())[0],
            (a(B, T, D), a(B, T, D)),
        ),
        "random_words": lambda: (lambda key: F.random_words(key, 20), (np.array([7], "uint64"),)),
        "gather_gradients": lambda: (gathered, (a(D), a(D))),
        "adam_update": lambda: (adam, (a(D), a(D), a(D), abs(a(D)))),
        "Embedding.backward": lambda: (embedded, (a(B, T, D),)),
        "continuations": lambda: (
            lambda x, weight, sums: continuations(x, OutputWeight(weight), sums, 3),
            (a(B, T, D), a(V, D), a(B, T).astype(float)),
        ),
        "log_normaliser": lambda: (lambda logits: log_normaliser(logits.copy()), (a(T, V),)),
        "next_position": lambda: (cached, (a(B, 1, D),)),
        "next_grouped_position": lambda: (
            lambda x: cached(x, CachedGroupedAttention, grouped, next_grouped_position),
            (a(B, 1, D),),
        ),
    }


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def unaligned(array):
    return np.frombuffer(bytearray(b"x" + array.tobytes()), array.dtype, offset=1).reshape(
        array.shape
    )


DTYPES = (
    "float16",
    "float32",
    "float64",
    "int64",
    "uint8",
    "bool",
    "object",
    "complex128",
    ">f4",
    "longdouble",
)
ORDERS = {
    "C": np.array,
    "F": np.asfortranarray,
    "strided": strided,
    "backwards": lambda array: array[::-1].copy()[::-1],
    "transposed": lambda array: array.T.copy().T,
    "read-only": read_only,
    "unaligned": unaligned,
}
CHANGES = {**{dtype: lambda array, dtype=dtype: array.astype(dtype) for dtype in DTYPES}, **ORDERS}
# What only decoding calls: no complex step takes this way.
REAL = ("continuations", "log_normaliser", "next_position", "next_grouped_position")
PRECISION = {"float16": 2e-3, "float32": 2e-5, "complex64": 2e-5, ">f4": 2e-5}


def test_every_kernel_has_a_case():
    with_kernels = {name for name, entry in TABLE.items() if entry.kernels}
    assert with_kernels <= set(cases("float32"))


def outcome(call, arrays):
    """The arrays that a call returns (a cache is its function's own affair), or the error with
    which it refused.
    """
    try:
        with np.errstate(all="ignore"):
            result = call(*arrays)
    except (ValueError, TypeError, AttributeError) as error:
        return error
    found = []
    for one in result if type(result) is tuple else (result,):
        if one is not None and not hasattr(one, "_fields"):
            found.append(np.asarray(one))
    return found


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("name", cases("float32"))
def test_any_arrays(name, dtype):
    _, arrays = cases(dtype)[name]()
    for change in CHANGES:
        for place in (*range(len(arrays)), "all"):
            if change != "complex128" or name not in REAL:
                check(name, dtype, change, place)


def check(name, dtype, change, place):
    """The same call with an array, or all of them, changed: what runs gives what the textbook
    gives, or an InputError.
    """

    def result():
        call, arrays = cases(dtype)[name]()
        return outcome(
            call,
            [
                CHANGES[change](array)
                if place in (i, "all") and (change in ORDERS or array.dtype.kind == "f")
                else array.copy()
                for i, array in enumerate(arrays)
            ],
        )

    found = result()
    with textbook():
        expected = result()
    if isinstance(found, InputError) or (
        isinstance(found, Exception) and isinstance(expected, Exception)
    ):
        return
    what = f"{change} of {place}"
    assert isinstance(found, list) and isinstance(expected, list), (what, found, expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), what
        if one.dtype != object:
            tolerance = max(PRECISION.get(change, 0), PRECISION.get(dtype, 1e-12)) * max(
                1, abs(other).max(initial=0)
            )
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance, err_msg=what)


def with_odd_arrays(cache, change):
    """The cache with change(array) in place of each array in it, however deep."""
    if isinstance(cache, tuple):
        made = [with_odd_arrays(one, change) for one in cache]
        return type(cache)(*made) if hasattr(cache, "_fields") else tuple(made)
    return change(cache) if isinstance(cache, np.ndarray) and cache.ndim else cache


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("change", [*ORDERS, "big-endian"])
@pytest.mark.parametrize("operation", INPUTS)
def test_odd_arrays_deep_in_a_cache(operation, change, dtype):
    forward, backward = getattr(F, f"{operation}_forward"), getattr(F, f"{operation}_backward")
    y, cache = forward(**inputs_of(operation, dtype))
    dy = upstream(y)
    odd = ORDERS.get(change, lambda array: array.astype(array.dtype.newbyteorder(">")))
    expected, found = (
        outcome(lambda dy, cache=one: backward(dy, cache), (dy,))
        for one in (cache, with_odd_arrays(cache, odd))
    )
    if not isinstance(found, InputError):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one, other, rtol=0, atol=PRECISION.get(dtype, 1e-12) * max(1, abs(other).max())
            )


@pytest.mark.parametrize("shapes", [((0, D), (K, D), (K, 7)), ((T, D), (K, D), (K, 0))])
def test_empty_arrays_are_the_textbooks(shapes):
    query, key, value = (np.ones((B, H, *shape), "float32") for shape in shapes)
    y, cache = F.attention_forward(query, key, value)
    assert y.shape == (B, H, shapes[0][0], shapes[2][1])
    assert [one.shape for one in F.attention_backward(y, cache)] == [
        query.shape,
        key.shape,
        value.shape,
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_ids_in_any_order(order):
    """Their gradients are in the order in which they are read, whatever it is in memory."""
    ids = np.random.default_rng(0).integers(0, V, (B, T))
    gradients = []
    for one, context in (ORDERS[order](ids), nullcontext()), (ids, textbook()):
        layer = Embedding(V, D, np.random.default_rng(0))
        with context:
            y, cache = layer.forward(one)
            layer.backward(upstream(y), cache)
        gradients.append(layer.weight.grad)
    np.testing.assert_allclose(*gradients, rtol=0, atol=1e-5)
