"""CuPy gives NumPy's numbers: every block, the loss, the optimiser, training, evaluation, decoding."""

import inspect
import json
import math
from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import (
    Adam,
    InputError,
    Run,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    beam_search,
    make_batch,
    sample,
    train,
    training_step,
)
from minitransformer.backend import get_module, to_device, to_host
from minitransformer.checking.blocks import blocks
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.decoding import generate
from minitransformer.tasks.evaluation import mean_loss, pair_batches
from minitransformer.layers import Embedding, Linear
from minitransformer.tasks import TASKS
from minitransformer.tasks.classify import predict
from minitransformer.runs.log import CLOCKS
from minitransformer.runs.report import write_report
from tests.library.gpu import strict
from tests.helpers.layers import NAMES, call, case, changed
from tests.helpers.models import KINDS, RECURRENT, make_batch_for, make_model

BLOCKS = blocks()
FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
PAIRS = [([4, 5, 6], [6, 5, 4]), ([7, 8], [8, 7]), ([9], [9]), ([4, 4, 5, 9], [9, 5, 4, 4])]


def forward_backward(device, block, inputs, backend, dtype):
    """({"y": array}, {name: gradient}) on the host, of a layer or a pair of functions on `backend`."""
    xp = get_module(backend)
    if isinstance(block, tuple):
        (forward, backward), parameters = block, {}
    else:
        block = block.astype(dtype).to(backend)
        forward, backward, parameters = block.forward, block.backward, block.parameters()

    def move(value):
        is_array = (
            isinstance(value, np.ndarray) and value.dtype.kind in "fb"
        )  # ids stay on the host
        return (
            to_device(value.astype(dtype) if value.dtype.kind == "f" else value, xp)
            if is_array
            else value
        )

    takes_rng = "rng" in inspect.signature(forward).parameters
    y, cache = call(
        forward, changed(inputs, move), **({"rng": device.generator(xp, 0)} if takes_rng else {})
    )
    ys, rng = y if isinstance(y, tuple) else (y,), np.random.default_rng(1)
    dys = tuple(move(np.asarray(rng.standard_normal(one.shape))) for one in ys)
    returned = backward(dys if isinstance(y, tuple) else dys[0], cache)
    returned = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
    gradients = {
        **{f"input {i}": gradient for i, gradient in enumerate(returned)},
        **{name: parameter.grad for name, parameter in parameters.items()},
    }
    return {f"y {i}": to_host(one) for i, one in enumerate(ys)}, {
        name: to_host(gradient) for name, gradient in gradients.items()
    }


def worst(found, expected, dtype):
    """The largest error over {name: array}, by the gradient check's measure; all must have `dtype`."""
    largest = max((np.abs(array).max(initial=0) for array in expected.values()), default=0)
    errors = [0.0]
    for name, array in expected.items():
        assert found[name].dtype == array.dtype == dtype and found[name].shape == array.shape
        scale = max(np.abs(array).max(initial=0), np.abs(found[name]).max(initial=0), largest / 10)
        errors.append(float(np.abs(found[name] - array).max(initial=0) / scale) if scale else 0.0)
    return max(errors)


@pytest.mark.parametrize("name", BLOCKS)
def test_block(device, name, capsys):
    """In the sizes of the command, in both dtypes; layers in further sizes."""
    report = [f"{name:24}"]
    for dtype in (FLOAT32, FLOAT64):
        expected, found = (
            forward_backward(device, *BLOCKS[name], backend, dtype) for backend in ("numpy", "cupy")
        )
        errors = [worst(*pair, dtype) for pair in zip(found, expected)]
        report += [f"{dtype}: forward {errors[0]:.1e}, gradients {errors[1]:.1e}"]
        for error in errors:
            device.check(error, dtype)
    for draw in (1, 3, 5) if name in NAMES else ():
        expected, found = (
            forward_backward(device, *case(name, draw), backend, device.dtype)
            for backend in ("numpy", "cupy")
        )
        for pair in zip(found, expected):
            device.check(worst(*pair, device.dtype), device.dtype, slack=1e4)
    if device.xp is not strict.cupy:
        with capsys.disabled():
            print("\n" + "  ".join(report), end="")


def test_ids_stay_on_the_host(device):
    layer = Embedding(9, 4, np.random.default_rng(0)).to("cupy")
    with pytest.raises(
        InputError,
        match="ids is a cupy.ndarray, expected a NumPy array: token ids stay on the host",
    ):
        layer.forward(device.xp.arange(3))


def on_both(work):
    """What `work(backend)` returns, {name: array}, on the host: CuPy's and NumPy's."""
    return [
        {name: np.asarray(to_host(array)) for name, array in work(backend).items()}
        for backend in ("cupy", "numpy")
    ]


def test_clipping_and_adam(device):
    def work(backend):
        layer = Linear(5, 4, np.random.default_rng(0)).to(backend)
        adam, rng = Adam(layer), np.random.default_rng(1)
        for step in (1, 2, 3):
            gradient = rng.standard_normal(layer.flat.grad.shape).astype(FLOAT32)
            layer.flat.grad[...] = to_device(gradient, layer.xp)
            adam.step(0.1 * step, clip=1.0)
        return {
            "updates": adam.updates.astype(FLOAT32),
            "data": adam.data,
            "m": adam.m,
            "v": adam.v,
            "grad": adam.grad,
        }

    device.check(worst(*on_both(work), FLOAT32), FLOAT32)


def test_an_update_that_is_not_finite_is_left_out_and_counted(device):
    """Without waiting: the next update is made, with moments that were not corrupted."""
    layer = Linear(5, 4, np.random.default_rng(0)).to("cupy")
    adam = Adam(layer)
    kept = []
    for gradient in (1.0, math.nan, 2.0):
        layer.flat.grad[...] = gradient
        strict.waits.clear()
        adam.step(0.1, clip=1.0)
        assert not strict.waits
        kept.append([to_host(array).copy() for array in (adam.data, adam.m, adam.v)])
    np.testing.assert_array_equal(kept[1], kept[0])
    assert (kept[2][0] < kept[1][0]).all()
    assert (adam.steps, adam.skipped) == (3, 1) and "steps=3, skipped=1" in repr(adam)


@pytest.mark.parametrize("bad", [1, 4, 9])
def test_training_names_the_step_that_was_left_out(device, tmp_path, bad):
    """It checks every ten steps; the steps after the bad one were made."""
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(TransformerConfig.named("toy", vocabulary.size, d_model=16, d_ff=16)).to(
        "cupy"
    )
    run = Run.create(tmp_path / "run", task, model, vocabulary)
    usual, calls = model.loss_backward, []

    def spoiled(dloss, cache):
        calls.append(1)
        usual(dloss, cache)
        if len(calls) == bad:
            model.output.weight.grad[0] = math.inf

    model.loss_backward = spoiled
    with pytest.raises(
        InputError,
        match=f"step {bad}: NaN or infinity in the loss, backward; no weights were saved yet",
    ):
        train(
            run,
            TrainingConfig(steps=20, warmup=4, threads=1),
            DrawnBatches(task, 8, 0),
            pair_batches(draw_held_out(task, 20)),
        )
    assert len(calls) == 11  # ten steps, and the one that was repeated


def model(backend, **changes):
    """With weights large enough that its outputs differ."""
    config = TransformerConfig.named(
        "toy", 12, **{"d_model": 16, "num_heads": 2, "d_ff": 24, **changes}
    )
    model = Transformer(config, seed=1)
    model.flat.data[...] *= 3
    return model.to(backend)


@pytest.mark.parametrize("kind", KINDS)
def test_training_steps_never_wait(device, kind, monkeypatch):
    """Loss, both backwards, clipping and Adam: everything runs on the device, and the host never
    waits.
    """
    batch = make_batch_for(kind)
    monkeypatch.setattr("minitransformer.training.workers.generator", device.generator)

    def work(backend):
        trained = make_model(kind, dropout=0.2, attention_dropout=0.1, feed_forward_dropout=0.1)
        trained = trained.astype(device.dtype).to(backend)
        adam = Adam(trained)
        with device.never_waits():
            training_step(trained, adam, batch, 0.01, (0, 1), smoothing=0.1)
            sums = training_step(trained, adam, [batch, batch], 0.01, (0, 2), smoothing=0.1)
        return {
            "loss": sums.loss,
            "nll": sums.negative_log_likelihood,
            "data": adam.data,
            "m": adam.m,
            "v": adam.v,
        }

    device.check(worst(*on_both(work), device.dtype), device.dtype, slack=1e4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_loss_of_every_model(device, kind):
    """Over batches, one wait each."""
    batches = [make_batch_for(kind, seed) for seed in range(3)]
    one, other = (make_model(kind).to(backend) for backend in ("cupy", "numpy"))
    strict.waits.clear()
    assert mean_loss(one, batches) == pytest.approx(mean_loss(other, batches), rel=1e-12)
    assert len(strict.waits) <= 3


@pytest.mark.parametrize(
    "changes",
    [
        dict(positions="learned"),
        dict(norm="rms", positions="rotary", kv_heads=1, activation="swiglu"),
    ],
)
def test_generation(device, changes):
    """The same tokens, even when the text outgrows the positions; at most two waits per token."""
    count = 12
    for sampling in (dict(), dict(temperature=0.5, top_k=4, top_p=0.9)):
        texts = []
        for backend in ("cupy", "numpy"):
            model = make_model("language-model", max_length=7, pre_norm=True, **changes).to(backend)
            strict.waits.clear()
            texts.append(
                list(generate(model, [3, 4, 5], count, np.random.default_rng(0), **sampling))
            )
            assert len(strict.waits) <= 2 * count
        assert texts[0] == texts[1] and len(set(texts[0])) > 1


def test_states_on_the_device(device):
    """Hidden states of hypotheses that are reordered and dropped, for both models that generate
    text; no waits.
    """
    prompt, rng = np.array([[3, 4], [5, 6], [7, 8]]), np.random.default_rng(0)
    steps = [(rng.integers(3, 12, (3, 2)), rng.integers(0, 2, (3, 2))) for _ in range(4)]

    def work(kind):
        def advanced(backend):
            found, rows = {}, np.arange(3)
            state = make_model(kind).to(backend).start(prompt)
            state.advance(state.first)
            with device.never_waits():
                for number, (ids, parents) in enumerate(steps):
                    parents = parents[rows] if number else 0 * parents[rows]
                    found[str(number)] = state.advance(ids[rows], parents)
                    if number == 1:
                        state.keep(rows := np.array([0, 2]))
            return found

        return advanced

    for kind in ("transformer", "language-model", *RECURRENT):
        device.check(worst(*on_both(work(kind)), FLOAT64), FLOAT64, slack=1e4)


def test_classes(device):
    """Probabilities of sentences of all lengths."""
    rng = np.random.default_rng(0)
    examples = [(rng.integers(1, 12, length).tolist(), 0) for length in (3, 1, 6, 2)]
    for pooling in ("mean", "first"):
        one, other = (
            predict(make_model("classifier", pooling=pooling).to(backend), examples)
            for backend in ("cupy", "numpy")
        )
        np.testing.assert_allclose(one, other, rtol=1e-10)
        assert type(one) is np.ndarray


@pytest.mark.parametrize(
    "waits, search",
    [
        (1, lambda model, source: beam_search(model, source, 1)),
        (1, lambda model, source: beam_search(model, source, 3, min_length=1, max_length=9)),
        (
            2,
            lambda model, source: sample(
                model,
                source,
                [np.random.default_rng(i) for i in range(len(source))],
                2,
                1.5,
                5,
                0.9,
            ),
        ),
    ],
)
def test_search(device, search, waits):
    """The same outputs, and at most so many waits per position."""
    models, source = (
        [model(backend).astype(FLOAT64) for backend in ("cupy", "numpy")],
        make_batch(PAIRS).source,
    )
    strict.waits.clear()
    one = search(models[0], source)
    assert len(strict.waits) <= waits * (1 + max(len(h.ids) for found in one for h in found))
    other = search(models[1], source)
    assert len({tuple(h.ids) for found in one for h in found}) > 1
    assert [[h.ids for h in found] for found in one] == [[h.ids for h in found] for found in other]
    for found, expected in zip(one, other):
        np.testing.assert_allclose([h[1:] for h in found], [h[1:] for h in expected], rtol=1e-10)


def test_a_run(device, tmp_path):
    """The complete loop: log, validation, weights on disk, answers, loading; it waits only for the
    log.
    """
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    config = TransformerConfig.named(
        "toy", vocabulary.size, dropout=device.dropout, d_model=16, d_ff=16
    )
    logs, weights, outputs = [], [], []
    for backend in ("cupy", "numpy"):
        run = Run.create(
            tmp_path / backend,
            task,
            Transformer(config, seed=0).astype(device.dtype).to(backend),
            vocabulary,
        )
        strict.waits.clear()
        train(
            run,
            TrainingConfig(steps=12, warmup=4, validate_every=6, threads=1),
            DrawnBatches(task, 8, 0),
            pair_batches(draw_held_out(task, 20)),
        )
        if run.model.xp is strict.cupy:
            places = Counter(wait.partition(",")[0] for wait in strict.waits)
            assert places.keys() == {
                "float (updates.py",
                "int (updates.py",
                "float (evaluation.py",
                "get (weights.py",
                "get (run.py",
            }
            assert places["float (updates.py"] <= 3 * 3  # three numbers after steps 6, 10 and 12
            assert places["int (updates.py"] == 3  # how many updates were made, at the same steps
            assert places["float (evaluation.py"] == 1 * 2  # one batch after steps 6 and 12
        write_report(run, [("a b c", "a b c")])
        lines = (run.path / "metrics.jsonl").read_text().splitlines()
        logs.append(
            [
                {
                    k: v
                    for k, v in json.loads(line).items()
                    if k not in ("tokens_per_second", *CLOCKS)
                }
                for line in lines
            ]
        )
        weights.append(load_file(run.path / "weights.safetensors"))
        outputs.append(Run.load(run.path, backend).answer(["a b c", "", "z"]))
    device.check(worst(*weights, device.dtype), device.dtype, slack=1e6)
    assert [record.keys() for record in logs[0]] == [record.keys() for record in logs[1]]
    for one, other in zip(*logs):
        assert one == pytest.approx(other, rel=1e-6)
    assert outputs[0] == outputs[1]
