"""A gradient as a sum of named terms: the factor of each term in the wrong gradient, by least squares.

If the fit leaves nothing but rounding, the factors say which term is missing (0), doubled (2), of the wrong sign (-1) or
multiplied by a size.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitransformer.checking.compare import SAME
from minitransformer_course.doctor.factors import named_factors

TERMS = {}    # {operation: function(dy, cache) or (self, dy, cache) -> {argument or parameter: {term: array}}}


def terms(of) -> Callable:
    """Teach the doctor the terms that an operation's right gradients are sums of: decorate a function that returns them."""
    def teach(function) -> Callable:
        TERMS[of] = function
        return function
    return teach


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] if the wrong arrays of every case are the terms of its operation with other factors."""
    if any(case.counterpart is None or case.counterpart.operation.name not in TERMS for case in cases):
        return []
    names = [name for name in cases[0].observed if any(name in case.wrong for case in cases)]
    fits: list[Any] = [_fit(case, names) for case in cases]
    if not names or not all(fits):
        return []
    sentences = []
    for name in names:
        if any(np.ptp(list(fit[name].values())) <= 1e-8 for fit in fits if len(fit[name]) > 1):
            return []    # one factor for all terms is a factor of the whole gradient
        said: dict[Any, list[str]] = {}    # {what: the terms}
        for term in fits[0][name]:
            for what in _said(cases, name, term, [fit[name].get(term) for fit in fits]):
                said.setdefault(what, []).append(term)
        if not 1 <= sum(map(len, said.values())) <= 2 or None in said:
            return []
        whole = [f"{'each of the two terms' if len(terms) > 1 else 'the term'} {' and '.join(terms)} {what}"
                 for what, terms in said.items()]
        sentences.append(f"in the gradient of {name} {' and '.join(whole)}")
    return [("; ".join(sentences), max(fit["error"] for fit in fits))]


def _fit(case, names) -> dict[str, Any] | None:
    """{array: {term: factor}, "error": that of the residual}, or None if the terms do not explain the arrays."""
    named = case.counterpart.terms(TERMS[case.counterpart.operation.name])
    fitted, worst = {}, 0.0
    for name in names:
        shape = case.observed[name].shape
        parts = {term: np.broadcast_to(array, shape) for term, array in named.get(name, {}).items() if np.any(array)}
        fit = least_squares(parts, case.observed[name])
        if fit is None or not case.agrees({**case.right, name: sum(parts.values())}):
            return None
        fitted[name], error = fit
        worst = max(worst, error)
    return {**fitted, "error": worst}


def least_squares(parts, array) -> tuple[dict[str, float], float] | None:
    """({term: factor}, relative error of their sum) of the terms that make up the array; None if they do not.

    There must be at least three times as many numbers as terms (with equal counts, a fit always succeeds), and no term may be
    a combination of the others.
    """
    if not parts or array.size < 3 * len(parts):
        return None
    table = np.stack([np.broadcast_to(part, array.shape).ravel() for part in parts.values()], axis=1)
    lengths = np.sqrt((table * table).sum(axis=0))
    factors, _, rank, _ = np.linalg.lstsq(table / np.where(lengths, lengths, 1), array.ravel(), rcond=1e-8)
    if rank < len(parts):
        return None
    factors = factors / lengths
    error = np.abs(array.ravel() - table @ factors).max() / max(np.abs(array).max(), np.abs(table).max())
    return (dict(zip(parts, factors)), float(error)) if error <= SAME else None


def _said(cases, name, term, factors) -> list:
    """What is wrong with one term, from its factors in all cases; [] if they are all 1, [None] if they cannot be named."""
    if None in factors:
        return [None]
    if all(abs(f - 1) <= 1e-8 for f in factors):
        return []
    if all(abs(f) <= 1e-8 for f in factors):
        return ["is missing (left out, forgotten)"]
    def factor_in(case) -> float | None:
        fit = _fit(case, [name])
        f = fit[name].get(term) if fit else None
        return f and (round(f) if abs(f - round(f)) <= 1e-9 else f)    # a fit loses some digits

    sentences = named_factors(cases, factor_in)
    return sentences if len(sentences) == 1 else [None]
