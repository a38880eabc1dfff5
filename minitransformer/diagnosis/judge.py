"""Which mistake is it? Compares a learner's function with a reference and a list of wrong formulas, by the doctor's rule.

A wrong formula is named only if, up to rounding, it gives the same results as the learner's function for every input, and
no formula with a different sentence does.
"""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME, is_same, relative_error
from minitransformer.diagnosis.fitting import fitting
from minitransformer.errors import InputError

error_between = relative_error


class Verdict(NamedTuple):
    """The result of `judge`; print it."""

    right: bool          # whether the learner's function agrees with the reference
    sentence: str        # the named mistake; "" if there is none
    candidates: tuple    # the sentences of several mistakes that explain it equally well
    error: float         # the largest relative error against the reference
    after: float | None  # the error once the named mistake is undone; None if the function could not be compared at all

    def __str__(self) -> str:
        if self.right:
            return "right"
        if self.sentence and self.after is None:
            return self.sentence
        if self.sentence:
            return f"{self.sentence} (with this undone the error falls from {self.error:.0e} to {self.after:.0e})"
        if self.candidates:
            return f"no mistake is proven; several explain it equally well: {' | '.join(self.candidates)}"
        return f"wrong by {self.error:.0e}, which none of the known mistakes explains"


def judge(function, reference, mistakes, inputs) -> Verdict:
    """The Verdict on a learner's `function`.

    function, reference: they take the same arguments and return an array or a tuple of arrays.
    mistakes: {sentence: wrong function}, with the reference's arguments.
    inputs: two or more tuples of arguments, of pairwise unequal sizes, so that no two mistakes give the same numbers.

    An exception in the function, a NaN, a wrong shape or a wrong number of arrays is reported in a sentence. Raises
    InputError if fewer than two inputs are given.
    """
    if len(inputs) < 2:
        raise InputError(f"judge: {len(inputs)} inputs, expected at least 2 of different sizes: on one input, different mistakes "
                         "can give the same numbers")
    expected = [tuple_of(reference(*_copied(one))) for one in inputs]
    got, broken = [], None
    for one, right in zip(inputs, expected):
        given = _copied(one)
        try:
            with np.errstate(all="ignore"):    # NaN and infinity are reported
                returned = tuple_of(function(*given))
        except Exception as raised:    # the learner's own code: its error becomes a sentence
            return _broken(f"the function raises {type(raised).__name__}: {raised}")
        if not all(map(is_same, given, one)):
            return _broken("the function changes one of its arguments in place: work on a copy")
        got.append(returned)
        broken = broken or _unlike(returned, right)
    error = np.inf if broken else max(map(relative_error, got, expected))
    if error <= SAME:
        return Verdict(True, "", (), error, None)
    fit = fitting(got, ((sentence, lambda i, wrong=wrong: tuple_of(wrong(*_copied(inputs[i]))))
                        for sentence, wrong in mistakes.items()))
    if len(fit) == 1:
        (sentence, after), = fit
        return Verdict(False, sentence, (), error, after)
    if broken and not fit:
        return _broken(broken)
    return Verdict(False, "", tuple(sentence for sentence, _ in fit), error, None)


def _unlike(returned, right) -> str:
    """Why these arrays cannot be compared with the right ones, in a sentence; "" if they can."""
    if len(returned) != len(right):
        return f"the function returns {len(returned)} arrays, expected {len(right)}"
    for a, b in zip(returned, right):
        if a.shape != b.shape:
            return f"the function returns an array of shape {a.shape}, expected {b.shape}"
        if not np.isfinite(a).all():
            return "the function returns NaN or infinity"
    return ""


def _broken(sentence) -> Verdict:
    return Verdict(False, sentence, (), np.inf, None)


def tuple_of(returned) -> tuple[Array, ...]:
    """What a function returned, one array or several, as a tuple of arrays."""
    return tuple(map(np.asarray, returned if isinstance(returned, tuple) else (returned,)))


def _copied(arguments) -> list:
    return [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
