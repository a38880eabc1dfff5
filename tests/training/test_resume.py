"""A training that was stopped ends with the same bits as one that was not."""

import json
import signal

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import Adam, Run, TrainingConfig, Transformer, TransformerConfig, make_batch, train
from minitransformer.data import toy
from minitransformer.data.corpus import CorpusBatches
from minitransformer.evaluation import mean_loss
from minitransformer.training import checkpoint
from minitransformer.training.team import Team
from tests.training.test_training import start

PAIRS = [([3 + i % 5, 4, 3 + i % 7], [5, 3 + i % 4][: 1 + i % 2]) for i in range(50)]


def of_task(seed):
    return toy.ToyBatches(toy.make_task("copy"), 8, seed)


def of_corpus(seed):
    return CorpusBatches(PAIRS, 40, seed)


def of_no_position(seed):
    yield from of_task(seed)


def losses(run):
    records = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if name != "tokens_per_second"} for record in records]


def state(run, step):
    """All arrays of a checkpoint, and the rest of its state."""
    folder = run.path / "checkpoints" / f"step-{step:08d}"
    return ({**load_file(folder / "weights.safetensors"), **load_file(folder / "optimizer.safetensors")},
            json.loads((folder / "state.json").read_text()))


class Interrupted:
    """Batches of which the one called `at` comes with Ctrl-C."""

    def __init__(self, batches, at):
        self.__dict__.update(batches=batches, left=at)

    def __iter__(self):
        return self

    def __next__(self):
        self.__dict__["left"] -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return next(self.batches)

    def __getattr__(self, name):
        return getattr(self.batches, name)

    def __setattr__(self, name, value):
        setattr(self.batches, name, value)


@pytest.mark.parametrize("batches", [of_task, of_corpus, of_no_position])
@pytest.mark.parametrize("settings", [
    dict(), dict(threads=2, accumulate=3), dict(average=3), dict(patience=1, cooldown=0.0, schedule="constant", peak_rate=0.1),
])
def test_to_the_same_bits(tmp_path, batches, settings):
    """Stopped by Ctrl-C at steps 3, 8 and 20: between the lines of the log, and between checkpoints that are averaged."""
    config = TrainingConfig(**{"steps": 25, "warmup": 5, "validate_every": 6, "seed": 5, "threads": 1, **settings})
    whole, _, valid = start(tmp_path / "whole", 5)
    steps = train(whole, config, batches(5), valid)
    assert steps < 25 if config.patience else steps == 25

    run, _, _ = start(tmp_path / "stopped", 5)
    before = 0
    for step in (3, 8, *([20] if steps > 20 else [])):
        passed_over = step if batches is of_no_position else step - before
        interrupted = Interrupted(batches(5), passed_over * config.accumulate)
        assert train(run, config, interrupted, valid, resume=before > 0) == step
        run, before = Run.open(tmp_path / "stopped"), step
    assert train(run, config, batches(5), valid, resume=True) == steps
    assert losses(run) == losses(whole)
    assert (run.path / "weights.safetensors").read_bytes() == (whole.path / "weights.safetensors").read_bytes()
    arrays, rest = state(run, steps)
    expected, expected_rest = state(whole, steps)
    assert rest == expected_rest and arrays.keys() == expected.keys()
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], expected[name])


def test_accumulated_batches_are_one_update(tmp_path):
    """Three batches of one update: the loss and the moments of the one batch that holds them all."""
    pairs = [([3, 4, 5], [6, 7]), ([4], [5]), ([6, 6], [7, 8, 9])] * 2
    moments = []
    for parts in ([pairs], [pairs[:2], pairs[2:3], pairs[3:]]):
        model = Transformer(TransformerConfig.named("toy", 12), 0).astype(np.float64)
        adam = Adam(model)
        sums = Team(model, 2).training_step(adam, [make_batch(part) for part in parts], 0.01, (0, 1), 0.1)
        moments.append((float(sums.loss), adam.m, adam.v))
    for one, several in zip(*moments):
        np.testing.assert_allclose(one, several, rtol=1e-9, atol=1e-15)


def test_the_average_is_of_the_last_checkpoints(tmp_path, capsys):
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=23, warmup=5, validate_every=5, average=3), batches, valid)
    assert checkpoint.steps(run.path) == [23, 20, 15]
    weights = [state(run, step)[0]["target_embedding.weight"] for step in (23, 20, 15)]
    np.testing.assert_allclose(run.model.parameters()["target_embedding.weight"].data, sum(weights) / 3, rtol=1e-5, atol=1e-7)
    assert losses(run)[-1]["averaged_nll"] == pytest.approx(mean_loss(run.model, valid))
    assert "3 checkpoints averaged" in capsys.readouterr().err


def test_patience_keeps_the_best(tmp_path):
    """With a rate that is far too high the validation loss soon rises."""
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=60, warmup=1, schedule="constant", peak_rate=0.3, cooldown=0, validate_every=2, patience=3)
    steps = train(run, config, batches, valid)
    found = {record["step"]: record["valid_nll"] for record in losses(run) if "valid_nll" in record}
    best = min(found, key=found.get)
    assert steps == best + 6 < 60
    assert mean_loss(Run.load(run.path).model, valid) == pytest.approx(found[best])


def test_two_checkpoints_are_kept(tmp_path, monkeypatch):
    """And the best one, the first here, if `patience` may ask for it."""
    for patience, kept in ((0, [20, 16]), (9, [20, 16, 4])):
        growing = iter(range(1, 9))
        monkeypatch.setattr("minitransformer.training.trainer.mean_loss", lambda *_: next(growing))
        run, batches, valid = start(tmp_path / str(patience))
        train(run, TrainingConfig(steps=20, warmup=5, validate_every=4, patience=patience), batches, valid)
        assert checkpoint.steps(run.path) == kept


def test_a_position_is_reached_without_the_batches_before_it():
    whole, later = of_corpus(1), of_corpus(1)
    for _ in range(17):
        next(whole)
    later.position = json.loads(json.dumps(whole.position))
    for _ in range(19):
        for one, other in zip(next(whole)[:3], next(later)[:3]):
            np.testing.assert_array_equal(one, other)
