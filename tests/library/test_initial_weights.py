"""research/experiments/initial_weights.py multiplies the weights it says, measures what it says,
resumes, and fills its page.
"""

import importlib
import json
import math

import numpy as np
import pytest

from minitransformer import Transformer, TransformerConfig, make_batch
from tests import ROOT

SCRIPTS = ROOT / "research" / "experiments"


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


class Vocabulary:
    size = 50


def largest(model, name):
    """The largest weight, as a share of Xavier's bound."""
    weight = model.parameters()[name].data
    return np.abs(weight).max() / math.sqrt(6 / sum(weight.shape))


def test_each_kind_of_weight_has_its_factor(experiment):
    script = experiment("initial_weights")
    usual = Transformer(TransformerConfig.named("tiny", 50, dropout=0.3), seed=3)
    model = script.make_model(
        script.Setting("post", 4, query_key=0.25, value=0.4, output=0.1), Vocabulary, seed=3
    )
    expected = {
        "query": 0.25,
        "key": 0.25,
        "value": 0.4,
        "attention.output": 0.1,
        "feed_forward.outer": 0.1,
    }
    for name in model.parameters():
        factor = next(
            (factor for part, factor in expected.items() if name.endswith(f"{part}.weight")), None
        )
        if factor:
            assert largest(model, name) == pytest.approx(factor, rel=0.01), name
        else:
            assert np.array_equal(model.parameters()[name].data, usual.parameters()[name].data), (
                name
            )


def test_statistics_of_attention(experiment):
    """Against loops over sentences, heads and queries, for a padded batch."""
    statistics = experiment("attention_statistics")
    model = Transformer(TransformerConfig.named("toy", 50), seed=1)
    batch = make_batch([([5, 6, 7, 8], [9, 8, 7]), ([6, 5], [5, 9, 6, 7, 8])])
    found = statistics.measure(model, [batch])
    _, cache = model.loss_forward(batch)
    for i, layer in enumerate(cache.hidden.decode.decoder.layers):
        for kind, one, keys in (
            ("decoder", layer.self_attention, None),
            ("cross", layer.cross_attention, True),
        ):
            variances, entropies, cosines = [], [], []
            for b in range(2):
                length, sources = (batch.target[b] != 0).sum(), (batch.source[b] != 0).sum()
                x = one.query.x[b, :length]
                x = x / np.linalg.norm(x, axis=1)[:, None]
                cosines.append(
                    np.mean([x[s] @ x[t] for s in range(length) for t in range(length) if s != t])
                )
                for h in range(4):
                    for t in range(length):
                        n = sources if keys else t + 1
                        if n > 1:
                            scores = one.attention.key[b, h, :n] @ one.attention.query[b, h, t] / 4
                            p = np.exp(scores) / np.exp(scores).sum()
                            variances.append(scores.var())
                            entropies.append(-(p * np.log(p)).sum() / np.log(n))
            for what, value in (
                ("spread", math.sqrt(np.mean(variances))),
                ("entropy", np.mean(entropies)),
                ("similarity", np.mean(cosines)),
            ):
                assert found[what][kind][i] == pytest.approx(value, rel=0.006), (what, kind, i)


def test_gradients_by_depth(experiment):
    statistics = experiment("attention_statistics")
    model = Transformer(TransformerConfig.named("toy", 50), seed=1)
    batches = [make_batch([([5, 6, 7], [7, 8])]), make_batch([([5, 8], [6, 9, 9])])]
    found = statistics.measure(model, batches)["gradient"]
    model.zero_grad()
    for batch in batches:
        _, cache = model.loss_forward(batch, smoothing=0.1)
        model.loss_backward(1 / (3 + 4), cache)
    second = np.concatenate(
        [p.grad.ravel() for name, p in model.parameters().items() if "encoder.layers.1." in name]
    )
    assert found["encoder"][1] == pytest.approx(np.linalg.norm(second), rel=0.006)
    attention = model.decoder.layers[0].cross_attention
    cross = [
        parameter.grad.ravel()
        for linear in (attention.query, attention.key)
        for parameter in linear.parameters().values()
    ]
    assert found["cross-attention's query and key"][0] == pytest.approx(
        np.linalg.norm(np.concatenate(cross)), rel=0.006
    )


def test_a_short_plan_is_the_beginning_of_the_long_one(experiment):
    plan = experiment("initial_weights").plan
    assert [plan(0, 4000).learning_rate(step, 128) for step in (1, 2000, 4000)] == [
        plan(0).learning_rate(step, 128) for step in (1, 2000, 4000)
    ]


def test_training_resumes_with_the_same_bits(experiment, tmp_path):
    """Whether in one piece or in two, and whatever other models trained in between."""
    script = experiment("initial_weights")
    words = "a man in the park sees two dogs near water with his red ball while it rains".split()
    rng = np.random.default_rng(0)
    for part in ("train", "val"):
        for language in ("en", "de"):
            lines = [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(60)]
            (tmp_path / f"{part}.lc.norm.tok.{language}").write_text(
                "\n".join(lines) + "\n", encoding="utf-8"
            )
    setting, other = script.alike("post", 0.5, 0.5, layers=1), script.alike("pre", 1, 1, layers=1)
    whole = script.train_until(tmp_path, tmp_path / "whole", setting, 1, 5)
    script.train_until(tmp_path, tmp_path, setting, 1, 2)
    script.train_until(tmp_path, tmp_path, other, 1, 3)
    assert {**script.train_until(tmp_path, tmp_path, setting, 1, 5), "seconds": 0} == {
        **whole,
        "seconds": 0,
    }
    assert json.loads(json.dumps(whole)) == whole


def test_the_page_shows_the_results_and_the_picture_can_be_drawn(experiment, tmp_path):
    script = experiment("initial_weights")
    results, page = (
        script.read(SCRIPTS / "initial_weights.json"),
        (SCRIPTS / "initial_weights.md").read_text(encoding="utf-8"),
    )
    assert script.table(results) in page
    script.draw(results, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 50_000


def test_pytorch_has_the_same_gradients_and_the_page_shows_them(experiment):
    script = experiment("initial_weights")
    ours, theirs = (
        script.read(SCRIPTS / f"{name}.json")
        for name in ("initial_weights", "initial_weights_torch")
    )
    page = (SCRIPTS / "initial_weights.md").read_text(encoding="utf-8")
    for start, output in {"Xavier's": 1, "the library's": script.by_depth(6)}.items():
        gradients = ours[f"{script.alike('post', 1, output, 6)} / 0 /    0"]["gradient"][
            "cross-attention's query and key"
        ]
        assert theirs[f"{start} / 0"]["gradient"] == pytest.approx(gradients, rel=0.006), start
    for start, row in {
        "Xavier's": "Xavier's, here and in PyTorch",
        "the library's": "the library's, here and in PyTorch",
        "drawn by PyTorch": "drawn by PyTorch itself",
    }.items():
        shown = page.split(f"| {row} |")[1].split(" |\n")[0].split("|")
        assert [float(number) for number in shown] == pytest.approx(
            theirs[f"{start} / 0"]["gradient"], rel=0.03
        ), start
