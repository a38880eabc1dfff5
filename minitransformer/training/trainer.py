"""The training loop: steps, the log, validation, and stopping without losing anything."""

import json
import math
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from minitransformer.backend import available_cores
from minitransformer.errors import InputError
from minitransformer.evaluation import mean_loss, perplexity
from minitransformer.optim import Adam, cooldown, schedule
from minitransformer.plots import curves
from minitransformer.training.not_finite import find_not_finite
from minitransformer.training.team import Team

MAX_STEPS = 10 ** 9
MAX_FACTOR = 10 ** 6
MAX_THREADS = 1024
LOG_EVERY = 10    # steps; reading the loss waits for the GPU
BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


def default_threads():
    """The cores there are, up to four: with more, each thread's part of a usual batch is too small."""
    return min(4, available_cores())


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained."""

    steps: int                  # updates
    warmup: int                 # steps until the learning rate peaks
    rate_factor: float = 1.0    # multiplies the paper's schedule
    cooldown: float = 0.5       # share of the steps, at the end, in which the rate falls to 0
    smoothing: float = 0.1      # label smoothing
    clip: float = 1.0           # largest norm of the gradient
    validate_every: int = 500   # steps
    seed: int = 0
    threads: int = field(default_factory=default_threads)    # that share each batch; on a GPU there is one

    def __post_init__(self):
        for name in ("steps", "warmup", "validate_every"):
            if not 1 <= getattr(self, name) <= MAX_STEPS:
                raise InputError(f"{name} is {getattr(self, name)}, expected 1 to {MAX_STEPS:,}")
        for name in ("rate_factor", "clip"):
            if not 0 < getattr(self, name) <= MAX_FACTOR:
                raise InputError(f"{name} is {getattr(self, name)}, expected a number above 0, at most {MAX_FACTOR:,}")
        if not 1 <= self.threads <= MAX_THREADS:
            raise InputError(f"threads is {self.threads}, expected 1 to {MAX_THREADS:,}")
        if not 0 <= self.smoothing < 1:
            raise InputError(f"smoothing is {self.smoothing}, expected at least 0 and below 1")
        if not 0 <= self.cooldown <= 1:
            raise InputError(f"cooldown is {self.cooldown}, expected 0 to 1")


def train(run, config, batches, valid):
    """Train run.model for config.steps on the iterator `batches`; log, validate and save into the run folder.

    `valid`: pairs of id lists. Returns how many steps were made: fewer than config.steps after
    Ctrl-C, which ends the step under way, saves the weights and stops. Raises InputError where the
    loss is no longer a number; the weights saved last are kept.
    """
    model = run.model
    saved = None    # the step of the weights in the run folder
    recent = []     # the batches since the last look at the loss
    optimizer = Adam(model)
    team = Team(model, config.threads if model.xp is np else 1)
    records = []
    with (run.path / "metrics.jsonl").open("w", encoding="utf-8") as log, \
            tqdm(total=config.steps, bar_format=BAR, file=sys.stderr, dynamic_ncols=True) as bar, \
            _stop_on_interrupt() as stop, threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):

        def record(**values):
            records.append(values)
            log.write(json.dumps(values) + "\n")
            log.flush()

        loss = nll = tokens = 0
        since = time.perf_counter()
        for step in range(1, config.steps + 1):
            batch = next(batches)
            recent.append(batch)
            rate = schedule(step, model.config.d_model, config.warmup, config.rate_factor) \
                * cooldown(step, config.steps, config.cooldown)
            sums = team.training_step(optimizer, batch, rate, (config.seed, step), config.smoothing, config.clip)
            loss, nll, tokens = loss + sums.loss, nll + sums.negative_log_likelihood, tokens + batch.tokens
            bar.update()
            stopping = stop.is_set()
            last = step == config.steps or stopping
            validating = step % config.validate_every == 0 or last
            if step % LOG_EVERY == 0 or validating:
                loss, nll, updates = float(loss) / tokens, float(nll) / tokens, int(optimizer.updates)
                if updates < step or not math.isfinite(loss):
                    bad = min(updates + 1, step)
                    parts = team.parts(recent[bad - step - 1], (config.seed, bad))
                    block, direction = find_not_finite(model, parts, config.smoothing)
                    kept = f"the weights of step {saved} are kept" if saved else "no weights were saved yet"
                    raise InputError(f"step {bad}: NaN or infinity in {block}, {direction}; {kept}. "
                                     "Try a smaller --rate-factor")
                speed = tokens / (time.perf_counter() - since)
                record(step=step, loss=loss, nll=nll, perplexity=perplexity(nll), tokens_per_second=round(speed),
                       learning_rate=rate)
                bar.set_postfix_str(f"loss {loss:.3f}, perplexity {perplexity(nll):.4g}, {speed:,.0f} tokens/s")
                loss = nll = tokens = 0
                recent.clear()
                since = time.perf_counter()
            if validating:
                run.save_weights()
                saved = step
            if validating and not stopping:
                valid_nll = mean_loss(model, valid)
                record(step=step, valid_nll=valid_nll, valid_perplexity=perplexity(valid_nll))
                bar.write(f"step {step}: validation perplexity {perplexity(valid_nll):.4g}", file=sys.stderr)
                since = time.perf_counter()
            if last:
                break
    try:
        curves(records, run.path / "loss.png")
    except (ImportError, ValueError) as error:    # a matplotlib that cannot draw; the training is done
        print(f"loss.png was not drawn: {error}", file=sys.stderr)
    return step


@contextmanager
def _stop_on_interrupt():
    """Yields an Event that the first Ctrl-C sets; the second one interrupts at once, as usual."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop    # only the main thread may handle signals
        return

    def handle(*_):
        stop.set()
        print("\nstopping after this step; Ctrl-C again stops at once, without saving", file=sys.stderr)
        signal.signal(signal.SIGINT, usual)

    usual = signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, usual)
