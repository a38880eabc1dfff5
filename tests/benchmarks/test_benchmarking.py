"""The measurements: what is counted, what a worker reports, when it ends, and that the peers train
the same model.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from research.benchmarks import scaling, step, text
from research.benchmarks.cases import CASES, Case
from research.benchmarks.contestants import our_step
from research.benchmarks.contestants.matmul import necessary_operations
from research.benchmarks.measure import Measurement, OtherWork, Worker, measure, others_seconds
from research.benchmarks.worker import peak_memory, serve
from minitransformer.data.batches import make_batch
from minitransformer.errors import InputError
from minitransformer.functional import cross_entropy_forward
from minitransformer.data.special import PAD
from minitransformer.models import Transformer, TransformerConfig
from minitransformer.training.step import add_gradients

pytestmark = pytest.mark.slow

SIZES = {"num_layers": 1, "d_model": 8, "num_heads": 2, "d_ff": 16}
TINY = Case("toy", 20, 4, 6, SIZES)


class Counting(np.ndarray):
    """An array that counts the operations of its products of two matrices; a product with a vector
    is a sum.
    """

    __module__ = "numpy"  # for module_of
    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Counting) else x for x in inputs]
        if out:
            kwargs["out"] = tuple(x.view(np.ndarray) for x in out)
        y = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul and min(x.ndim for x in plain) > 1:
            Counting.operations += 2 * y.size * plain[0].shape[-1]
        return out[0] if out else y.view(Counting) if isinstance(y, np.ndarray) else y


def test_necessary_operations_are_those_of_the_products_made():
    config = TransformerConfig(
        source_vocab=13, target_vocab=13, num_layers=2, d_model=12, num_heads=3, d_ff=20
    )
    model = Transformer(config)
    for parameter in model.parameters().values():
        parameter.data, parameter.grad = (
            parameter.data.view(Counting),
            parameter.grad.view(Counting),
        )
    batch = make_batch([(range(3, 8), range(3, 10))] * 4)
    Counting.operations = 0
    add_gradients(model, [batch], terms=batch.terms)
    assert Counting.operations == necessary_operations(config, 4, 6, 8)


def test_necessary_operations_by_hand():
    """One sentence, one layer, all widths 1, one token in, one out: 6 + 2 multiplications, 6 + 2 +
    4 + 2, and V.
    """
    config = TransformerConfig(
        source_vocab=10, target_vocab=10, num_layers=1, d_model=1, num_heads=1, d_ff=1
    )
    assert necessary_operations(config, 1, 1, 1) == 2 * 3 * (8 + 14 + 10)


def test_tokens_of_a_case_are_all_real():
    for case in CASES.values():
        (batch,) = case.batches()
        assert batch.terms == case.sentences * case.length


@pytest.fixture
def padded(tmp_path):
    """A case with two batches of text; one has padding in the source and in the target."""
    batches = [
        make_batch([([5, 6, 7], [5, 6]), ([8], [9, 10, 11, 12])]),
        make_batch([([13, 14], [15])]),
    ]
    text.save(batches, tmp_path / "batches.npz")
    return Case("toy", 20, changes=SIZES, text=str(tmp_path / "batches.npz"))


@pytest.fixture
def trains(monkeypatch, padded):
    """trains(contestant): the loss of a batch, trained on repeatedly, is finite and falls (with
    noise from dropout).
    """

    def check(module):
        monkeypatch.setattr(module, "LEARNING_RATE", 0.003)
        for case in TINY, padded:
            falls(module.make_step(case, threads=1))  # two would wait for each other at this size

    def falls(step):
        losses = [step() for _ in range(60)]
        assert np.isfinite(losses).all() and np.mean(losses[-15:]) < 0.97 * np.mean(losses[:15])

    return check


def test_our_step_trains(trains):
    trains(our_step)


def test_batches_of_text_are_those_of_training(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a b c\tx y\nd e\tz\n", encoding="utf-8")
    case = text.text_cases(CASES, [str(tmp_path / "pairs.tsv")], tmp_path)["small"]
    batches = case.batches()
    assert (
        len(batches) == text.BATCHES
        and case.vocabulary == max(ids.max() for batch in batches for ids in batch[:3]) + 1
    )
    assert case.config().d_model == CASES["small"].config().d_model
    assert all(max(ids.size for ids in batch[:3]) <= 2048 for batch in batches)


def test_saved_batches_are_the_same(padded):
    first, second = padded.batches()
    np.testing.assert_array_equal(first.source, [[5, 6, 7, 2], [8, 2, 0, 0]])
    np.testing.assert_array_equal(first.next_target, [[5, 6, 2, 0, 0], [9, 10, 11, 12, 2]])
    assert (first.terms, second.terms) == (8, 2)


def test_tokens_and_operations_are_those_of_all_batches(monkeypatch, padded):
    monkeypatch.setattr(
        step,
        "measure",
        lambda *_: {
            "minitransformer": Measurement([2.0], 300, None),
            "matmul": Measurement([0.1], 0, None),
        },
    )
    result = step.compare(padded, (), 1, 1)
    assert result["tokens_per_second"] == 10 / 2.0
    assert result["padding"] == {"source": pytest.approx(2 / 11), "target": pytest.approx(2 / 12)}
    work = (
        necessary_operations(TINY.config(), 2, 4, 5) + necessary_operations(TINY.config(), 1, 3, 2)
    ) / 2.0
    assert result["matmul_share"] == pytest.approx(work / (2 * 2048**3 / 0.1))


@pytest.mark.campaign
def test_padding_changes_nothing_in_jax(padded):
    """The same logits as ours at every real place, and the mean loss over real targets only."""
    batch, model = padded.batches()[0], Transformer(padded.config())
    expected = model.forward(batch.source, batch.target)[0]
    real = batch.next_target != PAD
    jax_jit = pytest.importorskip("research.benchmarks.contestants.jax_jit")
    weights = {name: parameter.data for name, parameter in model.parameters().items()}
    logits = jax_jit.logits(
        model.config, weights, batch.source, batch.target, lambda x: x, padded=True
    )
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-5)
    loss, _ = cross_entropy_forward(expected, batch.next_target, jax_jit.SMOOTHING, padding=PAD)
    np.testing.assert_allclose(
        jax_jit.cross_entropy(logits, batch.next_target), loss / batch.terms, rtol=1e-5
    )


@pytest.mark.campaign
def test_padding_changes_nothing_in_torch(padded):
    """A sentence has the same logits alone and in a batch with a longer one."""
    torch = pytest.importorskip("torch")
    from research.benchmarks.contestants import torch_eager

    source, target, _ = map(torch.from_numpy, padded.batches()[0][:3])
    model = torch_eager.Model(padded.config(), length=5).train(False)
    together, alone = model(source, target, source == PAD), model(source[1:, :2], target[1:])
    np.testing.assert_allclose(together[1:].detach(), alone.detach(), atol=1e-5)


@pytest.mark.campaign
def test_torch_trains_the_same_model(trains):
    pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from research.benchmarks.contestants import torch_eager

    count = sum(
        parameter.numel()
        for parameter in torch_eager.Model(TINY.config(), TINY.length).parameters()
    )
    assert count == Transformer(TINY.config()).num_parameters()
    trains(torch_eager)
    step = torch_eager.make_step(TINY, threads=1)
    with FlopCounterMode(display=False) as counted:
        step()
    assert counted.get_total_flops() == necessary_operations(
        TINY.config(), TINY.sentences, TINY.length, TINY.length
    )


@pytest.mark.campaign
def test_jax_trains_the_same_model(trains):
    pytest.importorskip("jax")
    from research.benchmarks.contestants import jax_jit

    model, batch = Transformer(TINY.config()), TINY.batches()[0]
    weights = {name: parameter.data for name, parameter in model.parameters().items()}
    logits = jax_jit.logits(model.config, weights, batch.source, batch.target, drop=lambda x: x)
    np.testing.assert_allclose(logits, model.forward(batch.source, batch.target)[0], atol=1e-5)
    trains(jax_jit)


def test_a_worker_answers_each_order():
    answers = list(serve("minitransformer", TINY, 1, ["1\n", "3\n"]))
    assert len(answers) == 2
    assert all(answer["seconds"] > 0 and 0 <= answer["peak"] < peak_memory() for answer in answers)


def test_a_loss_that_is_no_number_is_a_failure(monkeypatch):
    monkeypatch.setattr(our_step, "make_step", lambda case, threads: lambda: float("nan"))
    (answer,) = serve("minitransformer", TINY, 1, ["1"])
    assert answer == {"failed": "FloatingPointError: the loss is not a number"}


@pytest.mark.campaign
def test_one_that_fails_does_not_stop_the_others():
    measured = measure(TINY, ("minitransformer", "nobody"), threads=1, rounds=2)
    assert len(measured["minitransformer"].seconds) == 2 and measured["minitransformer"].peak > 0
    assert measured["nobody"] == Measurement([], 0, "KeyError: 'nobody'")


def test_a_worker_that_dies_says_so():
    with Worker("minitransformer", TINY, 1) as worker:
        worker._process.kill()
        worker.take_turn()
        worker.take_turn()  # asked no more
    assert worker.failed == "its process ended (-9)"


def test_no_worker_is_left_behind():
    with pytest.raises(KeyboardInterrupt), Worker("minitransformer", TINY, 1) as worker:
        worker.take_turn()
        raise KeyboardInterrupt
    assert worker._process.returncode == -9


def test_work_of_our_own_children_is_not_that_of_others():
    if OtherWork().cores() is None:
        pytest.skip("no /proc here")
    child = subprocess.Popen(
        [sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]
    )
    os.waitid(
        os.P_PID, child.pid, os.WEXITED | os.WNOWAIT
    )  # it has ended, but is not ours before we wait for it
    someones = others_seconds()
    child.wait()
    assert others_seconds() < someones - 0.4


def test_ratios(monkeypatch):
    """Ours / theirs: speeds paired in each round, and memory."""
    monkeypatch.setattr(
        step,
        "measure",
        lambda *_: {
            "minitransformer": Measurement([1.0, 2.0, 4.0], 300, None),
            "torch": Measurement([1.5, 6.0, 8.0], 600, None),
            "jax": Measurement([], 0, "no luck"),
            "matmul": Measurement([0.1, 0.2], 0, None),
        },
    )
    result = step.compare(TINY, ("torch", "jax"), 1, 3)
    assert result["tokens_per_second"] == 4 * 6 / 2.0 and result["peak_memory_bytes"] == 300
    assert result["peers"] == {
        "jax": {"failed": "no luck"},
        "torch": {
            "tokens_per_second": 4.0,
            "peak_memory_bytes": 600,
            "ratio": 2.0,
            "peak_memory_ratio": 0.5,
        },
    }
    work = necessary_operations(TINY.config(), 4, 6, 6) / 2.0
    assert result["matmul_share"] == pytest.approx(work / (2 * 2048**3 / 0.1))


def test_minitransformer_itself_must_not_fail(monkeypatch):
    failed = {name: Measurement([], 0, "MemoryError: ") for name in ("minitransformer", "matmul")}
    monkeypatch.setattr(step, "measure", lambda *_: failed)
    monkeypatch.setattr(scaling, "measure", lambda *_: failed)
    with pytest.raises(InputError, match="minitransformer failed: MemoryError"):
        step.compare(TINY, (), 1, 1)
    with pytest.raises(InputError, match="minitransformer with length 16 failed: MemoryError"):
        next(scaling.scale(1, 1))


def test_scaling_doubles_one_size_at_a_time():
    middle = {"length": 32, "sentences": 16, "d_model": 128, "vocabulary": 2000}
    for axis, value, case in scaling.points():
        sizes = {**case._asdict(), "d_model": case.config().d_model}
        assert {name: sizes[name] for name in middle} == {**middle, axis: value}
