"""The training loop: steps, the log, validation, checkpoints, and stopping without losing
anything.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np

from minitransformer.checks import check_kind
from minitransformer.errors import InputError, NonFiniteError, counted
from minitransformer.runs import checkpoint
from minitransformer.runs.alike import check_alike, in_main, take_weights
from minitransformer.runs.checkpoint import Checkpoint
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.interrupt import stop_on_interrupt
from minitransformer.runs.lock import only_trainer
from minitransformer.runs.log import CLOCKS, Log, Record, as_texts, parse_log
from minitransformer.runs.progress_bar import make_progress
from minitransformer.runs.run import Run
from minitransformer.runs.updates import Speed, Updates
from minitransformer.runs.validation import Best, Validation
from minitransformer.runs.writer import Writer
from minitransformer.cores import one_blas_thread
from minitransformer.speed.kernels import kernels_run
from minitransformer.speed.threads import Threads
from minitransformer.stderr import stderr
from minitransformer.tasks.evaluation import perplexity

LOG_EVERY = 10  # steps; reading the loss waits for the GPU


def train(
    run: Run,
    config: TrainingConfig,
    batches: Iterator,
    valid: list,
    measure: Callable[[Any], dict[str, Any]] | None = None,
    resume: bool = False,
    make_workers: Callable[[Any, int], Threads] = Threads,
) -> int:
    """Train run.model by `config` on the iterator `batches`; log, validate and save in the run
    folder.

    `valid`: a list of batches for the validation loss. `measure(model)`, if given, returns {name:
    number} to log at each validation. With `resume`, training resumes from the run's newest
    checkpoint and ends with the same bits as if it had never stopped: make `batches` the same way
    again (its `position` is set if it has one, otherwise the batches already used are skipped), and
    run.model too if no checkpoint has been saved yet. `make_workers(model, threads)` makes the
    workers: Threads, LocalProcesses, or Processes if a launcher started several (speed/). Kernels
    run during training, and BLAS has one thread. Inside `with fast():` (speed/host.py) freed memory
    is kept, too: on its own, a library call changes no setting of the C library.

    Returns the number of steps made: fewer than config.steps after Ctrl-C or SIGTERM, which let the
    current step finish and save a checkpoint, or if `patience` ran out. Raises InputError if the
    loss becomes NaN or infinite, or a checkpoint cannot be saved; the last checkpoint is kept. Also
    raises it if the run has already been trained and `resume` is False, or if it has checkpoints
    and none of them can be read, or has been trained to its end and no checkpoint is left.
    """
    check_kind(isinstance(run, Run), "run", run, "a Run")
    check_kind(isinstance(config, TrainingConfig), "config", config, "a TrainingConfig")
    endless = "an endless iterator such as EpochBatches"
    check_kind(hasattr(batches, "__next__"), "batches", batches, endless)
    _check_position(getattr(batches, "position", None))
    run.settings.check_parameters(run.model)  # a checkpoint could not be loaded again
    validation = Validation(valid, measure, config.threads)
    # it may move the weights
    workers = make_workers(run.model, config.threads if run.model.xp is np else 1)
    training = Training(run, config, batches, validation, workers)
    alone = only_trainer(run.path) if workers.is_main else nullcontext()
    with kernels_run(), workers, alone:
        if not resume:
            training.check_new()
        elif (steps := training.trained_before()) is not None:
            return steps
        else:
            training.resume()
        return training.train()


def _check_position(position: Any) -> None:
    """Raise InputError unless a checkpoint can keep it."""
    try:
        fits = json.loads(json.dumps(position)) == position
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(
            f"the position of the batches is {position!r:.60}, expected what JSON keeps, such as an int"
        )


class Training:
    """One training run: its parts, and how it goes on from step to step."""

    def __init__(
        self,
        run: Run,
        config: TrainingConfig,
        batches: Any,
        validation: Validation,
        workers: Threads,
    ):
        self.run = run
        self.config = config
        self.batches = batches
        self.validation = validation
        self.workers = workers
        self.updates = Updates(run.model, config, workers)
        self.log = Log()
        self.writer = Writer(run, workers.is_main)

    # ---- begin or resume

    def check_new(self) -> None:
        """Raise InputError if the run has been trained before."""
        if checkpoint.steps(self.run.path) or self.run.finished:
            raise InputError(
                f"{self.run.path}: this run has already been trained; resume it with resume=True, or create a new run"
            )

    def trained_before(self) -> int | None:
        """Load the weights that this run ended with, and return their step; None if it has none
        that are intact.
        """
        try:
            weights, provenance = self.run.folder.trained_weights()
            if not provenance or provenance["config"] != asdict(self.config):
                return None
            self.run.set_weights(weights)
        except InputError:
            return None
        print("training has already ended: the weights are unchanged", file=stderr)
        return provenance["step"]

    def resume(self) -> None:
        """Take up the state of the newest checkpoint."""
        path = self.run.path
        last = checkpoint.newest(path)
        if last is None and self.run.finished:
            raise InputError(
                f"{path}: training has ended, and no checkpoint is left to resume from"
            )
        if last is None:
            print("no checkpoint: starting at step 1", file=stderr)
        else:
            print(f"resuming after step {last.step}", file=stderr)
            self._restore(last)
        if self.workers.is_main:
            self.run.folder.invalidate_weights()
            if last is not None:
                later = [step for step in checkpoint.steps(path) if step > last.step]
                checkpoint.set_aside(path, later)

    def _restore(self, last: Checkpoint) -> None:
        state = last.state
        self.run.set_weights(last.weights)
        self.updates.restore(last.step, state["terms"], last.optimizer)
        self.validation.best = Best(state["best_step"], state["best_nll"], state["worse"])
        self.validation.due = state.get("validate", False)  # older versions saved afterwards
        self.log = Log(parse_log(last.metrics.decode()))
        self.writer.saved = last.step
        self._move_batches(last.step, state["position"])

    def _move_batches(self, step: int, position: Any) -> None:
        before = getattr(self.batches, "position", None)
        if position is None:
            for _ in islice(self.batches, step * self.config.accumulate):
                pass
        elif isinstance(position, type(before)):
            self.batches.position = position
        else:
            raise InputError(
                f"the checkpoint of step {step} is of other batches: their position is {position!r:.60}, "
                f"expected one such as {before!r:.60}"
            )

    # ---- the loop

    def train(self) -> int:
        """Make the rest of the steps, and the trained weights; returns the number of steps made."""
        check_alike(self.workers, self.run, self.updates.step)
        self.writer.new_log(self.log.records)
        with (
            make_progress(self.config.steps, self.updates.step) as progress,
            one_blas_thread,
            np.errstate(all="ignore"),
        ):
            with stop_on_interrupt() as stop:
                stopped = self._make_steps(stop, progress)
            if not stopped:
                self._finish(progress)
        return self.updates.step

    def _make_steps(self, stop: threading.Event, progress: Any) -> bool:
        """Train until the end, or until `stop` is set; returns whether it was."""
        self._keep_snapshot()
        if self.validation.due:  # it was saved before, and then stopped
            self._validate(progress)
        speed = Speed()
        try:
            while not (stopped := self.workers.agree(stop.is_set())) and not self._at_the_end():
                batches = self._next_batches()
                self.updates.make(batches)
                speed.count(batches)
                progress.update()
                self._keep_snapshot()
                step = self.updates.step
                validating = step % self.config.validate_every == 0 or step == self.config.steps
                if validating or step % LOG_EVERY == 0:
                    self._log_loss(speed, progress)
                if validating:
                    self.validation.due = True
                    self._save()
                    self._validate(progress)
                    speed.start()
            if stopped and self.writer.saved != self.updates.step:
                self.updates.check_finite()
                self._save()
        except NonFiniteError as error:
            saved = self.writer.saved
            kept = f"the weights of step {saved} are kept" if saved else "no weights were saved yet"
            raise InputError(f"{error}; {kept}. Try a smaller learning rate") from None
        return stopped

    def _at_the_end(self) -> bool:
        patience = self.config.patience
        return self.updates.step >= self.config.steps or 0 < patience <= self.validation.best.worse

    def _next_batches(self) -> list:
        batches = list(islice(self.batches, self.config.accumulate))
        if len(batches) < self.config.accumulate:
            raise InputError(
                f"the batches ended in step {self.updates.step + 1} of {self.config.steps}; "
                "expected an endless iterator"
            )
        return batches

    def _keep_snapshot(self) -> None:
        every = self.config.snapshot_every
        if every and self.updates.step % every == 0:
            self.writer.snapshot(self.updates.step)

    def _log_loss(self, speed: Speed, progress: Any) -> None:
        loss, nll = self.updates.take()
        tokens = speed.read()
        self._record(
            loss=loss,
            nll=nll,
            perplexity=perplexity(nll),
            tokens_per_second=round(tokens),
            learning_rate=self.updates.learning_rate,
        )
        progress.show(f"loss {loss:.3f}, perplexity {perplexity(nll):.4g}, {tokens:,.0f} tokens/s")
        speed.start()

    def _record(self, **values: Any) -> Record:
        record = self.log.add(self.updates.step, values)
        self.writer.log(record)
        return record

    def _validate(self, progress: Any) -> None:
        model = self.run.model
        try:
            nll, others = in_main(self.workers, lambda: self.validation.of(model))
        except InputError as error:
            raise InputError(f"{error}; {self.writer.kept}") from None
        record = self._record(valid_nll=nll, valid_perplexity=perplexity(nll), **others)
        self.validation.note(self.updates.step, nll)
        progress.write(f"step {self.updates.step}: {_as_text(record)}")

    def _save(self) -> None:
        check_alike(self.workers, self.run, self.updates.step)
        best = self.validation.best
        state = {
            "position": getattr(self.batches, "position", None),
            "terms": self.updates.terms,
            "best_step": best.step,
            "best_nll": best.nll,
            "worse": best.worse,
            "validate": self.validation.due,
        }
        weights = {name: one.data for name, one in self.run.model.parameters().items()}
        log = self.log.to_text().encode()
        self.writer.checkpoint(
            Checkpoint(self.updates.step, weights, self.updates.state(), state, log), self.config
        )

    # ---- the end

    def _finish(self, progress: Any) -> None:
        """Set the run's weights: the mean of the last checkpoints, or those of the best one if
        `patience` was set.
        """
        path, log = self.run.path, self.log.records
        if self.config.average > 1:
            count = take_weights(
                self.workers, self.run, lambda: checkpoint.averaged_weights(path, self.config)
            )
            nll = in_main(self.workers, lambda: self.validation.loss(self.run.model))
            record = self._record(
                averaged=count, averaged_nll=nll, averaged_perplexity=perplexity(nll)
            )
            progress.write(f"{counted(count, 'checkpoint')} averaged: {_as_text(record)}")
        elif self.config.patience:
            take_weights(self.workers, self.run, lambda: (checkpoint.best_weights(path, log), 1))
        self.writer.trained_weights({"step": self.updates.step, "config": asdict(self.config)})


def _as_text(record: Record) -> str:
    shown = {name: value for name, value in record.items() if name not in ("step", *CLOCKS)}
    return ", ".join(f"{name} {text}" for name, text in as_texts(shown))
