"""A block run once, forward and backward: its inputs, its backward's gradients, and the right ones."""

import math
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME, relative_error, relative_errors
from minitransformer.checking.contract import copied
from minitransformer.checking.numeric import complex_step, line_of, slopes
from minitransformer.checking.subject import Subject, drawing, flat, is_float
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from minitransformer_course.doctor.other_sizes import filled, resized

# at most this many numbers of wrong arrays are differentiated one by one, to answer in time,
AFFORDABLE = 1_200
SMALL = 2_000  # a case with more numbers is searched at smaller sizes
MEMORY = 10_000_000  # and only as many as have this many derivatives in all


class Case:
    """A copy of a Subject with the upstream gradient `dy` (drawn from `seed` if None).

    observed: {name: the gradient from backward}, for each input and parameter.
    """

    def __init__(self, subject: Subject, dy: Any = None, seed: int = 0):
        self.subject = subject.astype(np.float64)
        self.block, self.make_rng = self.subject.block, self.subject.make_rng
        self.arguments, self.inputs = self.subject.arguments, self.subject.inputs
        self.y, cache = self.subject.forward()
        self.dy = self.subject.upstream(self.y, drawing(seed)) if dy is None else dy
        self.observed = copied(self.subject.gradients(self.dy, cache))
        # the library's block that computes the same, once it is known (counterpart.py)
        self.counterpart: Any = None

    @cached_property
    def wrong(self) -> list[str]:
        """The names of the arrays with a wrong gradient."""
        if self.counterpart:
            errors = relative_errors(
                self.observed.values(), [self.right[name] for name in self.observed]
            )
            return [name for name, error in zip(self.observed, errors) if error > SAME]
        return [name for name in self.observed if not self._error_along([name]) <= SAME]

    @cached_property
    def is_wrong(self) -> bool:
        """Whether any gradient is wrong; takes one evaluation."""
        return bool(self.observed) and not self._error_along(list(self.observed)) <= SAME

    @cached_property
    def right(self) -> dict[str, Array]:
        """{name: the right gradient} of all arrays, or of those within the limits above."""
        return self.right_for(self.dy)

    @property
    def is_known(self) -> bool:
        """Whether all right gradients are."""
        return set(self.wrong) <= self.right.keys()

    def right_for(self, dy) -> dict[str, Array]:
        """The right gradients for another upstream gradient: from the counterpart, or from the
        Jacobian.
        """
        if self.counterpart:
            return self.counterpart.gradients(dy)
        exact = {
            name: (jacobian @ flat(dy)).reshape(self.observed[name].shape)
            for name, jacobian in self._jacobians.items()
        }
        return {
            name: exact.get(name, g)
            for name, g in self.observed.items()
            if name in exact or name not in self.wrong
        }

    @cached_property
    def _jacobians(self) -> dict[str, Array]:
        """{name: the derivative of y by each of its numbers (size, size of y)} of the wrong arrays
        within the limits.
        """
        exact, jacobians = self._complex, {}
        budget = min(AFFORDABLE, MEMORY // max(flat(self.y).size, 1))
        for name in sorted(
            self.wrong, key=lambda name: (name not in self.inputs, self.observed[name].size)
        ):
            array = exact.variables[name]
            budget -= array.size
            if budget >= 0:
                jacobians[name] = np.array(
                    [slopes(line_of(exact.evaluate, array, i)) for i in np.ndindex(array.shape)]
                )
        return jacobians

    def depends_on(self, name) -> bool | None:
        """Whether y changes when that input or parameter does, no matter what its gradient is."""
        array = self.subject.variables[name]
        saved, y = array.copy(), flat(self.y)  # copies: y may be a view of the array
        try:
            array[...] = saved * drawing(0).uniform(-2, 2, saved.shape) + 1
            return not np.array_equal(self.subject.evaluate(), y, equal_nan=True)
        except InputError:  # it does not run with other numbers: it depends on their values
            return True
        finally:
            array[...] = saved

    def agrees(self, gradients) -> bool:
        """Whether {name: gradient} agree with the numeric slope along a random direction of all
        arrays at once.
        """
        return self._error_along(list(gradients), gradients) <= SAME

    def error(self, gradients) -> float:
        """The largest error of the observed gradients against {name: gradient}, as the check
        measures it.
        """
        return relative_error([self.observed[name] for name in gradients], gradients.values())

    @cached_property
    def _complex(self) -> Subject:
        return self.subject.astype(np.complex128)

    def _error_along(self, names, gradients=None) -> float:
        """How far the gradients of `names` are from the slope along a random direction of all these
        arrays at once.

        gradients: {name: array} (the observed ones if None), of which all give the scale. Each
        array is measured in its unit.
        """
        gradients = gradients or self.observed
        rng, units = drawing(6), self._complex.units
        directions = {
            name: units[name] * rng.standard_normal(gradients[name].shape) for name in names
        }
        line = partial(self._complex.moved, directions)
        numeric = complex_step(line, flat(self.dy))
        analytic = sum(float((gradients[name] * v).sum()) for name, v in directions.items())
        sizes = {name: units[name] * np.sqrt((g * g).sum()) for name, g in gradients.items()}
        along = np.sqrt(sum(sizes[name] ** 2 for name in directions))
        scale = max(along, abs(numeric), max(sizes.values(), default=0) / 10)
        return abs(analytic - numeric) / scale if scale else 0.0


def case_or_none(subject: Subject, dy: Any = None, seed: int = 0) -> Case | None:
    """The Case, or None if the block cannot run like that."""
    try:
        with np.errstate(all="ignore"):
            return Case(subject, dy, seed)
    except InputError:
        return None


def other_cases(case, seed=7) -> list[Case]:
    """Cases of the same block at other sizes, as many as it runs at; none if it runs only at the
    given sizes.
    """
    return _running(resized(case.subject, seed))


def redrawn(case) -> list[Case]:
    """Cases of the same sizes with other parameters and inputs."""
    return _running(_drawn(case, lambda size: size, drawing(13, k)) for k in range(2))


def affordable(case, own) -> Case:
    """The case or, if it takes too long, one of smaller sizes that is wrong, too. own: its source
    is a reader's, whose changes are run on it.
    """
    numbers = sum(array.size for array in case.subject.variables.values())
    if (numbers <= SMALL or not own) and case.is_known:
        return case
    sizes = {size for array in case.subject.variables.values() for size in array.shape}
    block, small = case.block, {}
    parts = [block, *block.sublayers().values()] if isinstance(block, Layer) else []
    counts = {
        value for part in parts for value in vars(part).values() if type(value) is int and value > 1
    }
    for size in sorted(sizes):
        unit = math.lcm(*(count for count in counts if size % count == 0 and count < size))
        part = (
            next((one for one in small if size in (2 * one, 3 * one, 4 * one) and unit == 1), None)
            if size > 8
            else None
        )
        new = (
            size // part * small[part]
            if part
            else next(
                n
                for n in range(2 * unit if unit > 1 else 3, size + 3 * unit, unit)
                if n not in small.values()
            )
        )
        small[size] = size if size in counts else min(size, new)
    fixed = {size for parameter in case.subject.parameters.values() for size in parameter.shape}
    smaller = [
        one
        for names in (small, {size: small[size] for size in sizes - fixed})
        for one in _running([_drawn(case, partial(_replaced, names), drawing(12))])
        if set(one.wrong) >= set(case.wrong)
    ]
    return min(smaller, key=lambda one: sum(g.size for g in one.observed.values()), default=case)


def _replaced(names: dict[int, int], size: int) -> int:
    return names.get(size, size)


def _drawn(case: Case, resize: Callable[[int], int], rng: np.random.Generator) -> Subject:
    """The Subject drawn again with `resize(size)` in place of each size."""
    block = case.block.astype(np.float64) if isinstance(case.block, Layer) else case.block
    for parameter in block.parameters().values() if isinstance(block, Layer) else ():
        parameter.data = filled(parameter.data, [resize(size) for size in parameter.shape], rng)
        parameter.grad = np.zeros(parameter.data.shape)
    arguments = {
        name: value
        if not isinstance(value, np.ndarray)
        else filled(value, [resize(size) for size in value.shape], rng)
        if is_float(value)
        else value[tuple(slice(resize(size)) for size in value.shape)]
        for name, value in case.arguments.items()
    }
    return Subject(block, arguments, make_rng=case.make_rng)


def _running(subjects: Iterable[Subject]) -> list[Case]:
    cases = [
        case_or_none(subject, seed=number)  # each with another dy
        for number, subject in enumerate(subjects, start=1)
    ]
    return [
        one
        for one in cases
        if one is not None and all(np.isfinite(g).all() for g in one.observed.values())
    ]
