"""Which backwards a composite calls, and with what: it skips a part, calls one twice, or gives one a wrong gradient or cache.

Each of these mistakes is made in the counterpart, in one part after another, and compared with the composite's actual result.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.case import EXPLAINED, largest_error
from minitransformer.diagnosis.factors import named_factors, ratio
from minitransformer.diagnosis.recorder import Call, record
from minitransformer.layers import Layer
from minitransformer.layers.hooks import hooked

FACTORS = {
    "is zero: it is missing": 0, "is counted twice (doubled)": 2, "has the wrong sign (negative)": -1,
    "is halved (divided by 2)": 0.5}


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] of the one mistake that a composite of layers makes with one of its parts, in every case."""
    if not isinstance(cases[0].block, Layer):
        return []
    parts, called = _parts(cases[0].counterpart.calls()), _times_called(cases[0])
    explained, seen = [], []    # `seen`: what a part was actually given, which needs no other explanation
    unusual = [path for path in parts if called[path] != 1]    # if there are any, they are the mistake
    for path in unusual or parts:
        call = parts[path]
        if called[path] == 1:
            ways = *_ways(path, cases[0]), *_mixed_up(path, call, parts), *_scaled_upstream(cases, path)
        else:
            ways = tuple(_called_twice_ways(path) if called[path] else _not_called_ways(path))
        for sentence, instead in ways:
            error = largest_error(cases, lambda case: case.error(
                case.counterpart.gradients(case.dy, partial(_replacing, path, instead))))
            if error <= EXPLAINED:
                (seen if isinstance(instead, _Scaled) else explained).append((sentence, error))
    return seen or explained


def _parts(calls) -> dict[str, Call]:
    """{path: Call} of the layers that a backward calls directly."""
    return {call.path: call for call in calls if isinstance(call.block, Layer) and call.path}


def _replacing(path, instead, stack, layer) -> None:
    """Run `instead(method, dy, cache)` in place of the part's backward; `seen` holds what it needs from other calls."""
    seen = {}

    def look(at, direction, method, *values, **options) -> Any:
        if direction == "backward" and at == path:
            return instead(method, *values, seen)
        returned = method(*values, **options)
        if direction == "forward":
            seen[at] = method.__self__, returned[1]
        return returned

    stack.enter_context(hooked(layer, look))


def _times_called(case) -> Counter:
    """How often the block calls each part's backward."""
    counts = Counter()

    def count(path, direction, method, *values, **options) -> Any:
        counts[path] += direction == "backward"
        return method(*values, **options)

    with hooked(case.checked.layer, count):
        _, cache = case.checked.forward()
        case.checked.gradients(case.dy, cache)
    return counts


def _not_called_ways(path) -> Iterator[tuple[str, Callable]]:
    yield (f"the backward of {path} is not called (skipped): the gradient that it should receive is passed on as it is, without "
           f"the derivative of {path}", _unchanged)
    yield f"the backward of {path} is not called (skipped): the gradient that it should return is missing (zero)", _not_called


def _called_twice_ways(path) -> Iterator[tuple[str, Callable]]:
    yield f"the backward of {path} is called twice: it adds to its gradients two times (doubled)", _called_twice
    yield (f"the backward of {path} is applied twice in a row, the second time to its own result",
           lambda method, dy, cache, seen: method(method(dy, cache), cache))


def _ways(path, case) -> Iterator[tuple[str, Callable]]:
    """(sentence, instead) of the mistakes that are possible with a part that is called once, as it should be."""
    yield (f"the gradient that the backward of {path} returns is not used (it is lost): {_receivers(case, path)} gets the dy that "
           f"{path} received, without the derivative of {path}", _ignored)
    yield (f"dy is added to the gradient that {path} returns, as if there were a residual path (skip connection) around {path}",
           lambda method, dy, cache, seen: method(dy, cache) + dy)
    for what, factor in FACTORS.items():
        yield (f"the gradient returned by {path} {what}",
               lambda method, dy, cache, seen, factor=factor: _times(method(dy, cache), factor))
        for i, which in enumerate(("first", "second", "third")):
            yield (f"the {which} of the gradients returned by {path} {what}",
                   lambda method, dy, cache, seen, i=i, factor=factor: _one_times(method(dy, cache), i, factor))


def _receivers(case, path) -> str:
    """The parts that actually received what `path` received, in words."""
    parts = _received(case)
    same = [other for other, call in parts.items() if path in parts and other != path and _equal(call.dy, parts[path].dy)]
    return " and ".join(same) or "what comes before it"


def _received(case) -> dict[str, Call]:
    """{path: Call} of the backwards that the block calls directly."""
    return _parts(record(case.checked, case.dy).backward.parts)


def _equal(one, other) -> bool:
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)


def _mixed_up(path, call, parts) -> Iterator[tuple[str, Callable]]:
    """Another part's cache, or another part in its place."""
    for other in parts:
        if other != path and type(parts[other].block) is type(call.block):
            yield (f"the backward of {path} is given the cache of {other} (the wrong one)",
                   lambda method, dy, cache, seen, other=other: method(dy, seen[other][1]))
            yield (f"the gradient of {path} goes through {other} (the wrong layer)",
                   lambda method, dy, cache, seen, other=other: type(seen[other][0]).backward(seen[other][0], dy, cache))


def _scaled_upstream(cases, path) -> Iterator[tuple[str, Callable]]:
    """A factor between the gradient that the part was given and the one it should get."""
    ratios: list[Any] = []
    for case in cases:
        got, expected = _received(case).get(path), _parts(case.counterpart.calls()).get(path)
        if got is None or expected is None or isinstance(got.dy, tuple) or got.dy.shape != expected.dy.shape:
            return
        ratios.append(ratio({"dy": got.dy}, {"dy": expected.dy}))
    if None in ratios or all(abs(r - 1) < 1e-9 for r in ratios):
        return
    for sentence in named_factors(cases, ratios):
        yield f"the gradient handed to {path} {sentence}", _Scaled(ratios)


class _Scaled:
    """Passes on dy times the factor of the current case; the cases run in turn."""

    def __init__(self, factors):
        self.turns, self.turn = factors, 0

    def __call__(self, method, dy, cache, seen) -> Array | tuple | None:
        factor = self.turns[self.turn % len(self.turns)]
        self.turn += 1
        return method(factor * dy, cache)


def _not_called(method, dy, cache, seen) -> Array | tuple | None:
    saved = {name: p.grad.copy() for name, p in method.__self__.parameters().items()}
    returned = method(dy, cache)
    for name, parameter in method.__self__.parameters().items():
        parameter.grad[...] = saved[name]
    return _times(returned, 0)


def _unchanged(method, dy, cache, seen) -> Array | tuple:
    returned = _not_called(method, dy, cache, seen)
    return (dy, *returned[1:]) if isinstance(returned, tuple) else dy


def _ignored(method, dy, cache, seen) -> Array | tuple:
    returned = method(dy, cache)
    return (dy, *returned[1:]) if isinstance(returned, tuple) else dy


def _called_twice(method, dy, cache, seen) -> Array | tuple | None:
    method(dy, cache)
    return method(dy, cache)


def _times(returned, factor) -> Array | tuple | None:
    if isinstance(returned, tuple):
        return tuple(factor * one for one in returned)
    return None if returned is None else factor * returned


def _one_times(returned, place, factor) -> tuple:
    if not isinstance(returned, tuple) or place >= len(returned):
        raise ValueError("there is no such gradient")
    return tuple(factor * one if i == place else one for i, one in enumerate(returned))
