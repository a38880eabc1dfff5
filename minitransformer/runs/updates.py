"""The updates of a training run, and their loss since it was last read."""

import math
import time
from collections.abc import Mapping
from typing import Any

from minitransformer.backend import Array, to_device
from minitransformer.errors import NonFiniteError
from minitransformer.models.model import LossSums
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.locate_non_finite import locate_non_finite
from minitransformer.training.optim import Adam
from minitransformer.training.step import training_step
from minitransformer.training.workers import OneWorker


class Updates:
    """What changes a model step by step: Adam and the workers that share each batch."""

    def __init__(self, model: Any, config: TrainingConfig, workers: OneWorker):
        self.model = model
        self.config = config
        self.workers = workers
        self.optimizer = Adam(model)
        self.sums = LossSums(0, 0)  # since the loss was last read, on the device
        self.terms = 0  # the same
        # for each step since then: (its batches, the number of updates before it)
        self.recent: list[tuple[list, Any]] = []

    @property
    def step(self) -> int:
        """The number of steps made."""
        return self.optimizer.steps

    @property
    def learning_rate(self) -> float:
        """That of the last step."""
        return self.config.learning_rate(self.step, self.model.config.d_model)

    def make(self, batches: list) -> None:
        """Make the next step. Raises NonFiniteError, naming the block, if its gradient is not
        finite; on a GPU, `take` and `check_finite` do.
        """
        config, step = self.config, self.step + 1
        try:
            sums = training_step(
                self.model,
                self.optimizer,
                batches,
                config.learning_rate(step, self.model.config.d_model),
                (config.seed, step),
                config.smoothing,
                config.clip,
                self.workers,
            )
        except NonFiniteError:
            raise self._not_finite(step, batches) from None
        self.recent.append((batches, self.optimizer.updates))
        self.sums = LossSums(*(total + new for total, new in zip(self.sums, sums)))
        self.terms += sum(batch.terms for batch in batches)

    def take(self) -> LossSums:
        """The mean losses per term since they were last taken."""
        self.check_finite()
        means = LossSums(*(float(total) / self.terms for total in self.sums))
        self.sums, self.terms = LossSums(0, 0), 0
        return means

    def check_finite(self) -> None:
        """Raise NonFiniteError, naming the first block that made NaN or infinity."""
        if int(self.optimizer.updates) < self.step or not math.isfinite(float(self.sums.loss)):
            raise self._not_finite(*self._first_without_update())
        self.recent.clear()

    def _first_without_update(self) -> tuple[int, list]:
        """(step, its batches); the last one if all made their update."""
        first = self.step - len(self.recent) + 1  # every earlier step made its update
        for step, (batches, updates) in enumerate(self.recent, first):
            if int(updates) < step:
                return step, batches
        return self.step, self.recent[-1][0]

    def _not_finite(self, step: int, batches: list) -> NonFiniteError:
        block, direction = locate_non_finite(
            self.model, self.workers, batches, (self.config.seed, step), self.config.smoothing
        )
        return NonFiniteError(f"step {step}: NaN or infinity in {block}, {direction}")

    def state(self) -> dict[str, Array]:
        """What a checkpoint keeps, beside the weights and `terms`."""
        xp, dtype = self.model.xp, self.optimizer.data.dtype
        return {
            "m": self.optimizer.m,
            "v": self.optimizer.v,
            "loss": xp.asarray(self.sums.loss, dtype=dtype),
            "nll": xp.asarray(self.sums.negative_log_likelihood, dtype=dtype),
        }

    def restore(self, step: int, terms: int, state: Mapping[str, Array]) -> None:
        """Go on after `step`, with what `state` returned there."""
        self.optimizer.set_state({"m": state["m"], "v": state["v"], "steps": step, "updates": step})
        self.terms = terms
        if terms:
            self.sums = LossSums(
                *(to_device(state[name], self.model.xp) for name in ("loss", "nll"))
            )


class Speed:
    """Tokens per second since the clock was started."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._since = time.perf_counter()
        self._tokens = 0

    def count(self, batches: list) -> None:
        self._tokens += sum(batch.num_tokens for batch in batches)

    def read(self) -> float:
        return self._tokens / (time.perf_counter() - self._since)
