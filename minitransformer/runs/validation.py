"""Validation: the loss on batches that training never sees, what else is measured there, and which
step was the best.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minitransformer.checks import check_kind
from minitransformer.errors import InputError
from minitransformer.runs.log import CLOCKS
from minitransformer.tasks.evaluation import count_terms, mean_loss

OURS = {  # names in the log that nothing else may have
    *("step", "loss", "nll", "perplexity", "learning_rate", "tokens_per_second"),
    *("valid_nll", "valid_perplexity", *CLOCKS),
}


@dataclass
class Best:
    """The step with the lowest validation loss so far."""

    step: int | None = None
    nll: float | None = None
    worse: int = 0  # validations since then


class Validation:
    """The batches to validate on, and a function `measure(model)` -> {name: number}, or None.

    Raises InputError if no loss can be computed on the batches: now rather than after many steps.
    """

    def __init__(self, batches: list, measure: Callable | None, threads: int):
        check_kind(isinstance(batches, (list, tuple)), "valid", batches, "a list of batches")
        for batch in batches:
            check_kind(hasattr(batch, "terms"), "valid: a batch", batch, "a batch of make_batch")
        count_terms("valid", batches)
        check_kind(
            measure is None or callable(measure), "measure", measure, "a function of the model"
        )
        self.batches = batches
        self.threads = threads
        self._measure = measure
        self.best = Best()
        self.due = False  # whether the weights as they are now are yet to be validated

    def of(self, model: Any) -> tuple[float, dict[str, float]]:
        """(the loss, what else is measured)."""
        return self.loss(model), self.measure(model)

    def note(self, step: int, nll: float) -> None:
        """Keep the loss of a validation, which is done."""
        self.due = False
        if self.best.nll is None or nll < self.best.nll:
            self.best = Best(step, nll)
        else:
            self.best.worse += 1

    def loss(self, model: Any) -> float:
        """The mean negative log-likelihood, in nats."""
        return mean_loss(model, self.batches, self.threads)

    def measure(self, model: Any) -> dict[str, float]:
        """What else is measured. Raises InputError if it cannot be logged."""
        found = self._measure(model) if self._measure else {}
        named = isinstance(found, Mapping) and all(isinstance(name, str) for name in found)
        if not named or OURS & set(found):
            raise InputError(
                f"measure(model) returned {found!r:.60}, expected {{name: number}} with names other than "
                f"{', '.join(sorted(OURS))}"
            )
        return {name: _number(name, value) for name, value in found.items()}


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"measure(model): {name} is {value!r:.60}, expected a finite number")
    return number
