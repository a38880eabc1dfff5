"""Where an answer is wrong, and why, as far as numbers alone can tell."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.learn.messages import _

EXACT = 1e-9    # a relative error that is rounding


def apart(one, other) -> float:
    """The largest relative difference of two lists of arrays; inf if one of them holds a NaN or infinity."""
    worst = 0.0
    largest = max((np.abs(b).max(initial=0) for b in other), default=0)
    for a, b in zip(one, other):
        a, b = 1 * a, 1 * b    # of masks: numbers
        scale = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0), largest / 10)
        error = np.abs(a - b).max(initial=0) / scale if scale else 0.0
        worst = max(worst, error) if np.isfinite(error) else np.inf
    return worst


def worst_element(names, arrays, expected) -> tuple[str, tuple[str, Array, Array]]:
    """("dx[1, 0]: yours 0.5, expected 0.25; wrong: 3 of 12 numbers", (name, yours, expected)) of the array that is most wrong."""
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
    text = _("{place}: yours {a}, expected {b}").format(place=place, a=a, b=b)
    if right.size > 1:
        text += _("; wrong: {wrong} of {n} numbers").format(wrong=wrong, n=right.size)
    return text, (names[k], yours, right)


def term_factors(exercise, arguments, arrays) -> str:
    """"as a sum, dx is 1 (p dp) + 0 (- p sum(dp p))"; "" if the first array is right, or no sum of the exercise's terms."""
    factors = _factors(exercise.terms(*arguments), arrays[0]) if exercise.terms and np.isfinite(arrays[0]).all() else None
    if not factors or all(abs(factor - 1) < EXACT for factor in factors.values()):
        return ""
    return _("as a sum, {name} is {sum}; every factor has to be 1").format(
        name=exercise.returns[0], sum=" + ".join(f"{number(factor)} ({name})" for name, factor in factors.items()))


def explain(exercise, arrays, expected) -> str:
    """One sentence: how the first wrong array differs, and which of several arrays are right."""
    if not all(np.isfinite(array).all() for array in arrays):
        bad = sum(int((~np.isfinite(array)).sum()) for array in arrays)
        return _("NaN or infinity: {n} of {all} numbers").format(n=bad, all=sum(array.size for array in arrays))
    wrong = [k for k, (a, b) in enumerate(zip(arrays, expected)) if apart([a], [b]) > EXACT]
    right = [name for k, name in enumerate(exercise.returns) if k not in wrong]
    text = _("right: {names}; ").format(names=", ".join(right)) if right else ""
    name, yours, other = exercise.returns[wrong[0]], arrays[wrong[0]], expected[wrong[0]]
    if other.dtype == bool:
        return text + _mask_difference(name, yours, other)
    if other.dtype.kind in "iu" and other.ndim:
        return text + _row_difference(name, yours, other)
    return text + _number_difference(name, yours, other)


def _mask_difference(name, yours, right) -> str:
    """Of True and False: how many are wrong in each direction."""
    more, fewer = int((yours & ~right).sum()), int((right & ~yours).sum())
    if more + fewer == right.size > 1:
        return _("{name}: True and False are exchanged everywhere").format(name=name)
    if yours.size > 1 and (yours.all() or not yours.any()):
        return _("{name} is {value} everywhere").format(name=name, value=bool(yours.flat[0]))
    return _("{name}: True in place of False {more} times, False in place of True {fewer} times").format(
        name=name, more=more, fewer=fewer)


def _row_difference(name, yours, right) -> str:
    """Of token ids, whose difference means nothing: the row with the worst element, side by side."""
    row = np.unravel_index(np.argmax(np.abs(yours - right)), right.shape)[:-1]
    place = name + (str(list(map(int, row))) if row else "")
    return _("{place} is {yours}, expected {right}").format(
        place=place, yours=" ".join(map(str, yours[row])), right=" ".join(map(str, right[row])))


def _number_difference(name, yours, right) -> str:
    """Of numbers: whether they are all 0, or all wrong by one factor, or neither."""
    factor = float((yours * right).sum() / (right * right).sum()) if right.any() else 0
    if np.abs(yours).max() <= EXACT * np.abs(right).max():
        return _("{name} is 0 everywhere").format(name=name) if yours.size > 1 else _("{name} is 0").format(name=name)
    if factor and apart([yours], [factor * right]) < EXACT:
        text = _("{name} is {factor} times what is expected") if yours.size == 1 else _(
            "{name} is {factor} times what is expected, everywhere")
        return text.format(name=name, factor=number(factor))
    return _("{name} is not what is expected times one factor: compare each line with its formula in the chapter").format(name=name)


def _factors(terms, array) -> dict[str, float] | None:
    """{name: factor} of the terms that `array` is the sum of, to rounding; None if it is no such sum."""
    columns = np.stack([np.broadcast_to(term, array.shape).ravel() for term in terms.values()], axis=1)
    if array.shape != np.shape(next(iter(terms.values()))) or len(columns) < 3 * columns.shape[1]:
        return None
    factors = np.linalg.lstsq(columns, array.ravel(), rcond=None)[0]
    return dict(zip(terms, factors)) if apart([columns @ factors], [array.ravel()]) < EXACT else None


def number(value) -> str:
    """A number as a reader wants it: 0.43, 1e-07, True."""
    if isinstance(value, (bool, np.bool_)) or not np.isfinite(value):
        return str(value)
    return f"{0.0 if abs(value) < 1e-12 else value:.4g}"
