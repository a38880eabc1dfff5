"""The toy tasks: their examples, and that held-out ones stay out."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.data import number_words
from minitransformer.data.drawn import DrawnBatches, draw_examples, draw_held_out
from minitransformer.tasks import TASKS


@pytest.mark.parametrize("n, english, german, korean", [
    (0, "zero", "null", "영"),
    (1, "one", "eins", "일"),
    (10, "ten", "zehn", "십"),
    (17, "seventeen", "siebzehn", "십칠"),
    (21, "twenty one", "einundzwanzig", "이십일"),
    (30, "thirty", "dreißig", "삼십"),
    (101, "one hundred one", "einhunderteins", "백일"),
    (1000, "one thousand", "eintausend", "천"),
    (10_000, "ten thousand", "zehntausend", "만"),
    (11_111, "eleven thousand one hundred eleven", "elftausendeinhundertelf", "만 천백십일"),
    (20_006, "twenty thousand six", "zwanzigtausendsechs", "이만 육"),
    (101_000, "one hundred one thousand", "einhunderteintausend", "십만 천"),
    (123_000, "one hundred twenty three thousand", "einhundertdreiundzwanzigtausend", "십이만 삼천"),
    (999_999, "nine hundred ninety nine thousand nine hundred ninety nine",
     "neunhundertneunundneunzigtausendneunhundertneunundneunzig", "구십구만 구천구백구십구"),
])
def test_number_words(n, english, german, korean):
    assert " ".join(number_words.english(n)) == english
    assert "".join(number_words.german(n)) == german
    assert "".join(number_words.korean(n)) == korean


@pytest.mark.parametrize("language", number_words.LANGUAGES)
def test_number_words_differ(language):
    words = {"".join(number_words.LANGUAGES[language](n)) for n in range(20_000)}
    assert len(words) == 20_000


@pytest.mark.parametrize("name, expected", [("copy", "c a b a"), ("reverse", "a b a c"), ("sort", "a a b c")])
def test_sequence_tasks(name, expected):
    assert " ".join(TASKS[name]().transform(list("caba"))) == expected


@pytest.mark.parametrize("name, language", [("copy", None), ("sort", None), ("numbers", "german"),
                                            ("numbers", "korean")])
def test_held_out_examples_are_never_trained_on(name, language):
    task = toy.make_task(name, language)
    tested = {tuple(source) for source, _ in toy.held_out(task, 300)}
    assert len(tested) == 300
    trained = {tuple(source) for source, _ in toy.examples(task, 0, 5000)}
    assert not tested & trained


def test_unknown_tasks_are_named():
    for name, language in (("cpoy", None), ("numbers", "french"), ("numbers", None)):
        with pytest.raises(InputError, match="unknown toy task"):
            toy.make_task(name, language)


def test_small_numbers_are_not_held_out():
    task = toy.make_task("numbers", "german")
    assert not any(task.held_out(number_words.english(n)) for n in range(100))
    share = np.mean([task.held_out(number_words.english(n)) for n in range(100, 20_000)])
    assert share == pytest.approx(0.1, abs=0.01)


def test_batches_repeat_with_the_seed():
    task = toy.make_task("copy")
    first, again, other = (next(toy.ToyBatches(task, 4, seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.source, again.source)
    assert first.source.shape != other.source.shape or (first.source != other.source).any()
