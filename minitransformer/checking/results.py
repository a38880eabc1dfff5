"""Each array's gradient against its numeric derivative: a Result for each array and method.

A difference beyond the bound need not be a mistake. A shorter step may agree; exactly at a kink no
gradient is defined; and the difference may be what rounding leaves of numbers that cancel.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import size_of
from minitransformer.checking.contract import copied
from minitransformer.checking.numeric import (
    DROPPED,
    Line,
    central,
    complex_step,
    contradict,
    kink,
    line_of,
    of_each,
)
from minitransformer.checking.report import BOUNDS, Result
from minitransformer.checking.subject import Subject, drawing, each, flat
from minitransformer.errors import InputError, some

METHODS: dict[str, Callable[..., float]] = {"central": central, "complex": complex_step}
MANY = 30  # times what another rounding changes: no difference beyond is due to it
ULPS = 2.0**-48  # a number that is larger by this part is rounded differently
A_LITTLE = 1e-6  # a mistake hardly changes if all numbers change by this part
UNLIKE = 0.3  # of itself: a difference that changes by more is not a mistake's
TINY = 2.0**-48  # of the largest gradient: what numbers leave that should cancel
ROUNDING = 2.0**-52  # of the largest gradient: no smaller difference counts
SEVERAL = 5  # numbers of an array are looked at


class Element(NamedTuple):
    """One number of a variable."""

    wrt: str
    where: tuple[int, ...]
    unit: float

    def analytic(self, gradients: dict[str, Array]) -> float:
        return float(gradients[self.wrt][self.where])

    def line(self, subject: Subject) -> Line:
        return line_of(subject.evaluate, subject.variables[self.wrt], self.where)

    def size(self, subject: Subject) -> float:
        """Of the number itself."""
        return float(np.abs(subject.variables[self.wrt][self.where])) or self.unit


class Along(NamedTuple):
    """A direction in which one or several variables move."""

    directions: dict[str, Array]
    unit: float

    def analytic(self, gradients: dict[str, Array]) -> float:
        return sum(float((gradients[name] * v).sum()) for name, v in self.directions.items())

    def line(self, subject: Subject) -> Line:
        return lambda step: subject.moved(self.directions, step)

    def size(self, subject: Subject) -> float:
        return self.unit

    def typical(self, gradients: dict[str, Array]) -> float:
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
        self._nearby: dict[float, list[Run]] = {}

    def elements(self, method: str) -> Iterator[Result]:
        """Check each number of each array.

        The error of an array is max|a - n| / max(max|a|, max|n|, G / 10), with a analytic, n
        numeric and G the largest gradient of the check.
        """
        subject, gradients = self.run.in_dtype_of(method), self.run.gradients
        dy, units = flat(self.run.dy), self.units
        numerics = {
            wrt: of_each(METHODS[method], subject.evaluate, dy, array, units[wrt])
            for wrt, array in subject.variables.items()
            if array.size
        }
        sizes = {
            wrt: max(size_of(gradients[wrt]), size_of(numeric)) for wrt, numeric in numerics.items()
        }
        for wrt, numeric in numerics.items():
            places = {index: Element(wrt, index, units[wrt]) for index in np.ndindex(numeric.shape)}
            yield self._result(wrt, method, gradients[wrt], numeric, sizes, places)

    def projections(
        self, method: str, rng: np.random.Generator, together: bool = False
    ) -> Iterator[Result]:
        """Check the slope along one random direction v of each array, or of all together, against
        g.v; the error is |g.v - n| / (|g| |v| / sqrt(size)) with the same floor.
        """
        method, gradients = f"{method} projection", self.run.gradients
        directions = {wrt: rng.standard_normal(g.shape) for wrt, g in gradients.items() if g.size}
        lines = {wrt: Along({wrt: v}, self.units[wrt]) for wrt, v in directions.items()}
        if together:
            in_units = {wrt: self.units[wrt] * v for wrt, v in directions.items()}
            lines = {", ".join(directions): Along(in_units, 1.0)}
        sizes = {wrt: line.typical(gradients) for wrt, line in lines.items()}
        for wrt, line in lines.items():
            analytic = np.array([line.analytic(gradients)])
            numeric = np.array([self.run.slope(line, method)])
            yield self._result(wrt, method, analytic, numeric, sizes, {(0,): line})

    def _result(
        self,
        wrt: str,
        method: str,
        analytic: Array,
        numeric: Array,
        sizes: dict[str, float],
        places: Mapping[tuple[int, ...], Element | Along],
    ) -> Result:
        """The Result of numbers that are each compared at one of `places`. sizes: what is typical
        of the gradient of each array.

        The complex step is so exact that a difference counts though it is small beside the floor.
        """
        bound, difference = BOUNDS[method], np.abs(analytic - numeric)
        own, largest = max(sizes[wrt], size_of(numeric)), max(sizes.values())
        scale = max(own, largest / 10, self._in_its_unit(wrt, sizes) / 10)
        errors, least = relative(difference, scale), scale
        if method.startswith("complex"):
            least = max(own, ROUNDING * largest / bound) if self._units_are_alike() else own
        doubtful = [tuple(i) for i in np.argwhere(~(difference <= bound * least)).tolist()]
        doubtful.sort(key=lambda i: -np.nan_to_num(difference[i], nan=np.inf))
        left_out, at_kink, wrong = 0, [], None
        for done, index in enumerate(doubtful):
            place, rest = places[index], doubtful[done:]
            if not np.isfinite(analytic[index]):
                wrong = index
            elif self._agrees_closer(place, method, bound * least):
                left_out += 1
            elif self._is_at_kink(place):
                at_kink.append(index)
            elif self._only_complex(place, method, DROPPED * least):
                left_out += 1
            elif self._is_rounding([places[i] for i in rest[:SEVERAL]], method, largest):
                beyond = [i for i in rest if not errors[i] <= bound]
                left_out += len(beyond)
                for i in beyond:
                    errors[i] = 0
                break
            else:
                wrong = index
            if wrong is not None:
                break
            errors[index] = 0
        if wrong is not None and errors[wrong] <= bound:  # because of the floor
            errors = relative(difference, least)
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

    def _units_are_alike(self) -> bool:
        """Whether the gradients of all arrays can be measured against the largest one."""
        units = self.units.values()
        return max(units) <= 1e6 * min(units)

    def _in_its_unit(self, wrt: str, sizes: dict[str, float]) -> float:
        """The largest gradient for an array of this one's unit."""
        if wrt not in self.units:  # several at once, in their units
            return 0.0
        return max(size * self.units[other] for other, size in sizes.items()) / self.units[wrt]

    def _agrees_closer(self, place: Any, method: str, tolerance: float) -> bool:
        """Whether central differences with a shorter step agree: there is a kink within the usual
        one, too much curvature, or the number is much smaller than its array.
        """
        if method.startswith("complex"):
            return False
        analytic, subject = place.analytic(self.run.gradients), self.run.subject
        line, dy = place.line(subject), flat(self.run.dy)
        units = {place.unit, place.unit / 10, place.size(subject)}
        return any(abs(central(line, dy, unit) - analytic) <= tolerance for unit in units)

    def _only_complex(self, place: Any, method: str, tolerance: float) -> bool:
        """Whether the complex step agrees where central differences show nothing, because of
        rounding or curvature.
        """
        if method.startswith("complex") or self.run.moving is None:
            return False
        slope, line = self.run.slope(place, "complex"), place.line(self.run.subject)
        off = abs(slope - place.analytic(self.run.gradients))
        return off <= tolerance and not contradict(line, flat(self.run.dy), slope, place.unit)

    def _is_at_kink(self, place: Any) -> bool:
        return self.at_kinks and kink(place.line(self.run.subject), place.unit)

    def _is_rounding(self, places: list, method: str, largest: float) -> bool:
        """Whether the differences at these places, the largest first, are due to rounding: they are
        no larger than what gradients and numeric derivatives change by if they are rounded
        differently; or they are tiny, and others if all numbers change a little.
        """

        def both(run: Run) -> Array:
            return np.array(
                [(place.analytic(run.gradients), run.slope(place, method)) for place in places]
            )

        here = both(self.run)
        difference = here[:, 0] - here[:, 1]
        changes = [np.abs(both(run) - here).sum(axis=1) for run in self._moved_by(ULPS)]
        if abs(difference[0]) <= MANY * np.max(changes, initial=0):
            return True
        if not abs(difference[0]) <= TINY * largest:
            return False
        others = [both(run) @ (1, -1) - difference for run in self._moved_by(A_LITTLE)]
        least = UNLIKE * np.linalg.norm(difference)
        return any(np.linalg.norm(other) > least for other in others)

    def _moved_by(self, part: float) -> list[Run]:
        """The same run three times more, with all numbers changed by at most that part of them;
        equal numbers of an array stay equal.
        """
        if part not in self._nearby:
            runs, rng = [], drawing(22)

            def near(array: Array) -> Array:
                values, places = np.unique(array, return_inverse=True)
                moved = values * (1 + part * rng.uniform(-1, 1, values.shape))
                return moved[places].reshape(array.shape)

            for _ in range(3):
                variables = self.run.subject.variables
                subject = self.run.subject.at({name: near(a) for name, a in variables.items()})
                dy = each(near, self.run.dy)
                try:
                    gradients = copied(subject.gradients(dy, subject.forward()[1]))
                except InputError:  # at the end of what forward accepts
                    continue
                moving = self.run.moving and subject.astype(np.complex128)
                runs.append(Run(subject, moving, dy, gradients))
            self._nearby[part] = runs
        return self._nearby[part]


def relative(difference: Array, scale: float) -> Array:
    """difference / scale; 0 / 0 is 0: where every gradient is 0, both must be."""
    return np.where(difference == 0, 0, difference / scale if scale else np.inf)
