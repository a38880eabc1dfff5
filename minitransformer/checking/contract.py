"""The contract of a layer, checked directly: inputs stay unchanged, randomness is an argument,
gradients are added.

Each function raises a Breach whose sentence says what was observed. Nothing here is a guess.
"""

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import Breach, CheckedBlock, drawing, flat
from minitransformer.checking.compare import is_same


def run_by_contract(checked, dy=None, seed=0) -> tuple[Array, Array, dict[str, Array]]:
    """(y, dy, {name: gradient}) of a CheckedBlock in float64 that keeps the contract; dy is drawn
    from `seed` if None.
    """
    before = _values(checked)
    y, cache = checked.forward()
    _unchanged(checked, before, "forward")
    _finite_and_float64(y)
    again, other_cache = checked.forward()
    if not np.array_equal(flat(y), flat(again)):
        raise Breach(
            "forward draws its own random numbers, or keeps something between calls: called again with the same "
            "inputs and an equal generator, it returns a different result; draw only from the argument `rng`"
        )
    dy = checked.upstream(y, drawing(seed, 1)) if dy is None else dy
    kept = arrays_in(cache)
    first = _copied(checked.gradients(dy, cache))
    _unchanged(checked, before, "backward")
    changed = [name for name, array, copy in kept if not is_same(array, copy)]
    if changed:
        raise Breach(
            f"backward changes its cache in place ({changed[0]}): a second backward would see other values"
        )
    for name, gradient in first.items():
        if gradient.dtype != np.float64:
            raise Breach(
                f"the gradient of {name} is {gradient.dtype}, expected float64 as its array: "
                "the dtype was changed in backward"
            )
    _repeatable(checked, dy, cache, first)
    _stateless(checked, dy, y, other_cache, first)
    return y, dy, first


def _repeatable(checked, dy, cache, first) -> None:
    """Repeated, backward must return the same gradients and add the same amounts again."""
    second = _copied(checked.gradients(dy, cache))
    for name, gradient in first.items():
        expected = 2 * gradient if name in checked.parameters else gradient
        if name in checked.parameters and gradient.any() and np.array_equal(second[name], gradient):
            raise Breach(
                f"the gradient of {name} is assigned (=), not added (+=): after two calls of backward it equals that of "
                "one call, so a second use of the parameter overwrites the first"
            )
        if np.isfinite(gradient).all() and not _close(second[name], expected):
            raise Breach(
                f"backward called a second time with the same cache gives a different gradient of {name}"
                f"{_why(checked, dy, cache, first, name)}"
            )


def _why(checked, dy, cache, first, name) -> str:
    """Why two calls of backward differ: the gradients accumulated so far, random numbers, or
    something kept between calls.
    """
    fresh = [_from_zero(checked, dy, cache) for _ in range(2)]
    if all(_close(gradients[one], first[one]) for gradients in fresh for one in first):
        read = [
            one
            for one in checked.parameters
            if not _close(
                _from_zero(checked, dy, cache, but=one)[name] - (one == name), first[name]
            )
        ]
        return (
            f" (d{name}) while {' and '.join(f'{one}.grad' for one in read) or 'parameter.grad'} holds the first one: backward "
            "reads what was accumulated there so far, but may only add to it"
        )
    again = any(not _close(fresh[0][one], fresh[1][one]) for one in first)
    return (
        ": it is different in each call, so backward draws its own random numbers, or keeps something between calls"
        if again
        else ": the first call changed something that backward needs"
    )


def check_finite(gradients) -> None:
    """Raise Breach if one of {name: gradient} contains NaN or infinity."""
    for name, gradient in gradients.items():
        if not np.isfinite(gradient).all():
            index = tuple(map(int, np.argwhere(~np.isfinite(gradient))[0]))
            raise Breach(f"the gradient of {name} is NaN or infinite, first at {name}{list(index)}")


class AnotherDtype(Breach):
    """float32, the dtype of training, becomes another dtype."""


def check_single_precision(block, inputs, make_rng, dy=None) -> None:
    """Raise AnotherDtype if forward or backward turns float32 into another dtype."""
    checked = CheckedBlock(block, inputs, np.float32, make_rng)
    y, cache = checked.forward()
    outputs = y if isinstance(y, tuple) else (y,)
    _single(
        "forward",
        {f"output {i}" if isinstance(y, tuple) else "output": one for i, one in enumerate(outputs)},
    )
    dy = checked.upstream(y, drawing(3)) if dy is None else dy
    dy = (
        tuple(one.astype(np.float32) for one in dy)
        if isinstance(dy, tuple)
        else np.asarray(dy, np.float32)
    )
    _single(
        "backward",
        {
            f"gradient of {name}": gradient
            for name, gradient in checked.gradients(dy, cache).items()
        },
    )


def _single(direction, arrays) -> None:
    for name, array in arrays.items():
        dtype = np.asarray(array).dtype
        if dtype.kind in "fc" and dtype != np.float32:
            raise AnotherDtype(
                f"the {name} that {direction} returns is {dtype} for inputs of float32: a layer does not change its "
                "input's dtype (counts and scales are Python numbers, since float32 times np.float64 is float64)"
            )


def _has_single_precision(numbers) -> bool:
    """Whether all numbers fit float32 exactly, which happens by chance to one number in 2 ** 29."""
    some = numbers[numbers != np.round(numbers)]
    return some.size >= 4 and np.array_equal(some.astype(np.float32).astype(np.float64), some)


def _from_zero(checked, dy, cache, but=None) -> dict[str, Array]:
    """The gradients from backward when all accumulated ones are zero, except those of the parameter
    `but`, which are one.
    """
    for name, parameter in checked.parameters.items():
        parameter.grad[...] = name == but
    return _copied(checked.gradients(dy, cache))


def _close(one, other) -> bool:
    return np.array_equal(one, other) or np.allclose(
        one, other, rtol=1e-9, atol=1e-12 * (np.abs(other).max(initial=0) + 1)
    )


def _stateless(checked, dy, y, cache, first) -> None:
    """Another forward in between must not change the result of backward: everything it needs is in
    the cache.
    """
    rng, given = drawing(4), dict(checked.arguments)
    saved = (
        {name: p.data.copy() for name, p in checked.parameters.items()}
        if not checked.inputs
        else {}
    )
    try:
        for name in checked.inputs:
            checked.arguments[name] = given[name] * rng.uniform(-2, 2, given[name].shape)
        for name, value in saved.items():
            checked.parameters[name].data[...] *= rng.uniform(-2, 2, value.shape)
        elsewhere = flat(checked.forward()[0])
    except Breach:
        return  # it cannot run at other inputs: nothing to compare
    finally:
        checked.arguments.update(given)
        for name, value in saved.items():
            checked.parameters[name].data[...] = value
    parameters = [
        p.data.ravel() for p in checked.parameters.values()
    ]  # if all else is 0, y is a bias, stored in float32
    if _has_single_precision(
        elsewhere[~np.isin(elsewhere, np.concatenate([flat(y), *parameters]))]
    ):
        raise Breach(
            "forward computes in float32 internally: its results for float64 inputs have only the precision of "
            "float32; a layer does not change its input's dtype"
        )
    for name, gradient in _from_zero(checked, dy, cache).items():
        if np.isfinite(first[name]).all() and not _close(gradient, first[name]):
            raise Breach(
                f"the gradient of {name} depends on a later forward: something is kept on self and not in the cache (or "
                "in a buffer that the next forward overwrites), so a layer that is used twice gets the wrong gradient"
            )


def complex_evaluation(block, inputs, make_rng) -> CheckedBlock:
    """The CheckedBlock in complex128. Raises Breach if forward does not take complex numbers."""
    exact = CheckedBlock(block, inputs, np.complex128, make_rng)
    try:
        with np.errstate(all="ignore"):
            exact.evaluate()
    except Breach as error:
        raise Breach(
            f"{error}; the complex step needs a forward that accepts complex numbers, so check it with "
            'methods=("central",)'
        ) from error
    return exact


def _values(checked) -> dict[str, Array]:
    return {
        **{k: v.copy() for k, v in checked.arguments.items() if isinstance(v, np.ndarray)},
        **{k: p.data.copy() for k, p in checked.parameters.items()},
    }


def _unchanged(checked, before, direction) -> None:
    for name, value in before.items():
        now = (
            checked.parameters[name].data if name in checked.parameters else checked.arguments[name]
        )
        if not is_same(now, value):
            what = "parameter" if name in checked.parameters else "input"
            raise Breach(
                f"{direction} changes its {what} {name} in place, but it belongs to the caller: work on a copy"
            )


def _finite_and_float64(y) -> None:
    for one in y if isinstance(y, tuple) else (y,):
        one = np.asarray(one)
        if one.dtype != np.float64:
            raise Breach(
                f"forward returns {one.dtype} for float64 inputs: a layer does not change its input's dtype"
            )
        if not np.isfinite(one).all():
            index = tuple(map(int, np.argwhere(~np.isfinite(one))[0]))
            value = "NaN" if np.isnan(one[index]) else "infinity"
            raise Breach(
                f"forward returns {value}, first at y{list(index)}: no gradient is defined there"
            )


def arrays_in(cache, path="cache") -> list[tuple[str, Array, Array]]:
    """[(name, array, a copy)] of the arrays in a cache, at any depth."""
    if isinstance(cache, np.ndarray):
        return [(path, cache, cache.copy())]
    if isinstance(cache, (tuple, list)):
        cache = dict(zip(getattr(cache, "_fields", range(len(cache))), cache))
    items = cache.items() if isinstance(cache, dict) else ()
    return [array for name, value in items for array in arrays_in(value, f"{path}.{name}")]


def _copied(gradients) -> dict[str, Array]:
    return {name: np.array(gradient) for name, gradient in gradients.items()}
