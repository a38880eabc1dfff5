"""The engine of the doctor and of the judge: which mistakes give exactly the arrays that were
observed, in every case?

The doctor makes a mistake in the library's block, the judge in an exercise's reference. Both
compare as the gradient check does.
"""

from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME, relative_error


def fitting(mistakes, make, cases, observed) -> list[tuple[Any, float]]:
    """[(mistake, error with it undone)] of those that give the observed arrays up to rounding, in
    every case.

    make(mistake, case): the arrays that a mistake gives there. observed: of each case, its arrays.
    """
    errors = [(mistake, _error(mistake, make, cases, observed)) for mistake in mistakes]
    return [(mistake, error) for mistake, error in errors if error <= SAME]


def _error(mistake, make, cases, observed) -> float:
    """The largest error of all cases; inf as soon as one is not explained, or the wrong formula
    cannot run there.
    """
    worst = 0.0
    for case, arrays in zip(cases, observed):
        try:
            with np.errstate(all="ignore"):
                worst = max(worst, relative_error(arrays, make(mistake, case)))
        except Exception:  # a wrong formula need not fit every shape
            return np.inf
        if not worst <= SAME:
            return np.inf
    return worst


def one_of(found, make, further) -> list[tuple[Any, float]]:
    """Of what `fitting` found, the mistakes with the lowest rank; the first alone if, in the cases
    further(), they are one.
    """
    found = [one for one in found if one[0].rank == min(mistake.rank for mistake, _ in found)]
    return (
        found[:1]
        if len(found) > 1 and are_one([mistake for mistake, _ in found], make, further())
        else found
    )


def are_one(mistakes, make, cases) -> bool:
    """Whether they are the same mistake in different words: in further cases, each gives what one
    with the first sentence gives.
    """
    made = [[_made_if_it_runs(make, mistake, case) for case in cases] for mistake in mistakes]
    first = [
        arrays
        for mistake, arrays in zip(mistakes, made)
        if mistake.sentence == mistakes[0].sentence
    ]
    return bool(cases) and all(
        any(all(relative_error(a, b) <= SAME for a, b in zip(one, other)) for other in first)
        for one in made
    )


def _made_if_it_runs(make, mistake, case) -> list[Array]:
    try:
        return make(mistake, case)
    except Exception:  # if neither runs, no difference is seen
        return []


def tuple_of(returned) -> tuple[Array, ...]:
    """What a function returned, one array or several, as a tuple of arrays."""
    return tuple(map(np.asarray, returned if isinstance(returned, tuple) else (returned,)))
