"""Mistakes that any gradient can show, in every block: a sign, a factor, an order, a lost part of
dy, another gradient's place.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import relative_error
from minitransformer_course.diagnosis.factors import is_time_first, named_factors, ratio
from minitransformer_course.diagnosis.fitting import fitting
from minitransformer_course.diagnosis.rearranged import MOVED, PARTS, only, without


def as_a_whole(cases) -> list[tuple[str, float]]:
    """[(sentence, 0 or the error)] if the wrong gradients are zero, should be zero, or are a factor
    times the right ones.
    """
    names, observed, _right, what = _wrong_ones(cases)
    if names and all(not g.any() for a in observed for g in a.values()):
        return [
            (
                f"{what} is missing: it is zero everywhere (not computed, not added or not returned)",
                0.0,
            )
        ]
    if names and not any(case.depends_on(name) for case in cases for name in names):
        return [
            (
                f"{what} is not zero, although the output does not depend on {'it' if len(names) == 1 else 'them'}: "
                f"the forward does not use {' and '.join(names)} (forgotten there?), so the true gradient is zero",
                0.0,
            )
        ]
    return (
        [
            (f"{what} {text}", max(_ratio_error(case, names) for case in cases))
            for text in named_factors(cases, [_ratio(case, names) for case in cases])
        ]
        if names
        else []
    )


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] of the changes that turn the right gradients into the wrong ones in every
    case.
    """
    names, observed, right, what = _wrong_ones(cases)
    if not names:
        return []
    return (
        as_a_whole(cases)
        or _fitting(_changes(cases, names), cases, names, what)
        or _fitting(_of_upstream(cases[0]), cases, names, what)
        or _other_mask(cases, observed, right, what)
    )


def _wrong_ones(cases) -> tuple[list[str], list[dict], list[dict], str]:
    """The names of the wrong arrays; of each case, these and the right ones; what they are called.
    No names if one is not known.
    """
    names = [name for name in cases[0].observed if any(name in case.wrong for case in cases)]
    if not all(set(names) <= case.right.keys() for case in cases):
        names = []
    observed, right = (
        [{name: one[name] for name in names} for one in several]
        for several in (
            [case.observed for case in cases],
            [case.right for case in cases] if names else [],
        )
    )
    return names, observed, right, gradients_of(names)


def _other_mask(cases, observed, right, what) -> list[tuple[str, float]]:
    """A gradient that is dy times a mask of zeros and a single number, as in the forward, but with
    the zeros elsewhere.
    """
    for case, a, n in zip(cases, observed, right):
        for name in a:
            if (
                isinstance(case.dy, tuple)
                or a[name].shape != np.shape(case.dy)
                or not np.all(case.dy)
            ):
                return []
            ours, theirs = (np.round(g / case.dy, 9) for g in (a[name], n[name]))
            two_valued = len(np.unique(ours)) == len(np.unique(theirs)) == 2
            if (
                not two_valued
                or not ((ours == 0) & (theirs != 0)).any()
                or not ((ours != 0) & (theirs == 0)).any()
            ):
                return []
    return [
        (
            f"{what} is dy times a mask, but not the mask of the forward: different numbers are zero, so backward uses another "
            "mask (drawn again, at random, or taken from the wrong array)",
            0.0,
        )
    ]


def _ratio(case, names) -> float | None:
    return (
        ratio({name: case.observed[name] for name in names}, case.right)
        if set(names) <= case.right.keys()
        else None
    )


def _ratio_error(case, names) -> float:
    r = _ratio(case, names)
    return relative_error(
        [case.observed[name] for name in names], [r * case.right[name] for name in names]
    )


def _fitting(changes, cases, names, what) -> list[tuple[str, float]]:
    def made(mistake, case) -> list[Array]:
        _sentence, change = mistake
        changed = change(case, {name: case.right[name] for name in names})
        if changed is None:
            raise ValueError("the change does nothing for these shapes")
        return [changed[name] for name in names]

    fit = fitting(changes, made, cases, [[case.observed[name] for name in names] for case in cases])
    found = {f"{what} {sentence}": error for (sentence, _change), error in fit}
    return list(
        found.items()
    )  # if the gap has zeros anyway, shifted and rolled are alike, and so is their sentence


def _changes(cases, names) -> Iterator[tuple[str, Callable]]:
    """(sentence, change(case, right gradients)) for the ways in which the gradients with these
    names can go wrong.
    """

    def along(axis, change) -> Callable:
        """If there are one or two axes, the last is the first or the second and is not tried again."""
        return lambda case, right: (
            None
            if any(axis == -1 and g.ndim < 3 for g in right.values())
            else {name: change(g, axis) for name, g in right.items()}
        )

    yield (
        "is transposed (a transpose is missing, or one too many)",
        lambda case, right: (
            {name: g.swapaxes(-1, -2) for name, g in right.items()}
            if all(g.ndim >= 2 and g.shape[-1] == g.shape[-2] for g in right.values())
            else None
        ),
    )
    of_input = all(
        name in cases[0].inputs and cases[0].observed[name].ndim > 2 for name in names
    )  # (B, T, d)
    counts = ("", "")
    if of_input:
        counts = " (the batch, sentences)", " (the positions)"
        counts = counts[::-1] if is_time_first(cases[0]) else counts
    for axis, axis_name in (
        (0, f"first axis{counts[0]}"),
        (1, f"second axis{counts[1]}"),
        (-1, "last axis"),
    ):
        for sentence, change in MOVED + PARTS:
            yield sentence.format(at=f" along the {axis_name}"), along(axis, change)
    yield (
        "has the right numbers in the wrong places: transposed, and then reshaped to fit",
        lambda case, right: (
            {name: g.T.reshape(g.shape) for name, g in right.items()}
            if all(g.ndim == 2 for g in right.values())
            else None
        ),
    )
    for one, other in combinations(names, 2):
        yield (
            f"are swapped: {one} gets that of {other} and {other} that of {one} (the wrong order)",
            lambda case, right, one=one, other=other: _swapped(right, one, other),
        )


def _of_upstream(case) -> Iterator[tuple[str, Callable]]:
    """Changes that concern dy: which part of it was used, and where it was added."""

    def with_dy(change) -> Callable:
        return lambda case, right: (
            None
            if isinstance(case.dy, tuple)
            or any(g.shape != np.shape(case.dy) for g in right.values())
            else {name: change(g, case.dy) for name, g in right.items()}
        )

    yield (
        "is exactly dy, as if the block did nothing: its derivative is missing",
        with_dy(lambda g, dy: dy),
    )
    yield (
        "lacks dy itself: the direct (residual, skip, identity) path is missing",
        with_dy(lambda g, dy: g - dy),
    )
    yield (
        "contains dy once too often: a direct (residual, skip) path is counted that does not exist, or counted twice (doubled)",
        with_dy(lambda g, dy: g + dy),
    )

    def seen(change) -> Callable:
        def wrong(case, right) -> dict[str, Array] | None:
            if isinstance(case.dy, tuple):
                return None
            gradients = case.right_for(change(case.dy))
            return (
                {name: gradients[name] for name in right if name in gradients}
                if set(right) <= set(gradients)
                else None
            )

        return wrong

    sentence, position = (1, 0) if is_time_first(case) else (0, 1)
    for axis, what, missing in (
        (sentence, "sentence of the batch", "batch"),
        (position, "position", "length (positions)"),
    ):
        for place, which in ((0, "first"), (-1, "last")):
            yield (
                f"counts the {which} {what} only: the sum over the {missing} is missing",
                seen(lambda dy, axis=axis, place=place: only(dy, place, axis)),
            )
            yield (
                f"leaves the {which} {what} out of the sum over the {missing}",
                seen(lambda dy, axis=axis, place=place: without(dy, place, axis)),
            )

    for limit in (0.1, 0.5, 1, 2, 5, 10):
        yield (
            f"is that of dy clipped to {limit}: a backward is linear in dy, so nothing may be clipped in it",
            seen(lambda dy, limit=limit: np.clip(dy, -limit, limit)),
        )
    for axis, what in ((sentence, "batch"), (position, "positions")):
        for said, change in MOVED:
            yield (
                f"belongs to a dy that {said.format(at=f' along the {what}')}",
                seen(lambda dy, axis=axis, change=change: change(dy, axis).copy()),
            )


def _swapped(right, one, other) -> dict[str, Array] | None:
    if right[one].shape != right[other].shape:
        return None
    return {**right, one: right[other], other: right[one]}


def gradients_of(names) -> str:
    if len(names) == 1:
        return f"the gradient of {names[0]}"
    shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return f"the gradient of {shown}"
