"""The numbers of chapters 16 and 17: what it shows as recorded was recorded, and what it says of
its pictures is so.
"""

import json

import numpy as np
import pytest

from minitransformer_course import lab
from minitransformer_course.judge.course import exercises
from tests import ROOT

pytestmark = pytest.mark.slow

differences = exercises()["differences"].reference


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


def test_what_the_page_says_of_the_rows():
    model, unseen = lab.pronouns.tired_animal(), lab.pronouns.unseen()
    assert lab.pronouns.right_pronouns(model, unseen) == 1
    for adjective, pronoun in (("tired", "es"), ("wide", "sie")):
        sentence = "the animal did not cross the street because it was too " + adjective
        assert lab.write(model, lab.pronouns.VOCABULARY, sentence).split()[7] == pronoun
        rows, words = lab.pronouns.rows_of(model, sentence)
        assert rows["it"].max() < 0.2 and rows[pronoun][0, words.index("street")] > 0.99


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
