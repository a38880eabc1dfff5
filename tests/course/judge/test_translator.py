"""lab.translator: what chapter 14 counts, and that its BLEU is sacrebleu's; lab.korean: what
chapter 14b shows.
"""

import re
import runpy

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager

from minitransformer import make_batch
from minitransformer.data.drawn import DrawnBatches
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.decoding import Search, translate
from minitransformer.errors import InputError
from minitransformer.data.special import SPECIAL
from minitransformer.pictures.attention_map import Attended
from minitransformer.tasks.evaluation import bleu, chrf, exact_match
from minitransformer_course.judge.course import exercises
from minitransformer_course import lab, messages
from minitransformer_course.lab import translator
from tests import ROOT

pytestmark = pytest.mark.slow

clipped_matches, corpus_bleu, accuracies = (
    exercises()[name].reference for name in ("clipped_matches", "corpus_bleu", "accuracies")
)


@pytest.mark.parametrize("seed", range(4))
def test_the_readers_bleu_is_that_of_sacrebleu(seed):
    rng = np.random.default_rng(seed)
    references = [
        rng.integers(len(SPECIAL), 12, rng.integers(4, 30)).tolist() for _sentence in range(12)
    ]
    outputs = [
        [
            i if rng.random() < 0.8 else 5
            for i in one
            for _copy in range(rng.integers(0, 3) if rng.random() < 0.2 else 1)
        ]
        for one in references
    ]
    made = np.array(
        [
            [clipped_matches(np.array(one, int), np.array(right), n) for n in (1, 2, 3, 4)]
            for one, right in zip(outputs, references)
        ]
    )
    lengths = [np.array([len(one) for one in texts]) for texts in (outputs, references)]
    mine = corpus_bleu(made[..., 0], made[..., 1], *lengths)
    said = translator.beside_sacrebleu(mine, outputs, references)
    assert float(said.removeprefix("difference ")) < 1e-9


def test_without_sacrebleu_one_line_says_what_is_left_out(monkeypatch):
    def missing(*arguments):
        raise InputError("this needs sacrebleu: pip install sacrebleu")

    monkeypatch.setattr(translator, "bleu", missing)
    said = translator.beside_sacrebleu(0.5, [[5]], [[5]])
    assert said == "not compared: this needs sacrebleu: pip install sacrebleu"


def test_a_text_is_right_under_teacher_forcing_if_and_only_if_the_model_writes_it():
    pairs = translator.unseen(60) + translator.drawn_like_training(60)
    model, batch = translator.trained(steps=60), make_batch(pairs)
    predicted = model.forward(*batch.inputs)[0].argmax(axis=-1)
    _tokens, texts = accuracies(predicted, batch.next_target)
    written = [
        output == target
        for output, (_source, target) in zip(translator.translated(model, pairs), pairs)
    ]
    assert texts == np.mean(written) == exact_match(model, pairs, threads=1) and 0 < texts < 1


def test_what_is_seen_is_in_a_batch_of_training_and_nothing_unseen_is():
    batches = zip(range(10), DrawnBatches(translator.TASK, translator.SIZE, 3))
    rows = {
        tuple(row[row >= len(SPECIAL)].tolist()) for _step, batch in batches for row in batch.source
    }
    assert rows == translator.read_in_training(seed=3, steps=10)
    pairs = translator.drawn_like_training(3000, seed=3)
    assert 0 < sum(tuple(source) in rows for source, _target in pairs) < len(pairs)
    assert not rows & {tuple(source) for source, _target in translator.unseen()}


def test_the_pictures_show_what_they_are_given():
    translator.show_shares({"a": 0.5, "b": 1.0}, "right (%)")
    assert [bar.get_width() for bar in plt.gca().patches] == [50, 100]
    translator.show_spread(np.array([0.4, 0.5]), [0.41, 0.42, 0.43])
    assert [line.get_xdata()[0] for line in plt.gca().lines] == [41, 42, 43]
    translator.show_merges([9, 7], ["ab"])
    assert plt.gca().lines[0].get_ydata().tolist() == [9, 7]
    assert [text.get_text() for text in plt.gca().get_xticklabels()] == ["none", "ab"]


def test_the_scores_of_multi30k_are_those_that_were_recorded():
    page = (ROOT / "tutorials" / "14_evaluation" / "chapter.py").read_text(encoding="utf-8")
    recorded = (ROOT / "research" / "experiments" / "multi30k.md").read_text(encoding="utf-8")
    seeds = re.findall(r"^\| this preset, seed \d \| (\d\d\.\d\d)", recorded, re.MULTILINE)
    (published,) = re.findall(r"^\| Wu et al.*, published \| ([\d.]+)", recorded, re.MULTILINE)
    scores = np.array(seeds, float)
    spread = scores.std(ddof=1)
    said = " ".join(page.replace("\n# ", " ").split())
    assert len(seeds) == 3
    assert f"a mean of {scores.mean():.2f} ± {spread / 3**0.5:.2f}," in said
    assert f"has {published} (Wu et al. 2021)" in said and f"$s = {spread:.2f}$" in said
    assert f"= {spread * (1 / 3 + 1) ** 0.5:.2f}$" in said


def test_the_costs_of_table_2_are_the_papers():
    table = lab.claims.TABLE_2
    for name, hours in (("base", 12), ("big", 3.5 * 24)):
        cost = table[f"Transformer, {name}"][2]
        assert f"{hours * 3600 * 8 * 9.5e12:.1e}" == f"{cost:.1e}"
    big, ensemble = table["Transformer, big"], table["ConvS2S, ensemble"]
    assert round(big[0] - ensemble[0], 2) == 2.04 and round(big[3] / table["MoE"][3], 2) == 0.19


@pytest.mark.parametrize("seed", range(5))
def test_the_text_of_each_case_has_one_most_frequent_pair(seed):
    exercise = exercises()["merged"]
    for name, (ids, _new) in exercise.cases(seed):
        assert exercise.module.clear(ids), name


def test_the_korean_model_fits_in_the_wheel_and_its_files_in_the_repository():
    sizes = [
        path.stat().st_size
        for path in (ROOT / "tutorials" / "korean_english").iterdir()
        if path.is_file()
    ]
    assert max(sizes) <= 300_000 and sum(sizes) <= 1_500_000


def test_subwords_restore_a_text_and_are_merged_in_the_order_in_which_they_were_learned():
    _model, subwords = lab.load_korean_model()
    assert len(set(subwords.listed)) == subwords.size
    for korean, english in lab.korean.held_out():
        for text in (korean, english):
            ids = subwords.encode(text)
            if len(SPECIAL) not in ids:
                assert subwords.decode(ids) == text
    few = lab.korean.Subwords("▁abc", [("a", "b"), ("b", "c"), ("ab", "c")])
    assert few.tokens(few.encode(" abc  bca?")) == ["▁", "abc", "▁", "bc", "a", "<unk>"]
    assert few.decode([1, *few.encode("abc bca"), 2]) == "abc bca"


def test_words_of_a_map_are_made_of_their_subwords():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (3, 5))  # (H, T_q, T_k)
    found = lab.korean.by_words(
        Attended(weights, None, ["▁나", "는", ".", "</s>"], ["▁I", "▁don", "'t", "?", "</s>"])
    )
    assert (found.queries, found.keys) == (["I", "don't", "?", "</s>"], ["나는", ".", "</s>"])
    mean = weights.mean(axis=0)
    assert found.weights[1, 0] == pytest.approx(mean[1:3, :2].sum() / 2) and found.weights.sum(
        axis=1
    ) == pytest.approx(np.ones(4))


@pytest.mark.parametrize(
    "fonts, word", [(["DejaVu Sans"], "hangukeo"), (["NanumGothic"], "한국어")]
)
def test_without_a_font_for_hangul_it_is_spelled_in_latin_letters(
    monkeypatch, axes, capsys, fonts, word
):
    monkeypatch.setattr(font_manager, "get_font_names", lambda: fonts)
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    lab.show_translation(axes, *lab.load_korean_model(), "한국어")
    assert axes.get_xticklabels()[0].get_text() == word
    assert ("나눔고딕" in capsys.readouterr().out) == (word != "한국어")


@pytest.mark.campaign
def test_no_held_out_sentence_is_in_the_training_text(multi30k):
    train = runpy.run_path(str(ROOT / "tutorials" / "korean_english" / "train.py"))
    path = multi30k.with_name("ko-en-tatoeba") / "kor-eng.tsv.gz"
    if not path.is_file():
        pytest.skip(f"{path} does not exist: no real data here")
    test, valid, rest = train["split"]([line.split("\t") for line in split_lines(read_text(path))])
    assert [(korean, english) for english, korean, _attribution in test] == lab.korean.held_out()
    assert (len(test), len(valid), len(rest)) == (200, 200, 5349)
    trained, held = (
        {side.lower().strip("?!.") for line in part for side in line[:2]}
        for part in (rest, test + valid)
    )
    assert not trained & held


@pytest.mark.campaign
def test_what_the_page_says_of_the_korean_model_is_what_it_does():
    text = (ROOT / "tutorials" / "14b_translation" / "chapter.py").read_text(encoding="utf-8")
    page = " ".join(text.replace("\n# ", " ").split())
    model, subwords = lab.load_korean_model()
    sources, references = zip(*lab.korean.held_out())
    outputs = [
        translate(model, subwords, sources, 256, Search(beam=beam), threads=1) for beam in (1, 5)
    ]
    scores = [
        f"{score:.1f}"
        for texts in outputs
        for score in (bleu(texts, references)[0], chrf(texts, references))
    ]
    assert (
        "BLEU is {} and chrF, which counts characters instead of words, is {}.".format(*scores[:2])
        in page
    )
    assert "they are {} and {}.".format(*scores[2:]) in page

    def twice(texts, n):
        grams = [list(zip(*(ids[i:] for i in range(n)))) for ids in map(subwords.encode, texts)]
        return sum(len(set(one)) < len(one) for one in grams)

    assert (
        f"{twice(references, 1)} of the 200 references contain a token twice, and {twice(references, 2)} of them"
        in page
    )
    assert f"| the references | {twice(references, 3)} | {twice(references, 3)} |" in page
    assert f"| at the end, after 1,600 | {twice(outputs[0], 3)} | {twice(outputs[1], 3)} |" in page
    assert (
        f"{len(subwords.merges):,} merges" in page
        and f"{model.flat.data.size / 1e6:.1f} million parameters" in page
    )
