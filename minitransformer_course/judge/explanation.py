"""Where an answer is wrong, and why, as far as numbers alone can tell."""

import numpy as np

from minitransformer.checking.compare import SAME, relative_error
from minitransformer_course.diagnosis.factors import ratio
from minitransformer_course.messages import _

# the error allowed against the reference or the complex step: another right way to write it may
# round more
EXACT = 1e-10


def worst_element(names, arrays, expected, said="") -> str:
    """ "dx[1, 0]: yours 0.5, expected 0.25; wrong: 3 of 12 numbers", of the array that is most
    wrong.

    said: another text to use instead, with {place}, {a} and {b}.
    """
    errors = [
        relative_error([a], [b])
        if relative_error(arrays, expected) == np.inf
        else np.abs(1 * a - 1 * b).max(initial=0)
        for a, b in zip(arrays, expected)
    ]
    k = int(np.argmax(errors))
    yours, right = arrays[k], expected[k]
    if yours.shape != right.shape:
        place = _("the length of {name}").format(name=names[k])
        return (said or _("{place}: yours {a}, expected {b}")).format(
            place=place, a=yours.size, b=right.size
        )
    difference = np.abs(1 * yours - 1 * right)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    where = tuple(map(int, np.unravel_index(np.argmax(difference), difference.shape)))
    a, b = number(yours[where]), number(right[where])
    if a == b:
        a, b = f"{yours[where]:.12g}", f"{right[where]:.12g}"
    place = names[k] + (str(list(where)) if where else "")
    wrong = int((difference > EXACT * max(np.abs(right).max(initial=0), 1e-300)).sum())
    text = (said or _("{place}: yours {a}, expected {b}")).format(place=place, a=a, b=b)
    if right.size > 1 and not said:
        text += _("; wrong: {wrong} of {n} numbers").format(wrong=wrong, n=right.size)
    return text


def term_factors(exercise, arguments, arrays) -> str:
    """ "as a sum, dx is 1 (p dp) + 0 (- p sum(dp p))"; "" if the first array is right, 0, or not a
    sum of the exercise's terms.
    """
    fit = (
        least_squares(exercise.terms(*arguments), arrays[0])
        if exercise.terms and np.isfinite(arrays[0]).all()
        else None
    )
    if fit is None:
        return ""
    factors, _error = fit
    if any(
        all(abs(factor - same) < EXACT for factor in factors.values()) for same in (0, 1)
    ):  # `explain` says more about 0
        return ""
    return _("as a sum, {name} is {sum}; every factor has to be 1").format(
        name=exercise.returns[0],
        sum=" + ".join(f"{number(factor)} ({_(name)})" for name, factor in factors.items()),
    )


def explain(exercise, arrays, expected) -> str:
    """One sentence: how the first wrong array differs, and which of several arrays are right."""
    if exercise.versions:
        return (
            _("a wrong version passes your test")
            if arrays[0]
            else _("a correct version fails your test")
        )
    wrong = [
        k for k, (a, b) in enumerate(zip(arrays, expected)) if relative_error([a], [b]) > EXACT
    ]
    right = [name for k, name in enumerate(exercise.returns) if k not in wrong]
    name, yours, other = exercise.returns[wrong[0]], arrays[wrong[0]], expected[wrong[0]]
    difference = (
        _mask_difference
        if other.dtype == bool
        else _row_difference
        if other.dtype.kind in "iu" and other.ndim
        else _number_difference
    )
    told = difference(name, yours, other) if yours.shape == other.shape else ""
    return "; ".join(
        filter(None, [_("right: {names}").format(names=", ".join(right)) if right else "", told])
    )


def _mask_difference(name, yours, right) -> str:
    """For True and False: how many are wrong in each direction."""
    more, fewer = int((yours & ~right).sum()), int((right & ~yours).sum())
    if more + fewer == right.size > 1:
        return _("{name}: True and False are swapped everywhere").format(name=name)
    if yours.size > 1 and (yours.all() or not yours.any()):
        return _("{name} is {value} everywhere").format(name=name, value=bool(yours.flat[0]))
    return _(
        "{name}: True where False belongs {more} times, False where True belongs {fewer} times"
    ).format(name=name, more=more, fewer=fewer)


def _row_difference(name, yours, right) -> str:
    """For token ids, whose difference means nothing: the row with the worst element, side by side."""
    row = np.unravel_index(np.argmax(np.abs(yours - right)), right.shape)[:-1]
    place = name + (str(list(map(int, row))) if row else "")
    return _("{place} is {yours}, expected {right}").format(
        place=place, yours=" ".join(map(str, yours[row])), right=" ".join(map(str, right[row]))
    )


def _number_difference(name, yours, right) -> str:
    """For numbers: whether they are all 0, or all wrong by one factor; "" if neither."""
    factor = ratio({name: yours}, {name: right})
    if np.abs(yours).max() <= EXACT * np.abs(right).max():
        return (
            _("{name} is 0 everywhere").format(name=name)
            if yours.size > 1
            else _("{name} is 0").format(name=name)
        )
    if factor and number(factor) != "1":
        text = (
            _("{name} is {factor} times what is expected")
            if yours.size == 1
            else _("{name} is {factor} times what is expected, everywhere")
        )
        return text.format(name=name, factor=number(factor))
    return ""


def number(value) -> str:
    """A number as a reader wants it: 0.43, 1e-07, True."""
    if isinstance(value, (bool, np.bool_)) or not np.isfinite(value):
        return str(value)
    return f"{0.0 if abs(value) < 1e-12 else value:.4g}"


def least_squares(parts, array) -> tuple[dict[str, float], float] | None:
    """({term: factor}, relative error of their sum) of the terms that make up the array; None if
    they do not.

    There must be at least three times as many numbers as terms (with equal counts, a fit always
    succeeds), and no term may be a combination of the others.
    """
    if not parts or array.size < 3 * len(parts):
        return None
    table = np.stack(
        [np.broadcast_to(part, array.shape).ravel() for part in parts.values()], axis=1
    )
    lengths = np.sqrt((table * table).sum(axis=0))
    factors, _, rank, _ = np.linalg.lstsq(
        table / np.where(lengths, lengths, 1), array.ravel(), rcond=1e-8
    )
    if rank < len(parts):
        return None
    factors = factors / lengths
    error = np.abs(array.ravel() - table @ factors).max() / max(
        np.abs(array).max(), np.abs(table).max()
    )
    return (dict(zip(parts, factors)), float(error)) if error <= SAME else None
