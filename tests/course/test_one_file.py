"""tutorials/one_file.py computes what the package computes: loss, gradients, updates and greedy
decoding, to 1e-12.
"""

import ast
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest

from minitransformer import (
    Adam,
    Transformer,
    TransformerConfig,
    greedy,
    make_batch,
    schedule,
    training_step,
)
from tests import ROOT

FILE = ROOT / "tutorials" / "one_file.py"
BOUND = 1e-12  # relative to the largest number
SMOOTHING, STEPS = 0.1, 5
VOCAB_SIZE, D_MODEL, HEADS, D_FF, LAYERS = 11, 12, 3, 20, 2
PAIRS = [
    [([4, 9, 3, 3, 7], [5, 8]), ([6], [10, 3, 5]), ([3, 10], [4])],
    [([5, 5], [7, 7, 9, 3, 3, 6]), ([8, 4, 6], [])],
]  # both batches have padding, and T_source != T_target


@pytest.fixture(scope="module")
def one_file():
    spec = importlib.util.spec_from_file_location("one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def models(one_file):
    """The file's model and the package's, with the same random weights."""
    ours = one_file.Transformer(VOCAB_SIZE, D_MODEL, HEADS, D_FF, LAYERS, dropout=0.0)
    theirs = Transformer(
        TransformerConfig(
            source_vocab=VOCAB_SIZE,
            target_vocab=VOCAB_SIZE,
            num_layers=LAYERS,
            d_model=D_MODEL,
            num_heads=HEADS,
            d_ff=D_FF,
            dropout=0.0,
        )
    ).astype(np.float64)
    rng = np.random.default_rng(3)
    for ours_one, theirs_one in pairs_of_parameters(one_file, ours, theirs):
        ours_one.data += 0.1 * rng.standard_normal(ours_one.data.shape)  # biases and betas, too
        theirs_one.data[...] = ours_one.data
    return ours, theirs


def pairs_of_parameters(one_file, ours, theirs):
    """[(the file's parameter, the package's)], by name: the names differ where the package has one
    more layer.
    """
    found = one_file.parameters(ours)
    named = {
        name.replace("target_embedding.", "embedding.")
        .replace(".layers.", ".")
        .replace(".norm.", "."): parameter
        for name, parameter in theirs.parameters().items()
    }
    assert found.keys() == named.keys()
    return [(found[name], named[name]) for name in found]


def assert_equal(pairs):
    """Two lists of arrays are equal, relative to the largest number in any of them."""
    ours, theirs = (np.concatenate([np.ravel(array) for array in arrays]) for arrays in zip(*pairs))
    assert (
        ours.dtype == theirs.dtype == np.float64
        and np.isfinite(ours).all()
        and np.abs(theirs).max() > 0
    )
    assert np.abs(ours - theirs).max() <= BOUND * np.abs(theirs).max()


def test_batches_are_the_packages(one_file):
    for pairs in PAIRS:
        batch = make_batch(pairs)
        assert batch.source.shape[1] != batch.target.shape[1]
        for ours, theirs in zip(
            one_file.make_batch(pairs), (batch.source, batch.target, batch.next_target), strict=True
        ):
            assert (theirs == one_file.PAD).any() and np.array_equal(ours, theirs)


def test_weights_start_as_large_as_the_packages(one_file):
    sizes = VOCAB_SIZE, 60, 3, 80, LAYERS
    ours = one_file.Transformer(*sizes, dropout=0.0)
    theirs = Transformer(
        TransformerConfig(
            source_vocab=VOCAB_SIZE,
            target_vocab=VOCAB_SIZE,
            num_layers=LAYERS,
            d_model=60,
            num_heads=3,
            d_ff=80,
        )
    )
    for ours_one, theirs_one in pairs_of_parameters(one_file, ours, theirs):
        assert ours_one.data.std() == pytest.approx(
            theirs_one.data.std(), rel=0.1
        )  # the seeds differ, the factors by 30 %


def test_loss_and_gradients_are_the_packages(one_file, models):
    ours, theirs = models
    for pairs in PAIRS:  # without zeroing between them: gradients accumulate
        loss = one_file.add_gradients(ours, one_file.make_batch(pairs), SMOOTHING)
        batch = make_batch(pairs)
        sums, cache = theirs.loss_forward(batch, smoothing=SMOOTHING)
        theirs.loss_backward(1 / batch.terms, cache)
        assert_equal([(loss, sums.loss / batch.terms)])
        assert_equal([(a.grad, b.grad) for a, b in pairs_of_parameters(one_file, ours, theirs)])


@pytest.mark.parametrize("warmup", [3, 4000])  # the learning rate rises and falls; the paper's
def test_five_updates_are_the_packages(one_file, models, warmup):
    """The gradient of a key's bias is 0 but for rounding, which Adam divides by itself: only small
    learning rates hide that.
    """
    ours, theirs = models
    adam = Adam(theirs)
    compared = [
        pair
        for name, pair in zip(
            one_file.parameters(ours), pairs_of_parameters(one_file, ours, theirs)
        )
        if warmup == 4000 or not name.endswith("key.bias")
    ]
    clip = 0.5  # the norms of the gradients are above it
    for step in range(1, STEPS + 1):
        rate = one_file.schedule(step, D_MODEL, warmup)
        assert rate == pytest.approx(schedule(step, D_MODEL, warmup), rel=BOUND)
        loss = one_file.add_gradients(ours, one_file.make_batch(PAIRS[step % 2]), SMOOTHING)
        one_file.adam_step(ours, step, rate, clip)
        batch = make_batch(PAIRS[step % 2])
        sums = training_step(theirs, adam, batch, rate, smoothing=SMOOTHING, clip=clip)
        assert_equal([(loss, sums.loss / batch.terms)])
        assert_equal([(a.data, b.data) for a, b in compared])
        assert not any(parameter.grad.any() for parameter in one_file.parameters(ours).values())


def test_greedy_decoding_writes_the_packages_tokens(one_file, models):
    ours, theirs = models
    source = make_batch(PAIRS[0]).source
    for row in (
        source
    ):  # alone: an untrained model writes until the limit, which depends on the source's length
        row = row[row != one_file.PAD][None]
        assert one_file.greedy(ours, row) == greedy(theirs, row)
    for step in range(1, 101):
        one_file.add_gradients(ours, one_file.make_batch(PAIRS[0]), SMOOTHING)
        one_file.adam_step(ours, step, one_file.schedule(step, D_MODEL, warmup=100))
    for ours_one, theirs_one in pairs_of_parameters(one_file, ours, theirs):
        theirs_one.data[...] = ours_one.data
    assert (
        one_file.greedy(ours, source)
        == greedy(theirs, source)
        == [target for _, target in PAIRS[0]]
    )


def test_gradient_check_tells_right_from_wrong(one_file, monkeypatch):
    batch = one_file.make_batch(PAIRS[0])

    def check():
        model = one_file.Transformer(VOCAB_SIZE, 6, 3, 10, 1, dropout=0.1)
        error, name = one_file.gradient_check(model, batch)
        assert not any(parameter.grad.any() for parameter in one_file.parameters(model).values())
        return error, name

    assert check()[0] < 1e-7
    monkeypatch.setattr(one_file, "softmax_backward", lambda dp, p: p * dp)
    error, name = check()
    assert error > 1e-2 and name.split(".")[-2] in ("query", "key")


def test_dropout_keeps_the_mean(one_file):
    y, mask = one_file.dropout_forward(np.ones((200, 300)), 0.25, np.random.default_rng(0))
    assert set(np.unique(y)) == {0, 1 / 0.75} and y.mean() == pytest.approx(1, abs=0.01)
    assert np.array_equal(one_file.dropout_backward(y, mask), y * mask)


def test_it_needs_only_numpy_and_at_most_500_lines():
    text = FILE.read_text(encoding="utf-8")
    imported = {
        alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {
        node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    }
    assert "numpy" in imported and imported - {"numpy"} <= sys.stdlib_module_names
    assert len(text.splitlines()) <= 500


@pytest.mark.campaign
def test_as_a_script_it_copies_words_that_it_has_never_seen(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", FILE],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert (
        "gradient check: largest error" in done.stdout
        and "\nattention -> attention\n" in done.stdout
    )
    assert float(re.search(r"exact match: ([\d.]+)% of 205 words", done.stdout)[1]) >= 99, (
        done.stdout
    )
