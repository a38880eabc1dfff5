"""The settings of the training loop, checked."""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from minitransformer.checks import check_share, check_whole
from minitransformer.errors import InputError, choices
from minitransformer.workers.host import available_cores
from minitransformer.workers.launcher import launched
from minitransformer.workers.threads import MAX_THREADS
from minitransformer.training.optim import constant, cooldown, inverse_sqrt, schedule
from minitransformer.tables import ShownAsTable

MAX_STEPS = 10 ** 9
MAX_FACTOR = 10 ** 6
MAX_CHECKPOINTS = 1000
MAX_SEED = 2 ** 32 - 1
SCHEDULES: dict[str, Any] = {"paper": None, "inverse-sqrt": inverse_sqrt, "constant": constant}


def default_threads() -> int:
    """The process's share of the available cores, at most four: with more, each thread's part of a typical batch is too small."""
    return max(1, min(4, available_cores() // launched().here))


@dataclass(frozen=True)
class TrainingConfig(ShownAsTable):
    """The settings of a training run. Raises InputError for a meaningless one."""

    steps: int                       # updates
    warmup: int                      # steps until the learning rate peaks
    schedule: str = "paper"          # or "inverse-sqrt" or "constant", which rise to peak_rate
    rate_factor: float = 1.0         # multiplies the paper's schedule
    peak_rate: float | None = None   # the highest learning rate of the other schedules
    cooldown: float = 0.5            # fraction of the steps, at the end, during which the learning rate falls to 0
    accumulate: int = 1              # batches whose gradients are added up for each update
    smoothing: float = 0.1           # label smoothing
    clip: float = 1.0                # maximum norm of the gradient
    validate_every: int = 500        # steps; a checkpoint is saved each time
    patience: int = 0                # stop after this many validations without a lower loss; 0: never
    average: int = 1                 # number of last checkpoints whose average becomes the trained weights
    seed: int = 0
    threads: int = field(default_factory=default_threads)    # threads of each process that share a batch; always one on a GPU

    def __post_init__(self) -> None:
        for name in ("steps", "warmup", "accumulate", "validate_every"):
            check_whole(name, getattr(self, name), 1, MAX_STEPS)
        check_whole("patience", self.patience, 0, MAX_STEPS)
        check_whole("average", self.average, 1, MAX_CHECKPOINTS)
        check_whole("threads", self.threads, 1, MAX_THREADS)
        check_whole("seed", self.seed, 0, MAX_SEED)
        for name in ("rate_factor", "clip", *(["peak_rate"] if self.peak_rate is not None else [])):
            if not isinstance(getattr(self, name), Real) or not 0 < getattr(self, name) <= MAX_FACTOR:
                raise InputError(f"{name} is {getattr(self, name)!r}, expected a number above 0, at most {MAX_FACTOR:,}")
        check_share("smoothing", self.smoothing)
        if not isinstance(self.cooldown, Real) or not 0 <= self.cooldown <= 1:
            raise InputError(f"cooldown is {self.cooldown}, expected 0 to 1")
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule is {self.schedule!r}; {choices(self.schedule, SCHEDULES)}")
        if (self.peak_rate is None) != (self.schedule == "paper"):
            raise InputError(f"peak_rate is {self.peak_rate}, but the schedule {self.schedule} "
                             + ("has its own peak" if self.schedule == "paper" else "needs one"))

    def learning_rate(self, step, d_model) -> float:
        """The learning rate at `step` = 1, 2, ... for a model of width `d_model`."""
        rate = (schedule(step, d_model, self.warmup, self.rate_factor) if self.schedule == "paper"
                else SCHEDULES[self.schedule](step, self.warmup, self.peak_rate))
        return rate * cooldown(step, self.steps, self.cooldown)
