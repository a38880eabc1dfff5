"""Where an answer is wrong, and why, as far as numbers alone can tell."""

import numpy as np

from minitransformer.learn.messages import _

EXACT = 1e-9


def apart(one, other):
    """The largest difference, relative to the largest number of both; inf if one of them holds a NaN or infinity."""
    worst = 0.0
    largest = max((np.abs(b).max(initial=0) for b in other), default=0)
    for a, b in zip(one, other):
        a, b = 1 * a, 1 * b    # of masks: numbers
        scale = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0), largest / 10)
        error = np.abs(a - b).max(initial=0) / scale if scale else 0.0
        worst = max(worst, error) if np.isfinite(error) else np.inf
    return worst


def worst_element(names, arrays, expected):
    """("dx[1, 0]: yours 0.5, expected 0.25, the worst of 12", (name, yours, expected)) of the array that is most wrong."""
    errors = [apart([a], [b]) if apart(arrays, expected) == np.inf else np.abs(1 * a - 1 * b).max(initial=0)
              for a, b in zip(arrays, expected)]
    k = int(np.argmax(errors))
    yours, right = arrays[k], expected[k]
    difference = np.abs(1 * yours - 1 * right)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    where = tuple(map(int, np.unravel_index(np.argmax(difference), difference.shape)))
    a, b = number(yours[where]), number(right[where])
    if a == b:
        a, b = f"{yours[where]:.12g}", f"{right[where]:.12g}"
    place = names[k] + (str(list(where)) if where else "")
    wrong = int((difference > EXACT * max(np.abs(right).max(initial=0), 1e-300)).sum())
    return (_("{place}: yours {a}, expected {b}; {wrong} of {n} numbers are wrong").format(
        place=place, a=a, b=b, wrong=wrong, n=right.size), (names[k], yours, right))


def term_factors(exercise, arguments, arrays):
    """"as a sum, yours is 1 (p dp) + 0 (- p sum(dp p))"; "" if the answer is no sum of the exercise's terms."""
    factors = _factors(exercise.terms(*arguments), arrays[0]) if exercise.terms and np.isfinite(arrays[0]).all() else None
    return _("as a sum, yours is {sum}; every factor has to be 1").format(
        sum=" + ".join(f"{number(factor)} ({name})" for name, factor in factors.items())) if factors else ""


def explain(exercise, arrays, expected):
    """One sentence: NaN, zeros, one factor, and which of several arrays are right."""
    if not all(np.isfinite(array).all() for array in arrays):
        bad = sum(int((~np.isfinite(array)).sum()) for array in arrays)
        return _("{n} numbers are NaN or infinity").format(n=bad)
    wrong = [k for k, (a, b) in enumerate(zip(arrays, expected)) if apart([a], [b]) > EXACT]
    right = [name for k, name in enumerate(exercise.returns) if k not in wrong]
    first = arrays[wrong[0]] * 1, expected[wrong[0]] * 1
    text = _("{names} is right. ").format(names=", ".join(right)) if right else ""
    if not first[0].any():
        return text + _("yours is 0 everywhere")
    factor = float((first[0] * first[1]).sum() / (first[1] * first[1]).sum()) if first[1].any() else 0
    if factor and apart([first[0]], [factor * first[1]]) < EXACT:
        return text + _("yours is {factor} times what is expected, everywhere").format(factor=number(factor))
    return text + _("yours is not a multiple of what is expected: compare it term by term with the chapter")


def _factors(terms, array):
    """{name: factor} of the terms that `array` is the sum of, to rounding; None if it is no such sum."""
    columns = np.stack([np.broadcast_to(term, array.shape).ravel() for term in terms.values()], axis=1)
    if array.shape != np.shape(next(iter(terms.values()))) or len(columns) < 3 * columns.shape[1]:
        return None
    factors = np.linalg.lstsq(columns, array.ravel(), rcond=None)[0]
    return dict(zip(terms, factors)) if apart([columns @ factors], [array.ravel()]) < EXACT else None


def number(value):
    """A number as a reader wants it: 0.43, 1e-07, True."""
    if isinstance(value, (bool, np.bool_)) or not np.isfinite(value):
        return str(value)
    return f"{0.0 if abs(value) < 1e-12 else value:.4g}"
