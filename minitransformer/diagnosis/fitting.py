"""The engine of the doctor and of the judge: which mistakes give the very arrays that were observed, in every case?

The doctor makes a mistake in the library's block, the judge in an exercise's reference. Both compare as the gradient check does.
"""

from typing import Any

import numpy as np

from minitransformer.checking.compare import SAME, relative_error


def fitting(observed, mistakes) -> list[tuple[Any, float]]:
    """[(mistake, error with it undone)] of those that give the observed arrays up to rounding, in every case.

    observed: of each case, its arrays. mistakes: (mistake, make), with make(i) the arrays that the mistake gives in the i-th case.
    """
    errors = [(mistake, _error(observed, make)) for mistake, make in mistakes]
    return [(mistake, error) for mistake, error in errors if error <= SAME]


def _error(observed, make) -> float:
    """The largest error of all cases; inf as soon as one is not explained, also because the wrong formula cannot run there."""
    worst = 0.0
    for i, arrays in enumerate(observed):
        try:
            with np.errstate(all="ignore"):
                worst = max(worst, relative_error(arrays, make(i)))
        except Exception:    # a wrong formula need not fit every shape
            return np.inf
        if not worst <= SAME:
            return np.inf
    return worst


def one_mistake(fit, make, cases) -> list[tuple[Any, float]]:
    """The first of those that fit, if all give the same in further cases, too: then they are one mistake in several words.

    fit: as `fitting` returns it; make(mistake, case) -> arrays.
    """
    def same(one, other) -> bool:
        return all(_outcomes_agree(make, one, other, case) for case in cases)
    return fit[:1] if cases and all(same(fit[0][0], other) for other, _ in fit[1:]) else fit


def _outcomes_agree(make, one, other, case) -> bool:
    made = []
    for mistake in (one, other):
        try:
            made.append(make(mistake, case))
        except Exception:    # neither runs there: no difference is seen
            made.append([])
    return relative_error(*made) <= SAME
