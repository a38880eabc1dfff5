"""docs/context_vector.md and chapter 14 show what experiments/context_vector.py measured, and the picture can be drawn again."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
RESULTS = json.loads((ROOT / "experiments" / "context_vector.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("context_vector", ROOT / "experiments" / "context_vector.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_of_the_results(experiment):
    page = (ROOT / "docs" / "context_vector.md").read_text(encoding="utf-8")
    chapter = (ROOT / "tutorials" / "14_before_attention" / "chapter.py").read_text(encoding="utf-8")
    for name, label in experiment.LABELS.items():
        (gradients, accuracy), = re.findall(rf"^\| {label} \| (.+) \| (.+) \|$", page, re.MULTILINE)
        shown = [float(number) for number in gradients.split(", ")]
        assert shown == pytest.approx([RESULTS[name]["untrained"][distance - 1] for distance in (1, 10, 100)], rel=0.05)
        measured = dict(zip(experiment.LENGTHS, RESULTS[name]["accuracy"]))
        right = [f"{100 * measured[length]:.0f} %" for length in (10, 20, 50, 100)]
        assert accuracy == ", ".join(right)
        assert f"| {label} | {' | '.join(right)} |" in chapter


def test_the_picture_can_be_drawn(experiment, tmp_path):
    experiment.draw(RESULTS, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 50_000


@pytest.mark.parametrize("name", ["rnn", "lstm-attention", "transformer"])
def test_the_gradient_is_of_what_the_encoder_reads(experiment, monkeypatch, name):
    """By central differences: the first letter's loss when all that is read at one place moves along the gradient."""
    monkeypatch.setattr(experiment, "LONGEST", 4)
    monkeypatch.setattr(experiment, "MEASURED", 1)
    model = experiment.make_model(name).astype(np.float64)
    found = experiment.gradient_by_distance(model)
    assert len(found) == 4
    ((source, target),) = experiment.draw_pairs(np.random.default_rng(1), [4])
    batch = experiment.make_batch([(source, target)])
    usual, slopes = model.encoder.forward, np.zeros((5, 64))

    def loss(place, axis, step):
        def moved(x, *others, **options):
            x = x.copy()
            x[0, place, axis] += step
            return usual(x, *others, **options)

        monkeypatch.setattr(model.encoder, "forward", moved)
        logits = model.forward(batch.source, batch.target)[0][0, 0]
        return np.log(np.exp(logits).sum()) - logits[target[0]]

    for place in (0, 3):
        for axis in range(64):
            slopes[place, axis] = (loss(place, axis, 1e-5) - loss(place, axis, -1e-5)) / 2e-5
    norms = np.sqrt((slopes * slopes).sum(axis=1))
    assert (found[3], found[0]) == pytest.approx((norms[0], norms[3]), rel=0.01)    # place 0 is the furthest
