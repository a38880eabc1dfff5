"""The settings of the training loop, checked."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

from minitransformer.checks import check_fraction
from minitransformer.errors import InputError
from minitransformer.cores import available_cores
from minitransformer.speed.launcher import launched
from minitransformer.speed.threads import MAX_THREADS
from minitransformer.training.optim import constant, cooldown, inverse_sqrt, schedule
from minitransformer.tables import check_settings, setting

MAX_STEPS = 10**9
MAX_FACTOR = 10**6
LIMITS = {
    "steps": (1, MAX_STEPS),
    "warmup": (1, MAX_STEPS),
    "accumulate": (1, MAX_STEPS),
    "validate_every": (1, MAX_STEPS),
    "patience": (0, MAX_STEPS),
    "snapshot_every": (0, MAX_STEPS),
    "average": (1, 1000),
    "threads": (1, MAX_THREADS),
    "seed": (0, 2**32 - 1),
}
SCHEDULES: dict[str, Any] = {"paper": None, "inverse-sqrt": inverse_sqrt, "constant": constant}


def default_threads() -> int:
    """The process's share of the available cores, at most four: with more, each thread's part of a
    typical batch is too small.
    """
    return max(1, min(4, available_cores() // launched().here))


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a training run. Raises InputError for a meaningless one."""

    steps: int = setting("updates")
    warmup: int = setting("steps until the learning rate peaks")
    schedule: str = setting(
        "how the learning rate changes; inverse-sqrt and constant rise to the peak rate",
        "paper",
        SCHEDULES,
    )
    rate_factor: float = setting("multiplies the learning rate of the paper's schedule", 1.0)
    peak_rate: float | None = setting("the highest learning rate, for the other schedules", None)
    cooldown: float = setting(
        "fraction of the steps, at the end, during which the learning rate falls to 0", 0.5
    )
    accumulate: int = setting("batches whose gradients are added up for each update", 1)
    smoothing: float = setting("label smoothing", 0.1)
    clip: float = setting("maximum norm of the gradient; a larger one is scaled down", 1.0)
    validate_every: int = setting("steps between validations, each followed by a checkpoint", 500)
    patience: int = setting(
        "stop after this many validations without a lower loss, and keep the best weights (or the average); "
        "0: never",
        0,
    )
    average: int = setting(
        "number of last checkpoints whose average becomes the trained weights", 1
    )
    snapshot_every: int = setting(
        "steps between weights that are kept for the time slider of minitransformer explore; 0: none",
        0,
    )
    seed: int = setting(
        "random seed; the same seed and number of threads repeat a run bit for bit", 0
    )
    threads: int = setting(
        "threads that share each batch; always one on a GPU", default_factory=default_threads
    )

    def __post_init__(self) -> None:
        check_settings(self, LIMITS)
        for name in ("rate_factor", "clip", *(["peak_rate"] if self.peak_rate is not None else [])):
            if (
                not isinstance(getattr(self, name), Real)
                or not 0 < getattr(self, name) <= MAX_FACTOR
            ):
                raise InputError(
                    f"{name} is {getattr(self, name)!r}, expected a number above 0, at most {MAX_FACTOR:,}"
                )
        check_fraction("smoothing", self.smoothing)
        if not isinstance(self.cooldown, Real) or not 0 <= self.cooldown <= 1:
            raise InputError(f"cooldown is {self.cooldown}, expected 0 to 1")
        if (self.peak_rate is None) != (self.schedule == "paper"):
            raise InputError(
                f"peak_rate is {self.peak_rate}, but the schedule {self.schedule} "
                + ("has its own peak" if self.schedule == "paper" else "needs one")
            )

    def learning_rate(self, step: int, d_model: int) -> float:
        """The learning rate at `step` = 1, 2, ... for a model of width `d_model`."""
        rate = (
            schedule(step, d_model, self.warmup, self.rate_factor)
            if self.schedule == "paper"
            else SCHEDULES[self.schedule](step, self.warmup, self.peak_rate)
        )
        return rate * cooldown(step, self.steps, self.cooldown)
