"""The training loop: steps, the log, validation, checkpoints, and stopping without losing anything."""

import json
import math
import time
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from minitransformer.backend import to_device
from minitransformer.errors import InputError
from minitransformer.evaluation import mean_loss, perplexity
from minitransformer.optim import Adam
from minitransformer.training import checkpoint
from minitransformer.training.checkpoint import Checkpoint
from minitransformer.training.interrupt import stop_on_interrupt
from minitransformer.training.lock import only_trainer
from minitransformer.training.not_finite import find_not_finite
from minitransformer.training.standard_error import stderr
from minitransformer.training.team import Team

LOG_EVERY = 10    # steps; reading the loss waits for the GPU
BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


def train(run, config, batches, valid, measure=None, resume=False):
    """Train run.model by `config`, a TrainingConfig, on the iterator `batches`; log, validate and save in the run folder.

    `valid`: pairs of id lists, for the validation loss. `measure(model)`, if given, returns
    {name: number} of more to log at each validation. With `resume` training continues from the run's
    newest checkpoint, to the same bits as if nothing had stopped: `batches` must be made as it was
    then (if it has a `position` that is set, else the batches used already are passed over), and
    run.model too where no checkpoint was saved yet.

    Returns how many steps were made: fewer than config.steps after Ctrl-C, which ends the step under
    way and saves a checkpoint, or where `patience` was over. Raises InputError where the loss is no
    longer a number, or a checkpoint cannot be saved; the checkpoint saved last is kept. Also where the
    run was trained already and `resume` is False, or was trained to its end and no checkpoint is left.
    """
    with only_trainer(run.path):
        return _Training(run, config, batches, valid, measure).train(resume)


class _Training:
    def __init__(self, run, config, batches, valid, measure):
        if iter(batches) is not batches:
            raise InputError(f"batches is a {type(batches).__name__}, expected an endless iterator such as CorpusBatches")
        self.run, self.config, self.batches, self.valid = run, config, batches, valid
        self.measure = measure or (lambda model: {})
        self.model = run.model
        self.optimizer = Adam(self.model)
        self.optimizer.grad[...] = 0    # of a step that was broken off
        self.team = Team(self.model, config.threads if self.model.xp is np else 1)
        self.step = 0
        self.sums = {"loss": 0, "nll": 0}    # since the last line of the log, on the device
        self.tokens = 0                      # the same
        self.best_step = self.best_nll = None
        self.worse = 0         # validations since the best one
        self.saved = None      # the step of the last checkpoint
        self.log = []          # what metrics.jsonl holds
        self.recent = []       # the batches since the last look at the loss

    def train(self, resume=False):
        if resume:
            if self._take_trained():
                return self.step
            self._go_on_from(checkpoint.newest(self.run.path))
            self.run.disown_weights()
        elif checkpoint.steps(self.run.path) or self.run.finished:
            raise InputError(f"{self.run.path}: this run was trained already; go on with resume=True, or make another run")
        config = self.config
        self._write_log("w", self.log)
        with tqdm(total=config.steps, initial=self.step, bar_format=BAR, file=stderr, dynamic_ncols=True) as self.bar, \
                threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
            with stop_on_interrupt() as stop:
                self.since, self.timed = time.perf_counter(), 0
                while not (stopped := stop.is_set()) and self.step < config.steps and not self._out_of_patience():
                    self._make_step()
                    validating = self.step % config.validate_every == 0 or self.step == config.steps
                    if self.step % LOG_EVERY == 0 or validating:
                        self._log_training(*self._finite_sums())
                    if validating:
                        self._validate()
                        self._save()
                        self.since, self.timed = time.perf_counter(), 0
                if stopped and self.saved != self.step:
                    self._finite_sums()
                    self._save()
            if not stopped:
                self._finish()
        return self.step

    def _make_step(self):
        config = self.config
        self.step += 1
        batches = list(islice(self.batches, config.accumulate))
        if len(batches) < config.accumulate:
            raise InputError(f"the batches ended in step {self.step} of {config.steps}; expected an endless iterator")
        self.recent.append(batches)
        rate = config.learning_rate(self.step, self.model.config.d_model)
        sums = self.team.training_step(self.optimizer, batches, rate, (config.seed, self.step), config.smoothing,
                                       config.clip)
        tokens = sum(batch.tokens for batch in batches)
        self.sums["loss"] = self.sums["loss"] + sums.loss
        self.sums["nll"] = self.sums["nll"] + sums.negative_log_likelihood
        self.tokens += tokens
        self.timed += tokens
        self.bar.update()

    def _log_training(self, loss, nll):
        loss, nll = loss / self.tokens, nll / self.tokens
        speed = self.timed / (time.perf_counter() - self.since)
        self._record(loss=loss, nll=nll, perplexity=perplexity(nll), tokens_per_second=round(speed),
                     learning_rate=self.config.learning_rate(self.step, self.model.config.d_model))
        self.bar.set_postfix_str(f"loss {loss:.3f}, perplexity {perplexity(nll):.4g}, {speed:,.0f} tokens/s")
        self.sums, self.tokens = {"loss": 0, "nll": 0}, 0
        self.since, self.timed = time.perf_counter(), 0

    def _finite_sums(self):
        """(loss, nll) since the log's last line. Raises InputError that names where the first value arose that is none."""
        updates, loss, nll = int(self.optimizer.updates), float(self.sums["loss"]), float(self.sums["nll"])
        if updates < self.step or not math.isfinite(loss):
            bad = min(updates + 1, self.step)
            parts = self.team.parts(self.recent[bad - self.step - 1], (self.config.seed, bad))
            block, direction = find_not_finite(self.model, parts, self.config.smoothing)
            kept = f"the weights of step {self.saved} are kept" if self.saved else "no weights were saved yet"
            raise InputError(f"step {bad}: NaN or infinity in {block}, {direction}; {kept}. "
                             "Try a smaller learning rate")
        self.recent.clear()
        return loss, nll

    def _validate(self):
        nll = mean_loss(self.model, self.valid)
        measured = {name: float(value) for name, value in self.measure(self.model).items()}
        self._record(valid_nll=nll, valid_perplexity=perplexity(nll), **measured)
        self.bar.write(f"step {self.step}: " + _as_text(self.log[-1]), file=stderr)
        if self.best_nll is None or nll < self.best_nll:
            self.best_step, self.best_nll, self.worse = self.step, nll, 0
        else:
            self.worse += 1

    def _out_of_patience(self):
        return 0 < self.config.patience <= self.worse

    def _save(self):
        """A checkpoint; of the older ones those that may still be needed are kept."""
        state = {"position": getattr(self.batches, "position", None), "tokens": self.tokens,
                 "best_step": self.best_step, "best_nll": self.best_nll, "worse": self.worse}
        sums = {name: self.model.xp.asarray(value, dtype=self.optimizer.data.dtype) for name, value in self.sums.items()}
        with self._writing(f"the checkpoint of step {self.step}"):
            checkpoint.save(self.run.path, Checkpoint(
                self.step, {name: p.data for name, p in self.model.parameters().items()},
                {"m": self.optimizer.m, "v": self.optimizer.v, **sums}, state,
                (self.run.path / "metrics.jsonl").read_bytes()))
        self.saved = self.step
        steps = [step for step in checkpoint.steps(self.run.path) if step <= self.step]    # later ones are damaged
        best = {self.best_step} if self.config.patience else set()
        checkpoint.keep_only(self.run.path, {*steps[:2], *self._averaged(steps), *best})

    def _averaged(self, steps):
        """Of the checkpoints at `steps` those whose mean is to be taken: not the ones that Ctrl-C left between two."""
        regular = [step for step in steps if step and (step % self.config.validate_every == 0 or step == self.config.steps)]
        return regular[: self.config.average]

    def _go_on_from(self, last):
        """Take over a Checkpoint; with None there is nothing yet to take over."""
        if last is None and self.run.finished:
            raise InputError(f"{self.run.path}: its training has ended, and no checkpoint is left to go on from")
        print(f"going on after step {last.step}" if last else "no good checkpoint: beginning at step 1", file=stderr)
        if last is None:
            return
        self.step = self.saved = last.step
        self.run.set_weights(last.weights)
        for name in ("m", "v"):
            getattr(self.optimizer, name)[...] = to_device(last.optimizer[name], self.model.xp)
        self.optimizer.steps = self.optimizer.updates = last.step
        self.tokens = last.state["tokens"]
        if self.tokens:
            self.sums = {name: to_device(last.optimizer[name], self.model.xp) for name in self.sums}
        self.best_step, self.best_nll, self.worse = (last.state[name] for name in ("best_step", "best_nll", "worse"))
        self.log = [json.loads(line) for line in last.metrics.splitlines()]
        if last.state["position"] is None:
            for _ in islice(self.batches, last.step * self.config.accumulate):
                pass
        else:
            self.batches.position = last.state["position"]

    def _take_trained(self):
        """Take over the weights that this very training ended with; returns whether the run holds them, whole."""
        try:
            provenance = self.run.take_trained_weights()
        except InputError:
            return False
        if not provenance or provenance["config"] != asdict(self.config):
            return False
        self.step = provenance["step"]
        print("its training has ended: the weights stay as they are", file=stderr)
        return True

    def _finish(self):
        """The weights of the run: the mean of the last checkpoints, or the best one's if there was `patience`."""
        kept = checkpoint.steps(self.run.path)
        if self.config.average > 1:
            last = [whole.weights for whole in checkpoint.undamaged(self.run.path, self._averaged(kept))]
            self.run.set_weights(checkpoint.average(last))
            nll = mean_loss(self.model, self.valid)
            self._record(averaged=len(last), averaged_nll=nll, averaged_perplexity=perplexity(nll))
            self.bar.write(f"{len(last)} checkpoints averaged: {_as_text(self.log[-1])}", file=stderr)
        elif self.config.patience:
            losses = {record["step"]: record["valid_nll"] for record in self.log if "valid_nll" in record}
            best_first = sorted(losses.keys() & kept, key=lambda step: (losses[step], step))
            self.run.set_weights(next(checkpoint.undamaged(self.run.path, best_first)).weights)
        with self._writing("the trained weights"):
            self.run.save_weights({"step": self.step, "config": asdict(self.config)})

    def _record(self, **values):
        self.log.append({"step": self.step, **values})
        self._write_log("a", self.log[-1:])

    def _write_log(self, mode, records):
        with self._writing("metrics.jsonl"), (self.run.path / "metrics.jsonl").open(mode, encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)

    @contextmanager
    def _writing(self, what):
        """A full disk ends the training with one line that says what is kept."""
        try:
            yield
        except OSError as error:
            kept = f"the checkpoint of step {self.saved} is kept" if self.saved else "no checkpoint was saved before"
            raise InputError(f"{what} cannot be saved ({error.strerror}); {kept}. "
                             f"When that is mended: {self.run.resume_command}") from None


def _as_text(record):
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in record.items() if name != "step")
