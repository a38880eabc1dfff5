"""Mistakes that any gradient can show, in every block: a sign, a factor, an order, a lost part of
dy, another gradient's place.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import relative_error
from minitransformer_course.diagnosis.arrays import only, rearranged, without
from minitransformer_course.diagnosis.factors import is_time_first, named_factors, ratio
from minitransformer_course.diagnosis.fitting import fitting
from minitransformer_course.messages import _

FLOAT = np.dtype(float)
Changes = Iterator[tuple[str, Callable]]  # a sentence, and change(case, right gradients)
OF_DY = {
    "is exactly dy, as if the block did nothing: its derivative is missing": lambda g, dy: dy,
    "lacks dy itself: the direct (residual, skip, identity) path is missing": np.subtract,
    "contains dy once too often: a direct (residual, skip) path is counted that does not exist, or "
    "counted twice (doubled)": np.add,
}


def as_a_whole(cases) -> list[tuple[str, float]]:
    """[(sentence, 0 or the error)] if the wrong gradients are zero, should be zero, or are a factor
    times the right ones.
    """
    names = _wrong_ones(cases)
    what = gradients_of(names)
    if not names:
        return []
    if not any(case.observed[name].any() for case in cases for name in names):
        return [
            (
                f"{what} is missing: it is zero everywhere (not computed, not added or not returned)",
                0.0,
            )
        ]
    if not any(case.depends_on(name) for case in cases for name in names):
        return [
            (
                f"{what} is not zero, although the output does not depend on {'it' if len(names) == 1 else 'them'}: "
                f"the forward does not use {' and '.join(names)} (forgotten there?), so the true gradient is zero",
                0.0,
            )
        ]
    ratios = [ratio({name: case.observed[name] for name in names}, case.right) for case in cases]

    def error(case, r) -> float:
        return relative_error(
            [case.observed[name] for name in names], [r * case.right[name] for name in names]
        )

    return [
        (f"{what} {text}", max(map(error, cases, ratios))) for text in named_factors(cases, ratios)
    ]


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] of the changes that turn the right gradients into the wrong ones in every
    case.
    """
    names = _wrong_ones(cases)
    if not names:
        return []
    return (
        as_a_whole(cases)
        or _fitting(_changes(cases, names), cases, names)
        or _fitting(_of_sums(cases[0], names), cases, names)
        or _fitting(_of_upstream(cases[0], names), cases, names)
        or _other_mask(cases, names)
    )


def _wrong_ones(cases) -> list[str]:
    """The names of the wrong arrays; none if a right one is not known."""
    names = [name for name in cases[0].observed if any(name in case.wrong for case in cases)]
    return names if all(set(names) <= case.right.keys() for case in cases) else []


def _other_mask(cases, names) -> list[tuple[str, float]]:
    """A gradient that is dy times a mask of zeros and a single number, as in the forward, but with
    the zeros elsewhere.
    """
    for case in cases:
        for name in names:
            if (
                isinstance(case.dy, tuple)
                or case.observed[name].shape != np.shape(case.dy)
                or not np.all(case.dy)
            ):
                return []
            ours, theirs = (np.round(g[name] / case.dy, 9) for g in (case.observed, case.right))
            two_valued = len(np.unique(ours)) == len(np.unique(theirs)) == 2
            if (
                not two_valued
                or not ((ours == 0) & (theirs != 0)).any()
                or not ((ours != 0) & (theirs == 0)).any()
            ):
                return []
    what = gradients_of(names)
    return [
        (
            f"{what} is dy times a mask, but not the mask of the forward: different numbers are zero, so backward uses another "
            "mask (drawn again, at random, or taken from the wrong array)",
            0.0,
        )
    ]


def _fitting(changes, cases, names) -> list[tuple[str, float]]:
    """Of the changes(case, right gradients) -> gradients, those that give the observed ones."""

    def made(mistake, case) -> list[Array]:
        _sentence, change = mistake
        changed = change(case, {name: case.right[name] for name in names})
        return [changed[name] for name in names]

    fit = fitting(changes, made, cases, [[case.observed[name] for name in names] for case in cases])
    found = {sentence: error for (sentence, _change), error in fit}
    return list(
        found.items()
    )  # if the gap has zeros anyway, shifted and rolled are alike, and so is their sentence


def _changes(cases, names) -> Changes:
    """The ways in which the gradients with these names can go wrong."""
    axes = min(case.right[name].ndim for case in cases for name in names)
    of_input = axes > 2 and set(names) <= set(cases[0].inputs)  # (B, T, d)
    what = _("the gradient of {names}").format(names=_listed(names))
    for said, change in rearranged(axes, FLOAT, _counted(cases[0]) if of_input else ()):
        yield (
            said.format(name=what),
            lambda case, right, change=change: {name: change(g) for name, g in right.items()},
        )
    for one, other in combinations(names, 2):
        said = (
            f"are swapped: {one} gets that of {other} and {other} that of {one} (the wrong order)"
        )
        yield (
            f"{gradients_of(names)} {said}",
            lambda case, right, one=one, other=other: {
                **right,
                one: right[other],
                other: right[one],
            },
        )


def _of_sums(case, names) -> Changes:
    """Sums over the batch or the positions that leave one out, or have one only."""
    if isinstance(case.dy, tuple):
        return
    sentence, position = (1, 0) if is_time_first(case) else (0, 1)
    for axis, what, missing in (
        (sentence, "sentence of the batch", "batch"),
        (position, "position", "length (positions)"),
    ):
        for place, which in ((0, "first"), (-1, "last")):
            for said, change in (
                (f"counts the {which} {what} only: the sum over the {missing} is missing", only),
                (f"leaves the {which} {what} out of the sum over the {missing}", without),
            ):
                part = partial(change, place=place, axis=axis)
                yield f"{gradients_of(names)} {said}", _with_dy(part)


def _of_upstream(case, names) -> Changes:
    """Changes that concern dy: which part of it was used, and where it was added."""
    if isinstance(case.dy, tuple):
        return
    what = gradients_of(names)
    if all(case.right[name].shape == np.shape(case.dy) for name in names):
        for said, with_dy in OF_DY.items():
            yield (
                f"{what} {said}",
                lambda case, right, change=with_dy: {
                    name: change(g, case.dy) for name, g in right.items()
                },
            )
    for said, change in rearranged(np.ndim(case.dy), FLOAT, _counted(case)):
        other = said.format(name="dy")
        of_another = f"belongs to another dy: {other}"
        yield f"{what} {of_another}", _with_dy(change)
    for limit in (0.1, 0.5, 1, 2, 5, 10):
        said = f"is that of dy clipped to {limit}: a backward is linear in dy, so nothing may be clipped in it"
        yield f"{what} {said}", _with_dy(partial(np.clip, a_min=-limit, a_max=limit))


def _with_dy(change) -> Callable:
    """The right gradients for another dy."""
    return lambda case, right: case.right_for(change(case.dy))


def _counted(case) -> tuple[str, str]:
    """What the first two axes count."""
    counted = _("the batch, sentences"), _("the positions")
    return counted[::-1] if is_time_first(case) else counted


def gradients_of(names) -> str:
    return f"the gradient of {_listed(names)}"


def _listed(names) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
