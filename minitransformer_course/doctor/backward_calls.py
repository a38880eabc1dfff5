"""A composite hands a part a gradient that is a factor times what the part should get: divided by
the batch, doubled, ...
"""

from typing import Any

from minitransformer.backend import Array
from minitransformer.layers import Layer
from minitransformer.layers.hooks import hooked
from minitransformer_course.diagnosis.factors import close, named_factors, ratio
from minitransformer_course.diagnosis.fitting import fitting
from minitransformer_course.doctor.recorder import Call, record


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] for one factor on what one part or several parts are given, in every
    case.

    The same is done in the counterpart, and compared with the composite's actual result.
    """
    if not isinstance(cases[0].block, Layer):
        return []
    received = {
        id(case): [
            _parts(calls)
            for calls in (record(case.subject, case.dy).backward.parts, case.counterpart.calls())
        ]
        for case in cases
    }
    parts = received[id(cases[0])][1]

    def ratio_in(case, path) -> float | None:
        got, expected = (calls.get(path) for calls in received[id(case)])
        if (
            got is None
            or expected is None
            or isinstance(got.dy, tuple)
            or got.dy.shape != expected.dy.shape
        ):
            return None
        return ratio({"dy": got.dy}, {"dy": expected.dy})

    scaled = {
        path: ratios
        for path in parts
        if all(ratios := [ratio_in(case, path) for case in cases])
        and not all(close(r, 1) for r in ratios)
    }
    alike = [
        path
        for path, ratios in scaled.items()
        if all(map(close, ratios, next(iter(scaled.values()))))
    ]

    def made(mistake, case) -> list[Array]:
        _sentence, paths = mistake

        def look(at, direction, method, *values, **options) -> Any:
            if direction == "backward" and at in paths:
                return method(ratio_in(case, at) * values[0], values[1])
            return method(*values, **options)

        gradients = case.counterpart.gradients(case.dy, lambda layer: hooked(layer, look))
        return [gradients[name] for name in case.observed]

    mistakes = [
        (f"the gradient handed to {' and '.join(paths)} {sentence}", paths)
        for paths in [*([path] for path in scaled), *([alike] if len(alike) > 1 else [])]
        for sentence in named_factors(cases, lambda case, path=paths[0]: ratio_in(case, path))
    ]
    fit = fitting(mistakes, made, cases, [list(case.observed.values()) for case in cases])
    return [(sentence, error) for (sentence, _paths), error in fit]


def _parts(calls) -> dict[str, Call]:
    """{path: Call} of the layers that a backward calls directly."""
    return {call.path: call for call in calls if isinstance(call.block, Layer) and call.path}
