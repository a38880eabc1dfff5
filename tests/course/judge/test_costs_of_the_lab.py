"""The numbers of chapters 16 and 17: what it shows as recorded was recorded, and what it says of
its pictures is so.
"""

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
    path = ROOT / "research" / "experiments" / "table_3.json"
    found: dict[str, list[float]] = {}
    for key, result in json.loads(path.read_text(encoding="utf-8")).items():
        task, _, row = key.rpartition(" / ")[0].partition(": ")
        if task == "translate":
            found.setdefault(row.lstrip("ABCDE") if row[1] == " " else row, []).append(
                round(result["bleu"], 1)
            )
    assert {
        row.strip(): tuple(scores) for row, scores in found.items() if len(scores) > 1
    } == lab.claims.TABLE_3


def test_what_the_page_says_of_the_recorded_rows():
    base, *rows = map(np.array, lab.claims.TABLE_3.values())
    difference, error = differences(base, np.array(rows))
    found = dict(zip(list(lab.claims.TABLE_3)[1:], difference))
    assert min(found, key=found.get) == "unscaled attention" and found[
        "unscaled attention"
    ] == pytest.approx(-9.5, abs=0.05)
    assert found["layers 1"] == pytest.approx(-2.4, abs=0.05) and abs(found["heads 1"]) < error
    assert -2.5 * error < found["pre-norm"] < -2 * error


def test_a_layer_sees_what_its_mask_says():
    rng, past = np.random.default_rng(0), np.tri(7, dtype=bool)
    restricted, dilated = window_masks(7, 2, 2, 3)
    for layer, expected in (
        (RestrictedSelfAttention(4, 1, rng, 2), restricted),
        (RestrictedSelfAttention(4, 1, rng, 2, causal=True), restricted & past),
        (Convolution(4, 4, rng, 2, 3, causal=True), dilated),
        (SelfAttention(4, 1, rng), np.ones((7, 7), bool)),
    ):
        assert np.array_equal(lab.costs.sees(layer.astype(float), 7, 4), expected)


def test_what_the_page_says_of_the_heads():
    """Which words the pronoun depends on, and which heads find its noun."""
    model, unseen = lab.pronouns.tired_animal(), lab.pronouns.unseen()
    assert lab.pronouns.right_pronouns(model, unseen) == 1
    for adjective, pronoun, needed in (
        ("tired", "es", {"animal"}),
        ("wide", "sie", {"street", "wide"}),
    ):
        sentence = "the animal did not cross the street because it was too " + adjective
        assert lab.write(model, lab.pronouns.VOCABULARY, sentence).split()[7] == pronoun
        for where in ("encoder", "cross"):
            found = {
                word
                for word in ("animal", "street", adjective)
                if lab.pronouns.without(model, sentence, where, word).split()[0] != pronoun
            }
            assert found == (needed if where == "cross" else set())
        rows, words = lab.pronouns.rows_of(model, sentence)
        assert rows["it"].max() < 0.2 and rows[pronoun][0, words.index("street")] > 0.99
        assert rows[pronoun][2, words.index("animal" if pronoun == "es" else "wide")] > 0.99
    follows, weights, found = (
        EXERCISES["follows"].reference,
        model.attention_weights(*unseen.inputs),
        {},
    )
    for relation, (kind, partner) in lab.pronouns.partners(unseen).items():
        share, fixed = follows(weights[kind][0], partner)
        found[relation] = (*share.round(2).tolist(), round(fixed, 2))
    assert found["verb -> object"][3:] == (0.83, 1.0)
    assert found["pronoun -> noun"] == (0.54, 0.01, 0.46, 0.0, 0.16)


def test_no_sentence_of_training_has_an_animal_on_a_street():
    task, rng = lab.pronouns.Pronouns(), np.random.default_rng(0)
    drawn = [task.draw(rng)[0] for _ in range(2000)]
    assert any({"animal", "street"} <= set(words) for words in drawn)
    assert all(task.is_held_out(words) for words in drawn if {"animal", "street"} <= set(words))


def test_the_training_times_are_recorded():
    found = json.loads(
        (ROOT / "research" / "experiments" / "transformer_and_lstm.json").read_text(
            encoding="utf-8"
        )
    )
    times = {
        name: np.median([found[f"{name} / {seed}"]["training_seconds"] for seed in range(3)])
        for name in ("Transformer: 0.004", "LSTM with attention: 0.008")
    }
    assert [round(time) for time in times.values()] == [296, 332]
