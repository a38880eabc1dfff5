"""The step, the loop, and the folder it fills."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import (
    Adam,
    InputError,
    NonFiniteError,
    Run,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    fast,
    make_batch,
    train,
    training_step,
)
from minitransformer.tasks.evaluation import mean_loss
from minitransformer import cores as parallel
from minitransformer.speed.threads import Threads
from minitransformer.runs import checkpoint, updates, validation
from minitransformer.runs.locate_non_finite import locate_non_finite
from minitransformer.runs.log import read_metrics
from tests.helpers.models import make_batch_for, make_model
from tests.helpers.runs import start


def test_a_run_folder_holds_everything(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    assert train(run, TrainingConfig(steps=25, warmup=5, validate_every=10), batches, valid) == 25
    assert {path.name for path in run.path.iterdir()} == {
        "config.json",
        "vocabulary.json",
        "manifest.json",
        "weights.safetensors",
        "metrics.jsonl",
        "checkpoints",
        "train.lock",
    }
    records = read_metrics(run.path)
    assert [r["step"] for r in records if "loss" in r] == [10, 20, 25]
    assert [r["step"] for r in records if "valid_nll" in r] == [10, 20, 25]
    assert records[-1]["valid_perplexity"] == pytest.approx(np.exp(records[-1]["valid_nll"]))
    loaded = Run.load(run.path)
    np.testing.assert_array_equal(loaded.model.flat.data, run.model.flat.data)
    assert loaded.model.config == run.model.config
    names = load_file(run.path / "weights.safetensors").keys()
    assert "encoder.layers.0.self_attention.query.weight" in names


def test_the_loop_is_its_steps(tmp_path):
    """Weights and log of `train`, bit for bit, from the steps written out."""
    config = TrainingConfig(
        steps=14,
        warmup=5,
        rate_factor=0.4,
        cooldown=0.5,
        smoothing=0.2,
        clip=0.3,
        seed=9,
        threads=1,
    )
    run, batches, valid = start(tmp_path / "run")
    train(run, config, batches, valid)
    again, batches, _ = start(tmp_path / "again")
    adam, sums, terms = Adam(again.model), [], []
    with fast():
        for step in range(1, 15):
            learning_rate = (
                0.4 * 16**-0.5 * min(step**-0.5, step * 5**-1.5) * min(1, (15 - step) / 7)
            )
            batch = next(batches)
            sums.append(training_step(again.model, adam, batch, learning_rate, (9, step), 0.2, 0.3))
            terms.append(batch.terms)
    np.testing.assert_array_equal(run.model.flat.data, again.model.flat.data)
    first, last, valid_record = read_metrics(run.path)
    assert first["loss"] == pytest.approx(
        sum(s.loss for s in sums[:10]) / sum(terms[:10]), rel=1e-6
    )
    assert last["nll"] == pytest.approx(
        sum(s.negative_log_likelihood for s in sums[10:]) / sum(terms[10:]), rel=1e-6
    )
    assert last["perplexity"] == pytest.approx(np.exp(last["nll"]))
    assert last["learning_rate"] == pytest.approx(learning_rate)
    assert valid_record["valid_nll"] == pytest.approx(mean_loss(run.model, valid))


def test_a_loss_that_is_no_number_keeps_the_last_good_weights(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=20, warmup=5, validate_every=10)

    def poisoned():
        for i, batch in enumerate(batches, 1):
            if i == 15:
                run.model.target_embedding.weight.data[...] = np.nan
            yield batch

    with pytest.raises(
        InputError,
        match="step 15: NaN or infinity in target_embedding, forward; "
        "the weights of step 10 are kept",
    ):
        train(run, config, poisoned(), valid)
    assert np.isfinite(Run.load(run.path).model.flat.data).all()
    assert "NaN" not in (run.path / "metrics.jsonl").read_text()

    _, batches, _ = start(tmp_path / "again")
    train(
        run, config, batches, valid, resume=True
    )  # the NaNs in the same model's gradient are gone
    whole, batches, _ = start(tmp_path / "whole")
    train(whole, config, batches, valid)
    np.testing.assert_array_equal(run.model.flat.data, whole.model.flat.data)


def overflows(layer, direction, begins=1, seen=lambda: None):
    """From its call `begins` on, what this method of the layer returns contains infinity; seen() is
    called before it returns.
    """
    usual, calls = getattr(layer, direction), []

    def overflowing(*arguments, **options):
        calls.append(1)
        result = usual(*arguments, **options)
        if len(calls) < begins:
            return result
        seen()
        first, *rest = result if isinstance(result, tuple) else (result,)
        first = np.asarray(first)
        first.reshape(-1)[:1] = np.inf
        return (first, *rest) if rest else first

    setattr(layer, direction, overflowing)


@pytest.mark.parametrize(
    "path, direction",
    [
        ("decoder.layers.1.cross_attention", "forward"),
        ("decoder.layers.0.feed_forward.inner", "backward"),
        ("encoder.layers.0.self_attention_residual.norm", "backward"),
        ("source_input", "forward"),
        ("loss", "forward"),
        ("loss", "backward"),
    ],
)
def test_a_block_that_overflows_is_named(tmp_path, path, direction):
    """In step 13, which changes no weight, or when the loss is logged; the layer that makes it is a
    block like any other.
    """
    run, batches, valid = start(tmp_path / "run")
    step, weights = 20 if (path, direction) == ("loss", "forward") else 13, []
    overflows(
        run.model.sublayers()[path],
        direction,
        13,
        lambda: weights.append(run.model.flat.data.copy()),
    )
    with pytest.raises(
        InputError,
        match=f"step {step}: NaN or infinity in {path}, {direction}; no weights were saved yet",
    ):
        train(run, TrainingConfig(steps=50, warmup=5, threads=1), batches, valid)
    assert step == 20 or (
        len(weights) == 2 and np.array_equal(*weights)
    )  # of the step, and of its repetition


@pytest.mark.parametrize("scale", [np.nan, 1])
def test_no_block_is_blamed_for_what_it_received(tmp_path, monkeypatch, scale):
    """Neither for the gradient that arrives, nor for the contents of a shared weight's gradient."""
    run, batches, valid = start(tmp_path / "run")
    model = run.model

    def spoil(dloss, cache):  # between the loss and the hidden states, where no layer is
        dy = model.loss.backward(dloss, model.output, cache.loss)
        model.output.weight.grad[0] = np.inf
        model.hidden_backward(dy * np.float32(scale), cache.hidden)

    monkeypatch.setattr(model, "loss_backward", spoil)
    with pytest.raises(InputError, match="step 1: NaN or infinity in the loss, backward"):
        train(run, TrainingConfig(steps=50, warmup=5, threads=1), batches, valid)


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_of_your_own_that_overflows_is_refused(monkeypatch, count):
    """It raises and changes nothing, and later steps work."""
    model = Transformer(TransformerConfig.named("toy", 12, d_model=16, d_ff=16, dropout=0.1))
    adam, workers, batch = (
        Adam(model),
        Threads(model, count),
        make_batch([([4, 5], [6]), ([7], [8, 9])]),
    )
    before = model.flat.data.copy()
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        for each in workers.models:
            layer = each.sublayers()["decoder.layers.0.feed_forward.inner"]
            patch.setattr(
                layer,
                "backward",
                lambda dy, cache, usual=layer.backward: usual(dy * np.float32(np.inf), cache),
            )
        with pytest.raises(
            NonFiniteError,
            match="^the gradient of .* contains NaN or infinity; nothing was updated",
        ):
            training_step(model, adam, batch, 0.01, (0, 1), 0.1, workers=workers)
        assert locate_non_finite(model, workers, [batch], (0, 1), 0.1) == (
            "decoder.layers.0.feed_forward.inner",
            "backward",
        )
    assert not any(each.flat.grad.any() for each in workers.models)
    np.testing.assert_array_equal(model.flat.data, before)
    training_step(model, adam, batch, 0.01, (0, 2), 0.1, workers=workers)
    assert adam.steps == 1 and not np.array_equal(model.flat.data, before)


def test_a_step_of_another_model_is_refused():
    model, other = (Transformer(TransformerConfig.named("toy", 12)) for _ in range(2))
    batch = make_batch([([4, 5], [6])])
    with pytest.raises(InputError, match="the optimizer was made for another model"):
        training_step(model, Adam(other), batch, 0.01)
    with pytest.raises(InputError, match="make new Threads"):
        training_step(model, Adam(model), batch, 0.01, workers=Threads(other))


@pytest.mark.parametrize("kind", ["language-model", "classifier"])
@pytest.mark.parametrize(
    "path, direction", [("feed_forward.inner", "backward"), ("self_attention", "forward")]
)
def test_the_search_for_nan_knows_every_model(kind, path, direction):
    """A model with nothing but loss_forward and loss_backward."""
    model, batch = make_model(kind).astype(np.float32), make_batch_for(kind)
    stack = "stack" if kind == "language-model" else "encoder"
    overflows(model.sublayers()[f"{stack}.layers.1.{path}"], direction)
    model.flat.grad[...] = np.nan  # as the step may have left it: this blames no block
    with np.errstate(all="ignore"):
        found = locate_non_finite(model, Threads(model, 2), [batch], (0, 1), 0.1)
    assert found == (f"{stack}.layers.1.{path}", direction)


def test_the_search_for_nan_repeats_the_step_with_its_dropout():
    """A block that fails with what was dropped, and with nothing else."""
    model, batch = (
        make_model("transformer", dropout=0.5).astype(np.float32),
        make_batch_for("transformer"),
    )
    dropout = model.sublayers()["encoder.layers.0.feed_forward_residual"]
    usual = dropout.forward

    def overflow(x, h, rng=None):
        y, cache = usual(x, h, rng)
        return y if rng is None else y + np.inf, cache

    dropout.forward = overflow
    with np.errstate(all="ignore"):
        found = locate_non_finite(model, Threads(model, 1), [batch], (0, 1), 0.1)
    assert found == ("encoder.layers.0.feed_forward_residual", "forward")


def test_the_speed_is_that_of_the_steps(tmp_path, monkeypatch):
    """Not of the validation or the checkpoint between two lines of the log: both take 500 seconds
    of this clock.
    """
    run, batches, valid = start(tmp_path / "run")
    usual = checkpoint.save
    monkeypatch.setattr(checkpoint, "save", lambda *given: (clock.append(500), usual(*given)))
    monkeypatch.setattr(validation, "mean_loss", lambda *given: clock.append(500) or 1.0)
    clock = []
    monkeypatch.setattr(updates.time, "perf_counter", lambda: clock.append(1) or sum(clock))
    train(run, TrainingConfig(steps=30, warmup=5, validate_every=10), batches, valid)
    speeds = [
        record["tokens_per_second"]
        for record in read_metrics(run.path)
        if "tokens_per_second" in record
    ]
    assert min(speeds) > 100


def test_what_is_measured_may_be_of_any_kind_of_number(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    train(
        run,
        TrainingConfig(steps=1, warmup=1),
        batches,
        valid,
        measure=lambda _: {"score": np.float32(0.5), "count": 3},
    )
    assert {"score": 0.5, "count": 3}.items() <= read_metrics(run.path)[-1].items()


def test_validation_keeps_to_the_threads(tmp_path, monkeypatch):
    """Both the loss and the task's own measure."""
    pools = []
    usual = parallel.ThreadPoolExecutor
    monkeypatch.setattr(
        parallel, "ThreadPoolExecutor", lambda threads: pools.append(threads) or usual(threads)
    )
    run, _, _ = start(tmp_path / "run")
    data = run.task.data(run.vocabulary, TrainingConfig(steps=1, warmup=1, threads=3))
    data.measure(run.model)
    assert pools == [3]
    mean_loss(run.model, data.valid, 2)
    assert pools == [3, 2]


@pytest.mark.parametrize(
    "settings, rates",
    [
        (dict(rate_factor=2.0), [2 / 32, 2 / 8, 2 / 16, 2 / 16 / 8]),
        (dict(schedule="constant", peak_rate=0.1), [0.025, 0.1, 0.1, 0.1 / 8]),
        (dict(schedule="inverse-sqrt", peak_rate=0.1), [0.025, 0.1, 0.05, 0.05 / 8]),
    ],
)
def test_the_learning_rate_of_each_schedule(settings, rates):
    """At steps 1 and 4, where the warm-up ends; at 16; and there as the last step of a cooldown
    that began at 9.
    """
    config = TrainingConfig(steps=32, warmup=4, **settings)
    last = TrainingConfig(steps=16, warmup=4, **settings)
    found = [*(config.learning_rate(step, 16) for step in (1, 4, 16)), last.learning_rate(16, 16)]
    assert found == pytest.approx(rates)


def test_batches_that_end_are_not_enough(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    some = [next(batches) for _ in range(3)]
    config = TrainingConfig(steps=5, warmup=2, threads=1)
    with pytest.raises(InputError, match="batches is a list, expected an endless iterator"):
        train(run, config, some, valid)
    with pytest.raises(InputError, match="the batches ended in step 4 of 5"):
        train(run, config, iter(some), valid)
