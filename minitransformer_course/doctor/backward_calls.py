"""Which backwards a composite calls, and with what: it skips a part, calls one twice, or gives one a wrong gradient or cache.

Each of these mistakes is made in the counterpart, in one part after another, and compared with the composite's actual result.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import is_float
from minitransformer.layers import Layer
from minitransformer.layers.hooks import hooked
from minitransformer_course.doctor.factors import close, named_factors, ratio
from minitransformer_course.doctor.fitting import fitting
from minitransformer_course.doctor.recorder import Call, record

FACTORS = {
    "is zero: it is missing": 0, "is counted twice (doubled)": 2, "has the wrong sign (negative)": -1,
    "is halved (divided by 2)": 0.5}


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] of the one mistake that a composite of layers makes with one of its parts, in every case."""
    if not isinstance(cases[0].block, Layer):
        return []
    observed = [list(case.observed.values()) for case in cases]

    def fit(ways) -> list[tuple[str, float]]:
        """ways: (sentence, {path: instead}), with instead(method, dy, cache, seen, i) in the i-th case."""
        return fitting(observed, ((sentence, partial(_made, cases, instead)) for sentence, instead in ways))

    parts, called = _parts(cases[0].counterpart.calls()), _times_called(cases[0])
    unusual = [path for path in parts if called[path] != 1]    # if there are any, they are the mistake
    if unusual:
        return fit(way for path in unusual
                   for way in (_called_twice_ways(path) if called[path] else _not_called_ways(path, parts[path])))
    return fit(_scaled_upstream(cases, parts)) or fit(
        way for path, call in parts.items() for way in (*_ways(path, call, cases[0]), *_mixed_up(path, call, parts)))


def _made(cases, instead, i) -> list[Array]:
    """The gradients of the i-th case's counterpart with something else in place of the backward of some parts."""
    gradients = cases[i].counterpart.gradients(cases[i].dy, partial(_replacing, instead, i))
    return [gradients[name] for name in cases[i].observed]


def _parts(calls) -> dict[str, Call]:
    """{path: Call} of the layers that a backward calls directly."""
    return {call.path: call for call in calls if isinstance(call.block, Layer) and call.path}


def _replacing(instead, i, stack, layer) -> None:
    """Run `instead[path](method, dy, cache, seen, i)` in place of each part's backward; `seen` holds the others' caches."""
    seen = {}

    def look(at, direction, method, *values, **options) -> Any:
        if direction == "backward" and at in instead:
            return instead[at](method, *values, seen, i)
        returned = method(*values, **options)
        if direction == "forward":
            seen[at] = returned[1]
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


def _not_called_ways(path, call) -> Iterator[tuple[str, dict]]:
    if not call.returned:
        yield f"the backward of {path} is not called (skipped): it gets no gradient", {path: _not_called}
        return
    yield (f"the backward of {path} is not called (skipped): the gradient that it should receive is passed on as it is, without "
           f"the derivative of {path}", {path: lambda *given: _instead(given[1], _not_called(*given))})
    yield (f"the backward of {path} is not called (skipped): the gradient that it should return is missing (zero)",
           {path: lambda *given: _times(_not_called(*given), 0)})


def _called_twice_ways(path) -> Iterator[tuple[str, dict]]:
    yield (f"the backward of {path} is called twice: it adds to its gradients two times (doubled)",
           {path: lambda method, dy, cache, *_: (method(dy, cache), method(dy, cache))[1]})


def _ways(path, call, case) -> Iterator[tuple[str, dict]]:
    """(sentence, {path: instead}) of the mistakes that are possible with a part that is called once, as it should be."""
    yield (f"the gradient that the backward of {path} returns is not used (it is lost): {_receivers(case, path)} gets the dy that "
           f"{path} received, without the derivative of {path}",
           {path: lambda method, dy, cache, *_: _instead(dy, method(dy, cache))})
    yield (f"dy is added to the gradient that {path} returns, as if there were a residual path (skip connection) around {path}",
           {path: lambda method, dy, cache, *_: method(dy, cache) + dy})
    for what, factor in FACTORS.items():
        yield (f"the gradient returned by {path} {what}",
               {path: lambda method, dy, cache, *_, factor=factor: _times(method(dy, cache), factor)})
        inputs = [name for name, value in call.arguments.items() if is_float(value)]
        for k, name in enumerate(inputs if len(inputs) > 1 else ()):
            yield (f"the gradient of {name} returned by {path} {what}",
                   {path: lambda method, dy, cache, *_, k=k, factor=factor: _one_times(method(dy, cache), k, factor)})


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


def _mixed_up(path, call, parts) -> Iterator[tuple[str, dict]]:
    """A part that is given another part's cache."""
    for other in parts:
        if other != path and type(parts[other].block) is type(call.block):
            yield (f"the backward of {path} is given the cache of {other} (the wrong one)",
                   {path: lambda method, dy, cache, seen, i, other=other: method(dy, seen[other])})


def _scaled_upstream(cases, parts) -> Iterator[tuple[str, dict]]:
    """A factor between the gradient that a part was given and the one it should get; or one factor on several parts."""
    received = {id(case): (_received(case), _parts(case.counterpart.calls())) for case in cases}

    def ratio_in(case, path) -> float | None:
        got, expected = (calls.get(path) for calls in received.get(id(case)) or (_received(case), _parts(case.counterpart.calls())))
        if got is None or expected is None or isinstance(got.dy, tuple) or got.dy.shape != expected.dy.shape:
            return None
        return ratio({"dy": got.dy}, {"dy": expected.dy})

    scaled = {path: ratios for path in parts if all(ratios := [ratio_in(case, path) for case in cases])
              and not all(close(r, 1) for r in ratios)}
    alike = [path for path, ratios in scaled.items() if all(map(close, ratios, next(iter(scaled.values()))))]
    for paths in [*([path] for path in scaled), *([alike] if len(alike) > 1 else [])]:
        for sentence in named_factors(cases, lambda case, path=paths[0]: ratio_in(case, path)):
            yield (f"the gradient handed to {' and '.join(paths)} {sentence}",
                   {path: lambda method, dy, cache, seen, i, path=path: method(scaled[path][i] * dy, cache) for path in paths})


def _not_called(method, dy, cache, *_) -> Array | tuple | None:
    """What backward would return, without what it adds to the parameters' gradients."""
    saved = {name: p.grad.copy() for name, p in method.__self__.parameters().items()}
    returned = method(dy, cache)
    for name, parameter in method.__self__.parameters().items():
        parameter.grad[...] = saved[name]
    return returned


def _instead(dy, returned) -> Array | tuple:
    """dy in place of the first gradient returned."""
    return (dy, *returned[1:]) if isinstance(returned, tuple) else dy


def _times(returned, factor) -> Array | tuple | None:
    if isinstance(returned, tuple):
        return tuple(factor * one for one in returned)
    return None if returned is None else factor * returned


def _one_times(returned, place, factor) -> tuple:
    if not isinstance(returned, tuple) or place >= len(returned):
        raise ValueError("there is no such gradient")
    return tuple(factor * one if i == place else one for i, one in enumerate(returned))
