"""Chapter 15's numbers: what it shows as recorded was recorded, and what it says of its pictures is so."""

import json

import numpy as np
import pytest

from minitransformer.layers import SelfAttention
from minitransformer.zoo.baselines import Convolution, RestrictedSelfAttention
from minitransformer_course import lab
from minitransformer_course.judge.course import exercises
from tests import ROOT

pytestmark = pytest.mark.slow

EXERCISES = exercises()
window_masks, differences = EXERCISES["window_masks"].reference, EXERCISES["differences"].reference


def test_the_recorded_scores_are_those_of_the_experiment():
    path = ROOT / "experiments" / "table_3.json"
    found: dict[str, list[float]] = {}
    for key, result in json.loads(path.read_text(encoding="utf-8")).items():
        task, _, row = key.rpartition(" / ")[0].partition(": ")
        if task == "translate":
            found.setdefault(row.lstrip("ABCDE") if row[1] == " " else row, []).append(round(result["bleu"], 1))
    assert {row.strip(): tuple(scores) for row, scores in found.items() if len(scores) > 1} == lab.costs.TABLE_3


def test_what_the_page_says_of_the_recorded_rows():
    base, *rows = map(np.array, lab.costs.TABLE_3.values())
    difference, error = differences(base, np.array(rows))
    found = dict(zip(list(lab.costs.TABLE_3)[1:], difference))
    assert min(found, key=found.get) == "unscaled attention" and found["unscaled attention"] == pytest.approx(-9.5, abs=0.05)
    assert found["layers 1"] == pytest.approx(-2.4, abs=0.05) and abs(found["heads 1"]) < error
    assert -2.5 * error < found["pre-norm"] < -2 * error


def test_a_layer_sees_what_its_mask_says():
    rng, past = np.random.default_rng(0), np.tri(7, dtype=bool)
    restricted, dilated = window_masks(7, 2, 2, 3)
    for layer, expected in ((RestrictedSelfAttention(4, 1, rng, 2), restricted),
                            (RestrictedSelfAttention(4, 1, rng, 2, causal=True), restricted & past),
                            (Convolution(4, 4, rng, 2, 3, causal=True), dilated),
                            (SelfAttention(4, 1, rng), np.ones((7, 7), bool))):
        assert np.array_equal(lab.costs.sees(layer.astype(float), 7, 4), expected)


def test_the_letters_within_the_radius_come_out_right():
    """A letter is written right if its place and the end of the word see each other."""
    shares = lab.costs.letters_right(lambda T, radius: window_masks(T, radius, 1, 1)[0], range(9))
    near = np.tri(9, 8, k=-1, dtype=bool)
    assert shares[near].min() == 1 and shares[~near].max() < 0.6
