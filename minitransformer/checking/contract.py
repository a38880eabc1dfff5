"""The contract of a layer, checked directly: inputs stay unchanged, randomness is an argument,
gradients are added.

Each function raises a Breach whose sentence says what was observed. Nothing here is a guess.
"""

from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import is_same, size_of
from minitransformer.checking.subject import Breach, Subject, drawing, each, flat, leaves
from minitransformer.errors import InputError


def run_by_contract(subject: Subject, dy: Any = None) -> tuple[Any, Any, dict[str, Array]]:
    """(y, dy, {name: gradient}) of a Subject in float64 that keeps the contract; dy is drawn if
    None.
    """
    before = _values(subject)
    y, cache = subject.forward()
    _unchanged(subject, before, "forward")
    _finite_and_float64(y)
    again, other_cache = subject.forward()
    if not np.array_equal(flat(y), flat(again)):
        raise Breach(
            "forward draws its own random numbers, or keeps something between calls: called again "
            "with the same inputs and an equal generator, it returns a different result; draw only "
            "from the argument `rng`"
        )
    dy = subject.upstream(y, drawing(subject.seed, 1)) if dy is None else dy
    kept = arrays_in(cache)
    first = copied(subject.gradients(dy, cache))
    _unchanged(subject, before, "backward")
    changed = [name for name, array, copy in kept if not is_same(array, copy)]
    if changed:
        raise Breach(
            f"backward changes its cache in place ({changed[0]}): a second backward would see "
            "other values"
        )
    for name, gradient in first.items():
        if gradient.dtype != np.float64:
            raise Breach(
                f"the gradient of {name} is {gradient.dtype}, expected float64 as its array: "
                "the dtype was changed in backward"
            )
    _repeatable(subject, dy, cache, first)
    _stateless(subject, dy, y, other_cache, first)
    return y, dy, first


def _repeatable(subject: Subject, dy: Any, cache: Any, first: dict[str, Array]) -> None:
    """Repeated, backward must return the same gradients and add the same amounts again."""
    second = copied(subject.gradients(dy, cache))
    largest = max(map(size_of, first.values()))
    for name, gradient in first.items():
        is_added = name in subject.parameters
        expected = 2 * gradient if is_added else gradient
        if is_added and gradient.any() and np.array_equal(second[name], gradient):
            raise Breach(
                f"the gradient of {name} is assigned (=), not added (+=): after two calls of "
                "backward it equals that of one call, so a second use of the parameter overwrites "
                "the first"
            )
        if np.isfinite(gradient).all() and not _close(second[name], expected, largest):
            raise Breach(
                f"backward called a second time with the same cache gives a different gradient of "
                f"{name}{_why(subject, dy, cache, first, name)}"
            )


def _why(subject: Subject, dy: Any, cache: Any, first: dict[str, Array], name: str) -> str:
    """Why two calls of backward differ: the gradients accumulated so far, random numbers, or
    something kept between calls.
    """
    one, other = (_from_zero(subject, dy, cache) for _ in range(2))
    if all(_close(gradients[k], first[k]) for gradients in (one, other) for k in first):
        read = [
            but
            for but in subject.parameters
            if not _close(_from_zero(subject, dy, cache, but)[name] - (but == name), first[name])
        ]
        grads = " and ".join(f"{but}.grad" for but in read) or "parameter.grad"
        return (
            f" (d{name}) while {grads} holds the first one: backward reads what was accumulated "
            "there so far, but may only add to it"
        )
    if any(not _close(one[k], other[k]) for k in first):
        return (
            ": it is different in each call, so backward draws its own random numbers, or keeps "
            "something between calls"
        )
    return ": the first call changed something that backward needs"


def _stateless(subject: Subject, dy: Any, y: Any, cache: Any, first: dict[str, Array]) -> None:
    """Another forward in between must not change the result of backward: everything it needs is in
    the cache.
    """
    rng, given = drawing(4), dict(subject.arguments)
    for name in subject.inputs:  # another array: the block may have kept the given one
        subject.arguments[name] = given[name] * rng.uniform(-2, 2, given[name].shape)
    directions = {
        name: parameter.data * rng.uniform(-3, 1, parameter.shape)
        for name, parameter in subject.parameters.items()
        if not subject.inputs
    }
    try:
        elsewhere = subject.moved(directions, 1)
    except InputError:
        return  # it cannot run at other inputs: nothing to compare
    finally:
        subject.arguments.update(given)
    # if all else is 0, y is a bias, stored in float32
    parameters = [p.data.ravel() for p in subject.parameters.values()]
    own = ~np.isin(elsewhere, np.concatenate([flat(y), *parameters]))
    if any(g.any() for g in first.values()) and _has_single_precision(elsewhere[own]):
        raise Breach(
            "forward computes in float32 internally: its results for float64 inputs have only the "
            "precision of float32; a layer does not change its input's dtype"
        )
    for name, gradient in _from_zero(subject, dy, cache).items():
        if np.isfinite(first[name]).all() and not _close(gradient, first[name]):
            raise Breach(
                f"the gradient of {name} depends on a later forward: something is kept on self and "
                "not in the cache (or in a buffer that the next forward overwrites), so a layer "
                "that is used twice gets the wrong gradient"
            )


def _has_single_precision(numbers: Array) -> bool:
    """Whether all numbers fit float32 exactly, which happens by chance to one number in 2 ** 29."""
    some = numbers[numbers != np.round(numbers)]
    return some.size >= 4 and np.array_equal(some.astype(np.float32).astype(np.float64), some)


def _from_zero(subject: Subject, dy: Any, cache: Any, but: str = "") -> dict[str, Array]:
    """The gradients from backward when all accumulated ones are zero, except those of the parameter
    `but`, which are one.
    """
    subject.zero_grad()
    if but:
        subject.parameters[but].grad[...] = 1
    return copied(subject.gradients(dy, cache))


def _close(one: Array, other: Array, largest: float = 0.0) -> bool:
    floor = max(size_of(other) + 1, largest)
    return np.array_equal(one, other) or np.allclose(one, other, rtol=1e-9, atol=1e-12 * floor)


def check_finite(gradients: dict[str, Array]) -> None:
    """Raise Breach if one of {name: gradient} contains NaN or infinity."""
    for name, gradient in gradients.items():
        if not np.isfinite(gradient).all():
            index = tuple(map(int, np.argwhere(~np.isfinite(gradient))[0]))
            raise Breach(f"the gradient of {name} is NaN or infinite, first at {name}{list(index)}")


class AnotherDtype(Breach):
    """float32, the dtype of training, becomes another dtype."""


class TooLarge(Breach):
    """What float64 holds is infinite in float32."""


def check_single_precision(subject: Subject, dy: Any = None) -> None:
    """Raise AnotherDtype if forward or backward turns float32 into another dtype, and TooLarge if
    float32 cannot hold the numbers.
    """
    single = subject.astype(np.float32)
    y, cache = single.forward()
    _single("forward", [("output", one) for one in leaves(y)])
    dy = single.upstream(y, drawing(3)) if dy is None else each(np.float32, dy)
    gradients = single.gradients(dy, cache)
    _single("backward", [(f"gradient of {name}", one) for name, one in gradients.items()])


def _single(direction: str, arrays: list[tuple[str, Any]]) -> None:
    for name, array in arrays:
        dtype = np.asarray(array).dtype
        if dtype.kind in "fc" and dtype != np.float32:
            raise AnotherDtype(
                f"the {name} that {direction} returns is {dtype} for inputs of float32: a layer "
                "does not change its input's dtype (counts and scales are Python numbers, since "
                "float32 times np.float64 is float64)"
            )
        if not np.isfinite(array).all():
            raise TooLarge(
                f"the {name} that {direction} returns is finite in float64, but not in float32, "
                "the dtype of training"
            )


def in_complex(subject: Subject) -> Subject:
    """The Subject in complex128. Raises Breach if forward does not take complex numbers."""
    moving = subject.astype(np.complex128)
    try:
        with np.errstate(all="ignore"):
            moving.evaluate()
    except Breach as error:
        raise Breach(
            f"{error}; the complex step needs a forward that accepts complex numbers, so check it "
            'with methods=("central",)'
        ) from error
    return moving


def _values(subject: Subject) -> dict[str, Array]:
    given = {k: v for k, v in subject.arguments.items() if isinstance(v, np.ndarray)}
    return copied({**given, **subject.variables})


def _unchanged(subject: Subject, before: dict[str, Array], direction: str) -> None:
    for name, value in before.items():
        is_parameter = name in subject.parameters
        now = subject.parameters[name].data if is_parameter else subject.arguments[name]
        if not is_same(now, value):
            what = "parameter" if is_parameter else "input"
            raise Breach(
                f"{direction} changes its {what} {name} in place, but it belongs to the caller: "
                "work on a copy"
            )


def _finite_and_float64(y: Any) -> None:
    for one in map(np.asarray, leaves(y)):
        if one.dtype != np.float64:
            raise Breach(
                f"forward returns {one.dtype} for float64 inputs: a layer does not change its "
                "input's dtype"
            )
        if not np.isfinite(one).all():
            index = tuple(map(int, np.argwhere(~np.isfinite(one))[0]))
            value = "NaN" if np.isnan(one[index]) else "infinity"
            raise Breach(
                f"forward returns {value}, first at y{list(index)}: no gradient is defined there"
            )


def arrays_in(cache: Any, path: str = "cache") -> list[tuple[str, Array, Array]]:
    """[(name, array, a copy)] of the arrays in a cache, at any depth."""
    if isinstance(cache, np.ndarray):
        return [(path, cache, cache.copy())]
    if isinstance(cache, (tuple, list)):
        cache = dict(zip(getattr(cache, "_fields", range(len(cache))), cache))
    items = cache.items() if isinstance(cache, dict) else ()
    return [array for name, value in items for array in arrays_in(value, f"{path}.{name}")]


def copied(arrays: dict[str, Array]) -> dict[str, Array]:
    """{name: a copy of the array}."""
    return {name: np.array(array) for name, array in arrays.items()}
