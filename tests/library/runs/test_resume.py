"""A stopped and resumed training run ends with the same bits as one that was never stopped."""

import json

import numpy as np
import pytest

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.labelled import make_labelled_batch, sentence_length
from minitransformer.data.windows import WindowBatches
from minitransformer.files import write_manifest
from minitransformer.runs import checkpoint
from minitransformer.tasks.evaluation import mean_loss
from tests.helpers.runs import Interrupted, losses, of_task, start, state, trained

pytestmark = pytest.mark.slow

PAIRS = [([3 + i % 5, 4, 3 + i % 7], [5, 3 + i % 4][: 1 + i % 2]) for i in range(50)]


def of_corpus(seed):
    return EpochBatches(PAIRS, 40, seed)


def of_no_position(seed):
    yield from of_task(seed)


@pytest.mark.parametrize(
    "batches, settings",
    [
        (of_task, dict()),
        (of_corpus, dict(threads=2, accumulate=3)),
        (of_no_position, dict(average=3, accumulate=2)),
        (of_corpus, dict(patience=1, cooldown=0.0, schedule="constant", peak_rate=1.0)),
    ],
)
def test_to_the_same_bits(tmp_path, batches, settings):
    """Stopped by Ctrl-C at steps 3, 8 and 20: between the lines of the log, and between checkpoints
    that are averaged.
    """
    config = TrainingConfig(
        **{"steps": 25, "warmup": 5, "validate_every": 6, "seed": 5, "threads": 1, **settings}
    )
    whole, _, valid = start(tmp_path / "whole", 5)
    steps = train(whole, config, batches(5), valid)
    assert steps < 25 if config.patience else steps == 25

    run, _, _ = start(tmp_path / "stopped", 5)
    before = 0
    for step in (3, 8, *([20] if steps > 20 else [])):
        skipped = step if batches is of_no_position else step - before
        interrupted = Interrupted(batches(5), skipped * config.accumulate)
        assert train(run, config, interrupted, valid, resume=before > 0) == step
        run, before = Run.open(tmp_path / "stopped"), step
    assert train(run, config, batches(5), valid, resume=True) == steps
    assert losses(run) == losses(whole)
    assert (run.path / "weights.safetensors").read_bytes() == (
        whole.path / "weights.safetensors"
    ).read_bytes()
    arrays, rest = state(run, steps)
    expected, expected_rest = state(whole, steps)
    assert rest == expected_rest and arrays.keys() == expected.keys()
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], expected[name])


@pytest.mark.parametrize("position", ["x", 3.5, [0, 1], {}])
def test_the_position_of_other_batches_is_named(tmp_path, position):
    run, _, batches, valid = trained(tmp_path / "run", steps=2)
    folder = run.path / "checkpoints" / "step-00000002"
    (folder / "state.json").write_text(
        json.dumps({**json.loads((folder / "state.json").read_text()), "position": position})
    )
    write_manifest(folder, checkpoint.FILES)
    with pytest.raises(
        InputError, match="the checkpoint of step 2 is of other batches: their position is "
    ):
        train(run, TrainingConfig(steps=4, warmup=2), batches, valid, resume=True)


@pytest.mark.parametrize("position", [(0, 1), np.int64(3), np.zeros(2), {1: 2}])
def test_a_position_that_no_checkpoint_keeps_is_refused_before_step_1(tmp_path, position):
    run, batches, valid = start(tmp_path / "run")
    batches.position = position
    with pytest.raises(InputError, match="the position of the batches is .*, expected what JSON"):
        train(run, TrainingConfig(steps=4, warmup=2), batches, valid)
    assert not (run.path / "metrics.jsonl").exists()


def test_the_average_is_of_the_last_checkpoints(tmp_path, capsys):
    run, _, _, valid = trained(tmp_path / "run", steps=23, warmup=5, validate_every=5, average=3)
    assert checkpoint.steps(run.path) == [23, 20, 15]
    weights = [state(run, step)[0]["target_embedding.weight"] for step in (23, 20, 15)]
    np.testing.assert_allclose(
        run.model.parameters()["target_embedding.weight"].data,
        sum(weights) / 3,
        rtol=1e-5,
        atol=1e-7,
    )
    assert losses(run)[-1]["averaged_nll"] == pytest.approx(mean_loss(run.model, valid))
    assert "3 checkpoints averaged" in capsys.readouterr().err


def test_patience_keeps_the_best(tmp_path):
    """With a learning rate that is much too high, the validation loss soon rises."""
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(
        steps=60,
        warmup=1,
        schedule="constant",
        peak_rate=0.3,
        cooldown=0,
        validate_every=2,
        patience=3,
    )
    steps = train(run, config, batches, valid)
    found = {record["step"]: record["valid_nll"] for record in losses(run) if "valid_nll" in record}
    best = min(found, key=found.get)
    assert steps == best + 6 < 60
    assert mean_loss(Run.load(run.path).model, valid) == pytest.approx(found[best])


def test_two_checkpoints_are_kept(tmp_path, monkeypatch):
    """And the best one, here the first, if `patience` may need it."""
    for patience, kept in ((0, [20, 16]), (9, [20, 16, 4])):
        growing = iter(map(float, range(1, 9)))
        monkeypatch.setattr("minitransformer.runs.validation.mean_loss", lambda *_: next(growing))
        run, *_ = trained(tmp_path / str(patience), steps=20, validate_every=4, patience=patience)
        assert checkpoint.steps(run.path) == kept


def of_windows(seed):
    return WindowBatches(np.random.default_rng(0).integers(3, 9, 200), 6, 4, seed)


def of_sentences(seed):
    return EpochBatches(
        [(source, i % 3) for i, (source, _) in enumerate(PAIRS)],
        40,
        seed,
        make_labelled_batch,
        sentence_length,
    )


@pytest.mark.parametrize("make", [of_task, of_corpus, of_windows, of_sentences])
def test_a_position_is_reached_without_the_batches_before_it(make):
    whole, later, other_seed = make(1), make(1), make(2)
    for _ in range(17):
        next(whole)
    later.position = json.loads(json.dumps(whole.position))
    other_seed.position = whole.position
    differences, seen = 0, set()
    for _ in range(19):
        batch = next(whole)
        np.testing.assert_equal(tuple(next(later)), tuple(batch))
        differences += not np.array_equal(next(other_seed).inputs[0], batch.inputs[0])
        seen.add(batch.inputs[0].tobytes())
    assert differences > 9 and len(seen) > 9  # the seed and the position say what is drawn


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_before_its_first_checkpoint_it_begins_with_the_weights_that_it_was_given(tmp_path, dtype):
    """Such as those of another run, which its seed would not draw."""
    other, batches, valid = start(tmp_path / "other", 7)
    settings, model = other.settings, other.model.astype(dtype)
    run = Run.create(tmp_path / "run", settings.task, model, other.vocabulary)
    drawn = Run.create(tmp_path / "drawn", settings.task, settings.make_model(), other.vocabulary)
    same = Run.create(
        tmp_path / "same", settings.task, settings.make_model().astype(dtype), other.vocabulary
    )
    assert (same.path / "initial.safetensors").exists() == (dtype == "float64")
    assert Run.open(same.path).model.flat.data.dtype == dtype
    assert {path.name for path in run.path.iterdir()} - {
        path.name for path in drawn.path.iterdir()
    } == {"initial.safetensors"}
    for begun in (run, Run.open(run.path)):
        np.testing.assert_array_equal(begun.model.flat.data, model.flat.data)
        assert begun.model.flat.data.dtype == dtype
    reopened = Run.open(run.path)
    train(reopened, TrainingConfig(steps=3, warmup=1, seed=7), batches, valid, resume=True)
    whole = Run.create(tmp_path / "whole", settings.task, model, other.vocabulary)
    train(whole, TrainingConfig(steps=3, warmup=1, seed=7), start(tmp_path / "again", 7)[1], valid)
    np.testing.assert_array_equal(
        Run.load(run.path).model.flat.data, Run.load(whole.path).model.flat.data
    )
    assert not (whole.path / "initial.safetensors").exists()  # nothing begins with them any more
    np.testing.assert_array_equal(Run.open(whole.path).model.flat.data, drawn.model.flat.data)


def test_damaged_first_weights_are_named(tmp_path):
    other, _, _ = start(tmp_path / "other", 7)
    run = Run.create(tmp_path / "run", other.task, other.model, other.vocabulary)
    (run.path / "initial.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="initial.safetensors: damaged"):
        Run.open(run.path)
