"""What the doctor examines: a block whose gradients are wrong, and the block run again with a change."""

from functools import partial

import numpy as np

from minitransformer.checking.numeric import complex_step
from minitransformer.checking.checked_block import CheckedBlock
from minitransformer.special import PAD
from minitransformer.layers import Layer

WRONG = 1e-6      # a gradient further off than this (relative) is wrong
EXPLAINED = 1e-8  # what a pattern must bring the error down to
BUDGET = 800      # so many numbers of wrong arrays are compared one by one, to answer within a second


class FailedCheck:
    """A block with its inputs, its analytic and numeric gradients, and the names of the wrong ones."""

    def __init__(self, block, inputs, seed):
        self.block = block
        self._positional = not isinstance(inputs, dict)
        self._make_rng = partial(np.random.default_rng, seed)
        checked = CheckedBlock(block, inputs, np.float64, self._make_rng)
        self.inputs, self.takes_rng = dict(checked.arguments), checked.takes_rng
        self.parameters = [] if isinstance(block, tuple) else list(block.parameters())
        self.dy, self.analytic, errors = self._examine(block, inputs, self._make_rng)
        self.wrong = [name for name, error in errors.items() if not error <= WRONG]
        exact = CheckedBlock(block, inputs, np.complex128, self._make_rng)
        self.numeric = {}    # of the wrong arrays, as far as the budget goes
        for name in self.wrong:
            array = exact.variables[name]
            if array.size + sum(n.size for n in self.numeric.values()) <= BUDGET:
                slopes = [complex_step(exact.evaluate, self.dy, array, index, 1.0)
                          for index in np.ndindex(array.shape)]
                self.numeric[name] = np.reshape(slopes, array.shape)

    @property
    def names(self):
        return ", ".join(self.wrong[:3]) + (" and others" if len(self.wrong) > 3 else "")

    def wrong_pairs(self):
        """(analytic, numeric) of the wrong arrays: of the parameters if one is wrong, else of the inputs.

        An input that is used in several places mixes their gradients; a parameter's are one mistake's own.
        """
        chosen = [name for name in self.numeric if name in self.parameters] or list(self.numeric)
        return [(self.analytic[name], self.numeric[name]) for name in chosen]

    def ratio(self):
        """The constant r with analytic = r * numeric in every wrong pair, or None."""
        ratios = []
        for analytic, numeric in self.wrong_pairs():
            if not numeric.any():
                return None
            r = (analytic * numeric).sum() / (numeric * numeric).sum()
            if not np.abs(analytic - r * numeric).max() <= EXPLAINED * np.abs(numeric).max() * max(1, abs(r)):
                return None
            ratios.append(r)
        return ratios[0] if ratios and np.ptp(ratios) <= EXPLAINED * abs(ratios[0]) else None

    def right(self, block=None, inputs=None, make_rng=None):
        """Whether the gradients are right, and not all zero, with another block, inputs or generator."""
        named = {**self.inputs, **(inputs or {})}
        try:
            _, analytic, errors = self._examine(block or self.block, self._as_given(named), make_rng or self._make_rng)
        except (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError):
            return False    # the block cannot run like that
        alive = not self.wrong or any(analytic[name].any() for name in self.wrong if name in analytic)
        return alive and all(error <= EXPLAINED for error in errors.values())

    def checked(self, block=None, make_rng=None):
        """The block, or another one, with the inputs of the check in float64."""
        return CheckedBlock(block or self.block, self._as_given(self.inputs), np.float64, make_rng or self._make_rng)

    def _as_given(self, named):
        return list(named.values()) if self._positional else named

    def changed(self, change):
        """A copy of the layer in float64 after `change(copy)`; a pair of functions has nothing to change."""
        if isinstance(self.block, tuple):
            return None
        block = self.block.astype(np.float64)
        change(block)
        return block

    def sizes(self):
        """[(size, what it is)] that a gradient may have been divided by."""
        found = []
        for value in self.inputs.values():
            if isinstance(value, np.ndarray) and value.ndim >= 2 and value.dtype != bool:
                found += [(value.shape[0], "the batch"), (value.shape[1], "the length"),
                          (value.shape[0] * value.shape[1], "all tokens")]
            if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                found.append((int((value != PAD).sum()), "the real tokens"))
        return list(dict.fromkeys(found))

    @staticmethod
    def _examine(block, inputs, make_rng):
        """(dy, analytic gradients, {name: error along a random direction})."""
        checked = CheckedBlock(block, inputs, np.float64, make_rng)
        y, cache = checked.forward()
        rng = np.random.default_rng(0)
        dy = rng.standard_normal(np.shape(y))
        analytic = checked.gradients(dy, cache)
        exact = CheckedBlock(block, inputs, np.complex128, make_rng)
        directions = {name: rng.standard_normal(g.shape) for name, g in analytic.items()}
        numeric = {name: complex_step(exact.evaluate, dy, exact.variables[name], ..., v)
                   for name, v in directions.items()}
        scale = {name: np.sqrt((g * g).sum()) for name, g in analytic.items()}
        floor = max(max(scale.values(), default=0), max(map(abs, numeric.values()), default=0)) / 10
        return dy, analytic, {
            name: 0.0 if not floor else
            abs((analytic[name] * v).sum() - numeric[name]) / max(scale[name], abs(numeric[name]), floor)
            for name, v in directions.items()}


def same(a, b):
    return abs(a - b) <= EXPLAINED * abs(b)


def equal(a, b):
    return a.shape == b.shape and bool(b.any()) and np.abs(a - b).max() <= EXPLAINED * np.abs(b).max()


def layers_of(block):
    """`block` and every layer below it; nothing for a pair of functions."""
    return [block, *block.sublayers().values()] if isinstance(block, Layer) else []
