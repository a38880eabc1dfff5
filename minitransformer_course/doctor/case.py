"""A block run once, forward and backward: its inputs, its backward's gradients, and the right ones."""

import copy
from functools import cached_property

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import CheckedBlock, drawing, flat
from minitransformer.checking.compare import SAME, relative_error, relative_errors
from minitransformer.checking.numeric import error_along, slopes
from minitransformer.checking.other_sizes import other_inputs
from minitransformer.errors import InputError

AFFORDABLE = 1_200   # at most this many numbers of wrong arrays are differentiated one by one, to answer in time,
MEMORY = 10_000_000  # and only as many as have this many derivatives in all


class Case:
    """The block `block` at `arguments`, with the upstream gradient `dy` (drawn from `seed` if None).

    observed: {name: the gradient from backward}, for each input and parameter.
    """

    def __init__(self, block, arguments, make_rng, dy=None, seed=0):
        self.block, self.given, self.make_rng = block, arguments, make_rng
        self.checked = CheckedBlock(block, arguments, np.float64, make_rng)
        self.arguments = self.checked.arguments
        self.inputs = self.checked.inputs
        self.y, cache = self.checked.forward()
        self.dy = self.checked.upstream(self.y, drawing(seed)) if dy is None else dy
        self.observed = {name: np.array(g) for name, g in self.checked.gradients(self.dy, cache).items()}
        self.counterpart = None    # the library's block that computes the same, once it is known (counterpart.py)

    @cached_property
    def wrong(self) -> list[str]:
        """The names of the arrays with a wrong gradient."""
        if self.counterpart:
            errors = relative_errors(self.observed.values(), [self.right[name] for name in self.observed])
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

    def right_for(self, dy) -> dict[str, Array]:
        """The right gradients for another upstream gradient: from the counterpart, or from the Jacobian."""
        if self.counterpart:
            return self.counterpart.gradients(dy)
        exact = {name: (jacobian @ flat(dy)).reshape(self.observed[name].shape)
                 for name, jacobian in self._jacobians.items()}
        return {name: exact.get(name, g) for name, g in self.observed.items() if name in exact or name not in self.wrong}

    @cached_property
    def _jacobians(self) -> dict[str, Array]:
        """{name: the derivative of y by each of its numbers (size, size of y)} of the wrong arrays within the limits."""
        exact, jacobians = self._complex, {}
        budget = min(AFFORDABLE, MEMORY // max(flat(self.y).size, 1))
        for name in sorted(self.wrong, key=lambda name: (name not in self.inputs, self.observed[name].size)):
            array = exact.variables[name]
            budget -= array.size
            if budget >= 0:
                jacobians[name] = np.array([slopes(exact.evaluate, array, index, 1.0) for index in np.ndindex(array.shape)])
        return jacobians

    def depends_on(self, name) -> bool | None:
        """Whether y changes when that input or parameter does, no matter what its gradient is."""
        array = self.checked.variables[name]
        saved, y = array.copy(), flat(self.y)    # copies: y may be a view of the array
        try:
            array[...] = saved * drawing(0).uniform(-2, 2, saved.shape) + 1
            return not np.array_equal(self.checked.evaluate(), y, equal_nan=True)
        except InputError:    # it does not run with other numbers: it depends on their values
            return True
        finally:
            array[...] = saved

    def with_only(self, name) -> "Case":
        """The same case with every gradient right but that of `name`."""
        one = copy.copy(self)
        one.observed = {other: (self.observed if other == name else self.right)[other] for other in self.observed}
        one.wrong = [name]
        return one

    def agrees(self, gradients) -> bool:
        """Whether {name: gradient} agree with the numeric slope along a random direction of all arrays at once."""
        return self._error_along(list(gradients), gradients) <= SAME

    def error(self, gradients) -> float:
        """The largest error of the observed gradients against {name: gradient}, as the check measures it."""
        return relative_error([self.observed[name] for name in gradients], gradients.values())

    @cached_property
    def _complex(self) -> CheckedBlock:
        return CheckedBlock(self.block, self.given, np.complex128, self.make_rng)

    def _error_along(self, names, gradients=None) -> float:
        return error_along(self._complex, flat(self.dy), gradients or self.observed, names)


def case_or_none(block, arguments, make_rng, dy=None, seed=0) -> Case | None:
    """The Case, or None if the block cannot run like that."""
    try:
        with np.errstate(all="ignore"):
            return Case(block, arguments, make_rng, dy, seed)
    except InputError:
        return None


def other_cases(case, seed=7) -> list[Case]:
    """Cases of the same block at other sizes, as many as it runs at; none if it runs only at the given sizes."""
    inputs = other_inputs(case.block, case.arguments, case.make_rng, seed)
    cases = [case_or_none(*one, seed=number) for number, one in enumerate(inputs, start=1)]    # each with another dy
    return [one for one in cases if one is not None and all(np.isfinite(g).all() for g in one.observed.values())]
