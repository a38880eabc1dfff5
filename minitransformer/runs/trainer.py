"""The training loop: steps, the log, validation, checkpoints, and stopping without losing anything."""

import math
import time
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np

from minitransformer.backend import to_device, to_host
from minitransformer.checks import check_kind
from minitransformer.errors import InputError, NonFiniteError
from minitransformer.dispatch import kernels_run
from minitransformer.stderr import stderr
from minitransformer.runs import checkpoint
from minitransformer.runs.checkpoint import Checkpoint
from minitransformer.tasks.evaluation import mean_loss, perplexity
from minitransformer.runs.interrupt import stop_on_interrupt
from minitransformer.runs.locate_non_finite import locate_non_finite
from minitransformer.runs.lock import only_trainer
from minitransformer.runs.log import CLOCKS, FILE, as_text, parse_log, write_log
from minitransformer.training.optim import Adam
from minitransformer.runs.progress_bar import make_progress
from minitransformer.training.step import training_step
from minitransformer.speed.host import one_blas_thread
from minitransformer.speed.threads import Threads

LOG_EVERY = 10  # steps; reading the loss waits for the GPU


def train(run, config, batches, valid, measure=None, resume=False, make_workers=Threads) -> int:
    """Train run.model by `config`, a TrainingConfig, on the iterator `batches`; log, validate and
    save in the run folder.

    `valid`: batches for the validation loss. `measure(model)`, if given, returns {name: number} to
    log at each validation. With `resume`, training resumes from the run's newest checkpoint and
    ends with the same bits as if it had never stopped: make `batches` the same way again (its
    `position` is set if it has one, otherwise the batches already used are skipped), and run.model
    too if no checkpoint has been saved yet. `make_workers(model, threads)` makes the workers:
    Threads, LocalProcesses, or Processes if a launcher started several (workers/). Kernels run
    during training, and BLAS has one thread. Inside `with fast():` (speed/host.py) freed memory is
    kept, too: on its own, a library call changes no setting of the C library.

    Returns the number of steps made: fewer than config.steps after Ctrl-C or SIGTERM, which let the
    current step finish and save a checkpoint, or if `patience` ran out. Raises InputError if the
    loss becomes NaN or infinite, or a checkpoint cannot be saved; the last checkpoint is kept. Also
    raises it if the run has already been trained and `resume` is False, or has been trained to its
    end and no checkpoint is left.
    """
    loop = _Loop(run, config, batches, valid, measure, make_workers)
    with (
        kernels_run(),
        loop.workers,
        only_trainer(run.path) if loop.workers.is_main else nullcontext(),
    ):
        return loop.train(resume)


class _Loop:
    def __init__(self, run, config, batches, valid, measure, make_workers):
        check_kind(
            hasattr(batches, "__next__"),
            "batches",
            batches,
            "an endless iterator such as EpochBatches",
        )
        self.run, self.config, self.batches, self.valid = run, config, batches, valid
        self.measure = measure or (lambda model: {})
        self.model = run.model
        self.workers = make_workers(
            self.model, config.threads if self.model.xp is np else 1
        )  # may move the weights
        self.optimizer = Adam(self.model)
        self.optimizer.grad[...] = 0  # left by an interrupted step
        self.step = 0
        self.sums = {"loss": 0, "nll": 0}  # since the last line of the log, on the device
        self.terms = 0  # the same
        self.num_tokens = 0  # since the clock was started
        self.best_step = self.best_nll = None
        self.worse = 0  # validations since the best one
        self.saved = None  # the step of the last checkpoint
        self.log = []  # the contents of metrics.jsonl
        self.began = time.monotonic()  # minus the seconds trained before resuming
        # for each step since the loss was last read: (its batches, the number of updates before it)
        self.recent = []

    def train(self, resume=False) -> int:
        if resume:
            if self._take_trained():
                return self.step
            self._resume_from(checkpoint.newest(self.run.path))
            if self.workers.is_main:
                self.run.invalidate_weights()
        elif checkpoint.steps(self.run.path) or self.run.finished:
            raise InputError(
                f"{self.run.path}: this run has already been trained; resume it with resume=True, or create a new run"
            )
        self._check_alike()
        config = self.config
        self._write(FILE, lambda: write_log(self.run.path, self.log, "w"))
        with (
            make_progress(config.steps, self.step) as self.progress,
            one_blas_thread,
            np.errstate(all="ignore"),
        ):
            with stop_on_interrupt() as stop:
                self._keep_snapshot()
                self._start_clock()
                while not (stopped := self.workers.agree(stop.is_set())) and (
                    self.step < config.steps and not 0 < config.patience <= self.worse
                ):
                    self._make_step()
                    self._keep_snapshot()
                    validating = self.step % config.validate_every == 0 or self.step == config.steps
                    if self.step % LOG_EVERY == 0 or validating:
                        self._log_training(*self._finite_sums())
                    if validating:
                        self._validate()
                        self._save()
                        self._start_clock()
                if stopped and self.saved != self.step:
                    self._finite_sums()
                    self._save()
            if not stopped:
                self._finish()
        return self.step

    def _make_step(self) -> None:
        config = self.config
        self.step += 1
        batches = list(islice(self.batches, config.accumulate))
        if len(batches) < config.accumulate:
            raise InputError(
                f"the batches ended in step {self.step} of {config.steps}; expected an endless iterator"
            )
        learning_rate = config.learning_rate(self.step, self.model.config.d_model)
        try:
            sums = training_step(
                self.model,
                self.optimizer,
                batches,
                learning_rate,
                (config.seed, self.step),
                config.smoothing,
                config.clip,
                self.workers,
            )
        except NonFiniteError:
            raise self._not_finite(self.step, batches) from None
        self.recent.append((batches, self.optimizer.updates))
        self.sums["loss"] = self.sums["loss"] + sums.loss
        self.sums["nll"] = self.sums["nll"] + sums.negative_log_likelihood
        self.terms += sum(batch.terms for batch in batches)
        self.num_tokens += sum(batch.num_tokens for batch in batches)
        self.progress.update()

    def _keep_snapshot(self) -> None:
        if self.config.snapshot_every and self.step % self.config.snapshot_every == 0:
            self._write(
                f"the weights of step {self.step}",
                lambda: checkpoint.save_snapshot(self.run.path, self.step, self.model),
            )

    def _log_training(self, loss, nll) -> None:
        loss, nll = loss / self.terms, nll / self.terms
        speed = self.num_tokens / (time.perf_counter() - self.since)
        self._record(
            loss=loss,
            nll=nll,
            perplexity=perplexity(nll),
            tokens_per_second=round(speed),
            learning_rate=self.config.learning_rate(self.step, self.model.config.d_model),
        )
        self.progress.show(
            f"loss {loss:.3f}, perplexity {perplexity(nll):.4g}, {speed:,.0f} tokens/s"
        )
        self.sums, self.terms = {"loss": 0, "nll": 0}, 0
        self._start_clock()

    def _start_clock(self) -> None:
        self.since, self.num_tokens = time.perf_counter(), 0

    def _finite_sums(self) -> tuple[float, float]:
        """(loss, nll) since the last line of the log. Raises InputError that names the first block
        with NaN or infinity.
        """
        updates, loss, nll = (
            int(self.optimizer.updates),
            float(self.sums["loss"]),
            float(self.sums["nll"]),
        )
        if updates < self.step or not math.isfinite(loss):
            before = self.step - len(self.recent)  # every earlier step made its update
            bad = next(
                (
                    step
                    for step, (_, updates) in enumerate(self.recent, before + 1)
                    if int(updates) < step
                ),
                self.step,
            )
            raise self._not_finite(bad, self.recent[bad - before - 1][0])
        self.recent.clear()
        return loss, nll

    def _not_finite(self, step, batches) -> InputError:
        block, direction = locate_non_finite(
            self.model, self.workers, batches, (self.config.seed, step), self.config.smoothing
        )
        kept = (
            f"the weights of step {self.saved} are kept"
            if self.saved
            else "no weights were saved yet"
        )
        return InputError(
            f"step {step}: NaN or infinity in {block}, {direction}; {kept}. Try a smaller learning rate"
        )

    def _validate(self) -> None:
        def measured() -> tuple[float, dict[str, float]]:
            return self._valid_nll(), {
                name: float(value) for name, value in self.measure(self.model).items()
            }

        nll, others = self._in_main(measured)
        self._record(valid_nll=nll, valid_perplexity=perplexity(nll), **others)
        self.progress.write(f"step {self.step}: " + _as_text(self.log[-1]))
        if self.best_nll is None or nll < self.best_nll:
            self.best_step, self.best_nll, self.worse = self.step, nll, 0
        else:
            self.worse += 1

    def _valid_nll(self) -> float:
        return mean_loss(self.model, self.valid, self.config.threads)

    def _in_main(self, work) -> Any:
        """What work() returns in the main process: others might round it otherwise, and part from
        it.
        """
        return self.workers.gather(work() if self.workers.is_main else None)[0]

    def _check_alike(self) -> None:
        """Raise InputError if the processes hold different weights, since each moves its own."""
        if self.workers.processes == 1:
            return
        first, *others = self.workers.gather((self.step, crc32(to_host(self.optimizer.data).data)))
        for rank, (step, checksum) in enumerate(others, 1):
            if (step, checksum) != first:
                raise InputError(
                    f"the weights of process {rank} (step {step}) differ from those of process 0 (step {first[0]}); "
                    "run the same programs on all machines, and resume with: "
                    + self.run.resume_command
                )

    def _save(self) -> None:
        """Save a checkpoint; of the older ones, keep those that may still be needed."""
        self._check_alike()
        state = {
            "position": getattr(self.batches, "position", None),
            "terms": self.terms,
            "best_step": self.best_step,
            "best_nll": self.best_nll,
            "worse": self.worse,
        }
        sums = {
            name: self.model.xp.asarray(value, dtype=self.optimizer.data.dtype)
            for name, value in self.sums.items()
        }

        self._write(
            f"the checkpoint of step {self.step}",
            lambda: checkpoint.save(
                self.run.path,
                Checkpoint(
                    self.step,
                    {name: p.data for name, p in self.model.parameters().items()},
                    {"m": self.optimizer.m, "v": self.optimizer.v, **sums},
                    state,
                    (self.run.path / FILE).read_bytes(),
                ),
            ),
        )
        if self.workers.is_main:
            checkpoint.forget_old(self.run.path, self.config, self.step, self.best_step)
        self.saved = self.step

    def _resume_from(self, last) -> None:
        """Restore the state of a Checkpoint; None: there is none yet."""
        if last is None and self.run.finished:
            raise InputError(
                f"{self.run.path}: training has ended, and no checkpoint is left to resume from"
            )
        print(
            f"resuming after step {last.step}"
            if last
            else "no intact checkpoint: starting at step 1",
            file=stderr,
        )
        if last is None:
            return
        self.step = self.saved = last.step
        self.run.set_weights(last.weights)
        for name in ("m", "v"):
            getattr(self.optimizer, name)[...] = to_device(last.optimizer[name], self.model.xp)
        self.optimizer.steps = self.optimizer.updates = last.step
        self.terms = last.state["terms"]
        if self.terms:
            self.sums = {name: to_device(last.optimizer[name], self.model.xp) for name in self.sums}
        self.best_step, self.best_nll, self.worse = (
            last.state[name] for name in ("best_step", "best_nll", "worse")
        )
        self.log = parse_log(last.metrics.decode())
        self.began -= self.log[-1].get("seconds", 0) if self.log else 0
        position = last.state["position"]
        if position is None:
            for _ in islice(self.batches, last.step * self.config.accumulate):
                pass
        elif not isinstance(position, type(before := getattr(self.batches, "position", None))):
            raise InputError(
                f"the checkpoint of step {last.step} is of other batches: their position is {position!r:.60}, "
                f"expected one such as {before!r:.60}"
            )
        else:
            self.batches.position = position

    def _take_trained(self) -> bool:
        """Load the weights that this run ended with; returns whether it has them, intact."""
        try:
            weights, provenance = self.run.trained_weights()
            if not provenance or provenance["config"] != asdict(self.config):
                return False
            self.run.set_weights(weights)
        except InputError:
            return False
        self.step = provenance["step"]
        print("training has already ended: the weights are unchanged", file=stderr)
        return True

    def _finish(self) -> None:
        """Set the run's weights: the mean of the last checkpoints, or those of the best one if
        `patience` was set.
        """
        if self.config.average > 1:
            count = self._take_weights(
                lambda: checkpoint.averaged_weights(self.run.path, self.config)
            )
            nll = self._in_main(self._valid_nll)
            self._record(averaged=count, averaged_nll=nll, averaged_perplexity=perplexity(nll))
            self.progress.write(f"{count} checkpoints averaged: {_as_text(self.log[-1])}")
        elif self.config.patience:
            self._take_weights(lambda: (checkpoint.best_weights(self.run.path, self.log), 1))

        self._write(
            "the trained weights",
            lambda: self.run.save_weights({"step": self.step, "config": asdict(self.config)}),
        )

    def _take_weights(self, read) -> int:
        """Take over the weights that read() -> (weights, count) finds in the run folder; returns
        the count.

        The main process reads them, and the others get them from it: their view of the folder may
        lag behind.
        """
        data, count = self.optimizer.data, 0
        if self.workers.is_main:
            weights, count = read()
            self.run.set_weights(weights)
        else:
            data[...] = 0
        self.workers.sum(data)
        return self.workers.gather(count)[0]

    def _record(self, **values) -> None:
        self.log.append(
            {
                "step": self.step,
                **values,
                "seconds": round(time.monotonic() - self.began, 3),
                "time": round(time.time(), 3),
            }
        )
        self._write(FILE, lambda: write_log(self.run.path, self.log[-1:]))

    def _write(self, what, write) -> None:
        """Call `write` in the only process that writes the run's files. A full disk ends the run
        with one line: what is kept.
        """
        try:
            if self.workers.is_main:
                write()
        except OSError as error:
            kept = (
                f"the checkpoint of step {self.saved} is kept"
                if self.saved
                else "no checkpoint was saved before"
            )
            raise InputError(
                f"{what} cannot be saved ({error.strerror}); {kept}. "
                f"Once that is fixed: {self.run.resume_command}"
            ) from None


def _as_text(record) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {as_text(name, value)}"
        for name, value in record.items()
        if name not in ("step", *CLOCKS)
    )
