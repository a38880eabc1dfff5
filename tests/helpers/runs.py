"""Runs for the tests of training: a small one, batches that come with Ctrl-C, and what a run has written."""

import json
import signal

from safetensors.numpy import load_file

from minitransformer import Run, TrainingConfig, Transformer, TransformerConfig, train
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.runs.log import CLOCKS
from minitransformer.tasks import TASKS
from minitransformer.tasks.evaluation import pair_batches


def start(folder, seed=0):
    """A run of the copy task with its batches and validation batches."""
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(
        TransformerConfig.named("toy", vocabulary.size, dropout=0.1, d_model=16, d_ff=16), seed
    )
    return (
        Run.create(folder, task, model, vocabulary),
        DrawnBatches(task, 8, seed),
        pair_batches(draw_held_out(task, 20)),
    )


def of_task(seed):
    return DrawnBatches(TASKS["copy"](), 8, seed)


def losses(run):
    records = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [
        {
            name: value
            for name, value in record.items()
            if name not in ("tokens_per_second", *CLOCKS)
        }
        for record in records
    ]


def state(run, step):
    """All arrays of a checkpoint, and the rest of its state."""
    folder = run.path / "checkpoints" / f"step-{step:08d}"
    return (
        {
            **load_file(folder / "weights.safetensors"),
            **load_file(folder / "optimizer.safetensors"),
        },
        json.loads((folder / "state.json").read_text()),
    )


class Interrupted:
    """Batches; the one numbered `at` comes with Ctrl-C, or with another signal."""

    def __init__(self, batches, at, number=signal.SIGINT):
        self.__dict__.update(batches=batches, left=at, number=number)

    def __iter__(self):
        return self

    def __next__(self):
        self.__dict__["left"] -= 1
        if self.left == 0:
            signal.raise_signal(self.number)
        return next(self.batches)

    def __getattr__(self, name):
        return getattr(self.batches, name)

    def __setattr__(self, name, value):
        setattr(self.batches, name, value)


def trained(folder, stopped=None, **settings):
    """(run, config, batches, valid) of a run of `start` after its training, or after Ctrl-C in the
    step `stopped`.
    """
    run, batches, valid = start(folder)
    config = TrainingConfig(**{"warmup": 2, **settings})
    train(run, config, Interrupted(batches, stopped) if stopped else batches, valid)
    return run, config, batches, valid
