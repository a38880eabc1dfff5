"""Each array's gradient against its numeric derivative: a Result for each array and method.

A difference beyond the bound need not be a mistake. A shorter step may agree; exactly at a kink no
gradient is defined; and the difference may be what rounding leaves of numbers that cancel.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import size_of
from minitransformer.checking.numeric import (
    Line,
    central,
    closest,
    complex_step,
    kink,
    line_of,
    of_each,
)
from minitransformer.checking.report import BOUNDS, Result
from minitransformer.checking.subject import Subject, drawing, each, flat
from minitransformer.errors import InputError, some

METHODS: dict[str, Callable[..., float]] = {"central": central, "complex": complex_step}
MANY = 30  # times what another step or another rounding changes: no difference beyond is due to it
RESOLVED = 1e-3  # of a gradient: central differences that change by more with their step are noise
ULPS = 2.0**-48  # a number that is larger by this part is rounded differently
SEVERAL = 5  # numbers of an array are rounded differently


class Element(NamedTuple):
    """One number of a variable."""

    wrt: str
    where: tuple[int, ...]
    unit: float

    def analytic(self, gradients: dict[str, Array]) -> float:
        return float(gradients[self.wrt][self.where])

    def line(self, subject: Subject) -> Line:
        return line_of(subject.evaluate, subject.variables[self.wrt], self.where)


class Along(NamedTuple):
    """A direction in which one or several variables move."""

    directions: dict[str, Array]  # in units
    unit: float = 1.0

    def analytic(self, gradients: dict[str, Array]) -> float:
        return sum(float((gradients[name] * v).sum()) for name, v in self.directions.items())

    def line(self, subject: Subject) -> Line:
        return lambda step: subject.moved(self.directions, step)

    def size(self, gradients: dict[str, Array]) -> float:
        """What `analytic` typically is: |g| |v| / sqrt(size)."""
        sizes = [
            np.linalg.norm(gradients[name]) * np.linalg.norm(v) / np.sqrt(v.size)
            for name, v in self.directions.items()
        ]
        return float(np.linalg.norm(np.nan_to_num(sizes)))


class Run(NamedTuple):
    """One forward and backward, and what came of them."""

    subject: Subject  # in float64
    moving: Subject | None  # in complex128; None if the complex step is not asked for
    dy: Any
    gradients: dict[str, Array]

    def in_dtype_of(self, method: str) -> Subject:
        return self.moving if method.startswith("complex") and self.moving else self.subject

    def slope(self, place: Element | Along, method: str) -> float:
        differentiate = METHODS[method.partition(" ")[0]]
        return differentiate(place.line(self.in_dtype_of(method)), flat(self.dy), place.unit)


class Comparison:
    """The gradients of a run against numeric derivatives. at_kinks: whether a number that is
    exactly at a kink is left out.
    """

    def __init__(self, run: Run, at_kinks: bool = True):
        self.run, self.at_kinks, self.units = run, at_kinks, run.subject.units

    def elements(self, method: str) -> Iterator[Result]:
        """Check each number of each array.

        The error of an array is max|a - n| / max(max|a|, max|n|, G / 10), with a analytic, n
        numeric and G the largest gradient of the check, in the unit of each array.
        """
        subject, gradients = self.run.in_dtype_of(method), self.run.gradients
        dy, units = flat(self.run.dy), self.units
        numerics = {
            wrt: of_each(METHODS[method], subject.evaluate, dy, array, units[wrt])
            for wrt, array in subject.variables.items()
            if array.size
        }
        largest = max(
            size_of(found[wrt]) * units[wrt] for found in (gradients, numerics) for wrt in numerics
        )
        for wrt, numeric in numerics.items():
            analytic = gradients[wrt]
            own = max(size_of(analytic), size_of(numeric))
            places = {index: Element(wrt, index, units[wrt]) for index in np.ndindex(numeric.shape)}
            floor = largest / units[wrt] / 10
            yield self._result(wrt, method, analytic, numeric, own, floor, places)

    def projections(
        self, method: str, rng: np.random.Generator, together: bool = False
    ) -> Iterator[Result]:
        """Check the slope along one random direction v of each array, or of all together, against
        g.v; the error is |g.v - n| / (|g| |v| / sqrt(size)) with the same floor.
        """
        method, gradients = f"{method} projection", self.run.gradients
        directions = {
            wrt: self.units[wrt] * rng.standard_normal(g.shape)
            for wrt, g in gradients.items()
            if g.size
        }
        lines = {wrt: Along({wrt: v}) for wrt, v in directions.items()}
        if together:
            lines = {", ".join(directions): Along(directions)}
        largest = max(line.size(gradients) for line in lines.values())
        for wrt, line in lines.items():
            analytic, numeric = line.analytic(gradients), self.run.slope(line, method)
            own = max(line.size(gradients), abs(numeric))
            one: dict[tuple[int, ...], Along] = {(0,): line}
            yield self._result(
                wrt, method, np.array([analytic]), np.array([numeric]), own, largest / 10, one
            )

    def _result(
        self,
        wrt: str,
        method: str,
        analytic: Array,
        numeric: Array,
        own: float,
        floor: float,
        places: Mapping[tuple[int, ...], Element | Along],
    ) -> Result:
        """The Result of numbers that are each compared at one of `places`.

        own: what is typical of them; floor: a tenth of what is typical of the check. The complex
        step is so exact that a difference that is small beside the floor counts, too.
        """
        bound, difference = BOUNDS[method], np.abs(analytic - numeric)
        errors = relative(difference, max(own, floor))
        least = own if method.startswith("complex") else max(own, floor)
        doubtful = [tuple(i) for i in np.argwhere(~(difference <= bound * least)).tolist()]
        doubtful.sort(key=lambda i: -np.nan_to_num(difference[i], nan=np.inf))
        left_out, at_kink, wrong = 0, [], None
        for done, index in enumerate(doubtful):
            place, rest = places[index], doubtful[done:]
            if np.isfinite(analytic[index]) and self._agrees_closer(place, method, bound * least):
                left_out += 1
            elif np.isfinite(analytic[index]) and self._is_at_kink(place):
                at_kink.append(index)
            elif self._is_rounding([places[i] for i in rest[:SEVERAL]], method):
                beyond = [i for i in rest if not errors[i] <= bound]
                left_out += len(beyond)
                for i in beyond:
                    errors[i] = 0
                break
            else:
                wrong = index
                if errors[index] <= bound:  # because of the floor
                    errors = relative(difference, least)
                break
            errors[index] = 0
        worst = np.unravel_index(errors.argmax(), errors.shape)  # NaN is the largest
        where = tuple(map(int, worst)) if wrong is None else wrong
        is_element = isinstance(places[where], Element)
        named = [f"{wrt}{list(index)}" if is_element else wrt for index in at_kink]
        return Result(
            self.run.subject.name,
            wrt,
            method,
            float(errors[where]),
            where if is_element else None,
            float(analytic[where]),
            float(numeric[where]),
            left_out + len(at_kink),
            some(named, 1),
        )

    def _agrees_closer(self, place: Any, method: str, tolerance: float) -> bool:
        """Whether central differences agree as well as they can with another step: there is a kink
        within the step, too much curvature, or another scale than that of the array.
        """
        if method.startswith("complex"):
            return False
        units = dict.fromkeys([place.unit, 1.0, min(self.units.values()), max(self.units.values())])
        slope, spread = closest(place.line(self.run.subject), flat(self.run.dy), units)
        analytic = place.analytic(self.run.gradients)
        resolved = MANY * spread <= max(tolerance, RESOLVED * max(abs(slope), abs(analytic)))
        return resolved and abs(slope - analytic) <= max(tolerance, MANY * spread)

    def _is_at_kink(self, place: Any) -> bool:
        return self.at_kinks and kink(place.line(self.run.subject), place.unit)

    def _is_rounding(self, places: list, method: str) -> bool:
        """Whether the first and largest of these differences is no larger than what rounding makes:
        rounded differently, gradients and numeric derivatives change about as much.
        """
        changes, differences = [0.0], []
        for place in places:
            analytic, numeric = place.analytic(self.run.gradients), self.run.slope(place, method)
            differences.append(abs(analytic - numeric))
            changes += [
                abs(place.analytic(run.gradients) - analytic)
                + abs(run.slope(place, method) - numeric)
                for run in self._rounded_differently
            ]
        return differences[0] <= MANY * max(changes)

    @cached_property
    def _rounded_differently(self) -> list[Run]:
        """The same run twice more, with all numbers changed in the last digits."""
        runs, rng = [], drawing(22)
        for factor in (1 + ULPS, 1 - ULPS):
            moved = {name: factor * array for name, array in self.run.subject.variables.items()}
            dy = each(lambda d: d * (1 + ULPS * rng.uniform(-1, 1, np.shape(d))), self.run.dy)
            subject = self.run.subject.at(moved)
            try:
                gradients = subject.gradients(dy, subject.forward()[1])
            except InputError:  # at the end of what forward accepts
                continue
            moving = self.run.moving and subject.astype(np.complex128)
            runs.append(Run(subject, moving, dy, gradients))
        return runs


def relative(difference: Array, scale: float) -> Array:
    """difference / scale; 0 / 0 is 0: where every gradient is 0, both must be."""
    return np.where(difference == 0, 0, difference / scale if scale else np.inf)
