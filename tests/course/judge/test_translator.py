"""learn.lab.translator: what chapter 13 counts, and that its BLEU is sacrebleu's."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from minitransformer.data.drawn import DrawnBatches
from minitransformer.errors import InputError
from minitransformer.functional.special import SPECIAL
from minitransformer.training.evaluation import exact_match
from minitransformer_course.judge.course import exercises
from minitransformer_course.lab import translator
from tests import ROOT

pytestmark = pytest.mark.slow

clipped_matches, corpus_bleu, accuracies = (exercises()[name].reference for name in (
    "clipped_matches", "corpus_bleu", "accuracies"))


@pytest.mark.parametrize("seed", range(4))
def test_the_readers_bleu_is_that_of_sacrebleu(seed):
    rng = np.random.default_rng(seed)
    references = [rng.integers(len(SPECIAL), 12, rng.integers(4, 30)).tolist() for _sentence in range(12)]
    outputs = [[i if rng.random() < 0.8 else 5 for i in one for _copy in range(rng.integers(0, 3) if rng.random() < 0.2 else 1)]
               for one in references]
    made = np.array([[clipped_matches(np.array(one, int), np.array(right), n) for n in (1, 2, 3, 4)]
                     for one, right in zip(outputs, references)])
    lengths = [np.array([len(one) for one in texts]) for texts in (outputs, references)]
    assert abs(corpus_bleu(made[..., 0], made[..., 1], *lengths) - translator.by_sacrebleu(outputs, references)) < 1e-9


def test_without_sacrebleu_one_line_says_what_is_left_out(monkeypatch, capsys):
    def missing(*arguments):
        raise InputError("this needs sacrebleu: pip install sacrebleu")

    monkeypatch.setattr(translator, "bleu", missing)
    assert np.isnan(translator.by_sacrebleu([[5]], [[5]]))
    assert capsys.readouterr().out == "not compared: this needs sacrebleu: pip install sacrebleu\n"


def test_a_text_is_right_under_teacher_forcing_if_and_only_if_the_model_writes_it():
    model, pairs = translator.trained(steps=60), translator.unseen(60) + translator.with_seen(60)[0]
    predicted, ids = translator.predictions(model, pairs)
    _tokens, texts = accuracies(predicted, ids)
    written = [output == target for output, (_source, target) in zip(translator.translated(model, pairs), pairs)]
    assert texts == np.mean(written) == exact_match(model, pairs, threads=1) and 0 < texts < 1
    assert (translator.predictions(model, pairs, dropout_seed=0)[0] != predicted).any()


def test_what_is_seen_is_in_a_batch_of_training_and_nothing_unseen_is():
    batches = zip(range(10), DrawnBatches(translator.TASK, translator.SIZE, 3))
    rows = {tuple(row[row >= len(SPECIAL)].tolist()) for _step, batch in batches for row in batch.source}
    pairs, seen = translator.with_seen(3000, seed=3, steps=10)
    assert [tuple(source) in rows for source, _target in pairs] == seen.tolist() and 0 < seen.sum() < len(seen)
    assert not rows & {tuple(source) for source, _target in translator.unseen()}


def test_the_pictures_show_what_they_are_given():
    try:
        translator.show_shares({"a": 0.5, "b": 1.0}, "right (%)")
        assert [bar.get_width() for bar in plt.gca().patches] == [50, 100]
        translator.show_spread(np.array([0.4, 0.5]), [0.41, 0.42, 0.43])
        assert [line.get_xdata()[0] for line in plt.gca().lines] == [41, 42, 43]
        translator.show_merges([9, 7], ["ab"])
        assert plt.gca().lines[0].get_ydata().tolist() == [9, 7]
        assert [text.get_text() for text in plt.gca().get_xticklabels()] == ["none", "ab"]
    finally:
        plt.close("all")


def test_the_scores_of_multi30k_are_those_that_were_recorded():
    page = (ROOT / "tutorials" / "13_translation" / "chapter.py").read_text(encoding="utf-8")
    recorded = (ROOT / "experiments" / "multi30k.md").read_text(encoding="utf-8")
    table = page[page.index("# | | BLEU |"):page.index("# ## Your Transformer")]
    scores = re.findall(r"\b\d\d\.\d\d\b", table)
    assert len(scores) == 6 and not [score for score in scores[:5] if score not in recorded]    # the last one is of the paper
    base, big, ensemble = (hours * 3600 * 8 * 9.5e12 for hours in (12, 3.5 * 24, 7.7e19 / 3600 / 8 / 9.5e12))
    assert f"= {base / 1e18:.1f} \\cdot 10^{{18}} $$" in table and f"with {big / base:.0f} times as many" in table
    assert f"needed {ensemble / base:.0f} times as many" in table
    signature = re.search(r"`(nrefs[^`]+)`", table)
    assert signature and signature[1] in recorded


@pytest.mark.parametrize("seed", range(5))
def test_the_text_of_each_case_has_one_most_frequent_pair(seed):
    exercise = exercises()["merged"]
    for name, (ids, _new) in exercise.cases(seed):
        assert exercise.module.clear(ids), name
