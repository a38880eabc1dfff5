"""Checks of a layer's arguments: a shape, token ids, a generator, a cache, a configuration."""

import math
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

from minitransformer.backend import Array, Generator
from minitransformer.errors import InputError, span


MOST = 2**31 - 1  # of a size


def check_kind(right: bool, name: str, value: Any, expected: str) -> None:
    """Raise InputError unless `value` is of the right kind: what it is, and what is `expected`."""
    if not right:
        raise InputError(f"{name} is a {type(value).__name__}, expected {expected}")


def check_shape(name: str, array: Any, *expected: Any) -> None:
    """Raise InputError unless `array` has the `expected` shape.

    An int stands for an axis of that size, a string names an axis of any size, and a leading
    `...` stands for any number of axes: `check_shape("Linear: x", x, ..., 512)`.
    """
    shape = getattr(array, "shape", None)
    if shape == expected or (shape is not None and _fits(shape, expected)):
        kind = getattr(getattr(array, "dtype", None), "kind", None)
        if kind == "O":
            raise InputError(f"{name} has dtype object, expected real numbers such as float32")
        if kind is None:  # another library's
            given = f"{type(array).__module__}.{type(array).__name__}"
            raise InputError(
                f"{name} is a {given}, expected a NumPy or CuPy array, such as np.asarray(...)"
            )
        return
    # only now: it takes time
    wanted = ", ".join("..." if size is ... else str(size) for size in expected)
    if shape is None:
        hint = ": forward returns a pair, y, cache = ..." if isinstance(array, tuple) else ""
        raise InputError(
            f"{name} is a {type(array).__name__}, expected an array of shape ({wanted}){hint}"
        )
    raise InputError(f"{name} has shape {shape}, expected ({wanted})")


def _fits(shape: tuple[int, ...], expected: tuple) -> bool:
    if expected[:1] == (...,):
        expected = expected[1:]
        shape = shape[len(shape) - len(expected) :] if len(shape) >= len(expected) else ()
    return len(shape) == len(expected) and all(
        size == got or isinstance(size, str) for size, got in zip(expected, shape)
    )


def check_floats(name: str, array: Any, *expected: Any) -> None:
    """Raise InputError unless `array` has the `expected` shape and contains floats: NumPy would
    turn integers into float64, and float16 into the parameters' float32.
    """
    check_shape(name, array, *expected)
    if array.dtype.char not in "fdD":  # float32, float64, and complex128 for the complex step
        raise InputError(f"{name} has dtype {array.dtype}, expected real numbers such as float32")


def check_sequence(name: str, array: Any, *expected: Any) -> None:
    """`check_floats` of an `array` (B, T, ...), which must have positions; an empty batch, B = 0,
    is allowed.
    """
    check_floats(name, array, *expected)
    if not array.shape[1]:
        raise InputError(f"{name} has no positions, expected at least one")


def check_mask(name: str, mask: Any, axes: str, shape: tuple[int, ...]) -> None:
    """Raise InputError unless `mask` is None, or bool and of `shape`, whose axes are named as in
    "(B, H, T_q, T_k)".

    Either it has the shape of the last two axes, or as many axes as `shape`, to which it
    broadcasts. With any other number of axes, a mask of sentences would be one of heads or of
    queries whenever there happen to be as many of them.
    """
    if mask is None:
        return
    dtype = getattr(mask, "dtype", type(mask).__name__)
    if dtype != bool:  # noqa: E721 - a dtype
        raise InputError(f"{name}: mask has dtype {dtype}, expected bool (True = may attend)")
    broadcasts = len(mask.shape) == len(shape) and _broadcasts(mask.shape, shape)
    if not broadcasts and mask.shape != shape[-2:]:
        shown = ", mask[:, None] for one of (B, T_q, T_k)" if len(shape) == 4 else ""
        raise InputError(
            f"{name}: mask has shape {mask.shape}, expected {shape[-2:]} or {len(shape)} axes that broadcast to "
            f"{axes} = {shape}: mask[:, {'None, ' * (len(shape) - 3)}None, :] for one of (B, T_k){shown}"
        )


def check_broadcasts(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Raise InputError unless NumPy would repeat `array` along some axes to get `shape`."""
    if len(array.shape) > len(shape) or not _broadcasts(array.shape, shape):
        raise InputError(f"{name} has shape {array.shape}, expected one that broadcasts to {shape}")


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return all(one in (1, size) for one, size in zip(reversed(shape), reversed(wanted)))


def check_ids(name: str, ids: Any, size: int) -> None:
    """Raise InputError unless every id in `ids` is in 0 .. size-1.

    Token ids stay on the host, wherever the model is: checking them on a GPU would have to wait for
    it, and without a check, an id out of range would silently wrap around.
    """
    if not isinstance(ids, np.ndarray):
        raise InputError(
            f"{name} is a {type(ids).__module__}.{type(ids).__name__}, expected a NumPy array: "
            "token ids stay on the host"
        )
    if ids.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {ids.dtype}, expected an array of integer token ids")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        wrong = ids[(ids < 0) | (ids >= size)][0]
        raise InputError(f"{name} contains the token id {wrong}, expected {span(0, size - 1)}")


def is_integer(value: Any, least: int) -> bool:
    """Whether `value` is a whole number of at least `least`; True and False do not count."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def check_integer(name: str, value: Any, least: int = 1, most: float = math.inf) -> None:
    """Raise InputError unless `value` is a whole number from `least` to `most`."""
    if not is_integer(value, least) or value > most:
        limits = f"of at least {least}" if most == math.inf else f"from {least} to {most:,}"
        wanted = least if least == most else f"a whole number {limits}"
        raise InputError(f"{name} is {value!r}, expected {wanted}")


def is_number(value: Any, least: float) -> bool:
    """Whether `value` is a real number of at least `least`; NaN is not."""
    return isinstance(value, Real) and value >= least  # type: ignore[operator]


def check_fraction(name: str, value: Any) -> None:
    """Raise InputError unless `value` is a number of at least 0 and below 1."""
    if not is_number(value, 0) or not value < 1:
        raise InputError(f"{name} is {value!r}, expected a number of at least 0 and below 1")


def check_model(model: Any, config: Any, seed: Any) -> None:
    """Raise InputError unless `config` is a configuration of that kind of model, and `seed` a seed."""
    check_kind(isinstance(config, model.Config), "config", config, f"a {model.Config.__name__}")
    check_integer("seed", seed, 0)


def check_rng(rng: Any) -> Generator:
    """Return `rng`. Raise InputError unless it is a random generator of NumPy or CuPy."""
    if not hasattr(rng, "integers"):
        example = rng if isinstance(rng, int) else 0
        raise InputError(
            f"rng is {rng!r}, expected a generator, such as np.random.default_rng({example})"
        )
    return rng


def check_cache(layer: Any, cache: Any, kind: type) -> None:
    """Raise InputError unless `cache` is a `kind`, the NamedTuple that the layer's forward returns."""
    if not isinstance(cache, kind):
        raise InputError(
            f"{type(layer).__name__}.backward: the cache is a {type(cache).__name__}, expected the {kind.__name__} "
            "that forward returned: y, cache = layer.forward(...), then layer.backward(dy, cache)"
        )


def check_cache_of(name: str, cache: Any, kind: type) -> None:
    """Raise InputError unless `cache` is the `kind` that the textbook's forward returns: a kernel's
    may be another.
    """
    if not isinstance(cache, kind):
        raise InputError(
            f"{name}: the cache is a {type(cache).__name__}, expected a {kind.__name__}: keep a forward and its "
            "backward inside one `with fast():` or one `with plugged(...):`"
        )


def check_dloss(dloss: Any) -> None:
    """Raise InputError unless the gradient of a loss is one number: Python's, or an array with no
    dimensions.
    """
    kind = getattr(getattr(dloss, "dtype", None), "kind", "f")
    if (
        isinstance(dloss, bool)
        or kind not in "fciu"
        or not (isinstance(dloss, Number) or getattr(dloss, "shape", None) == ())
    ):
        raise InputError(f"dloss is {dloss!r:.60}, expected one number, such as 1 / batch.terms")
