"""A composite hands a part a gradient that is a factor times what the part should get: divided by the batch, doubled, ..."""

from functools import partial
from typing import Any

from minitransformer.backend import Array
from minitransformer.layers import Layer
from minitransformer.layers.hooks import hooked
from minitransformer_course.doctor.factors import close, named_factors, ratio
from minitransformer_course.doctor.fitting import fitting
from minitransformer_course.doctor.recorder import Call, record


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] for one factor on what one part or several parts are given, in every case.

    The same is done in the counterpart, and compared with the composite's actual result.
    """
    if not isinstance(cases[0].block, Layer):
        return []
    received = {id(case): (_received(case), _parts(case.counterpart.calls())) for case in cases}
    parts = received[id(cases[0])][1]

    def ratio_in(case, path) -> float | None:
        got, expected = (calls.get(path) for calls in received.get(id(case)) or (_received(case), _parts(case.counterpart.calls())))
        if got is None or expected is None or isinstance(got.dy, tuple) or got.dy.shape != expected.dy.shape:
            return None
        return ratio({"dy": got.dy}, {"dy": expected.dy})

    scaled = {path: ratios for path in parts if all(ratios := [ratio_in(case, path) for case in cases])
              and not all(close(r, 1) for r in ratios)}
    alike = [path for path, ratios in scaled.items() if all(map(close, ratios, next(iter(scaled.values()))))]
    return fitting([list(case.observed.values()) for case in cases], (
        (f"the gradient handed to {' and '.join(paths)} {sentence}",
         partial(_made, cases, {path: scaled[path] for path in paths}))
        for paths in [*([path] for path in scaled), *([alike] if len(alike) > 1 else [])]
        for sentence in named_factors(cases, lambda case, path=paths[0]: ratio_in(case, path))))


def _made(cases, ratios, i) -> list[Array]:
    """The gradients of the i-th case's counterpart if these parts are handed `ratios[path][i]` times what they should get."""
    def look(at, direction, method, *values, **options) -> Any:
        if direction == "backward" and at in ratios:
            return method(ratios[at][i] * values[0], values[1])
        return method(*values, **options)

    gradients = cases[i].counterpart.gradients(cases[i].dy, lambda layer: hooked(layer, look))
    return [gradients[name] for name in cases[i].observed]


def _received(case) -> dict[str, Call]:
    """{path: Call} of the backwards that the block calls directly."""
    return _parts(record(case.checked, case.dy).backward.parts)


def _parts(calls) -> dict[str, Call]:
    """{path: Call} of the layers that a backward calls directly."""
    return {call.path: call for call in calls if isinstance(call.block, Layer) and call.path}
