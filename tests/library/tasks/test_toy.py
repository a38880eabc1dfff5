"""The toy tasks: their examples, the exclusion of held-out ones, and the measures on them."""

import string

import numpy as np
import pytest

from minitransformer import InputError, Run
from minitransformer.tasks import numbers as number_words
from minitransformer.data.drawn import draw_examples, draw_held_out
from minitransformer.tasks.evaluation import exact_match, mean_loss, pair_batches, perplexity
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.decoding.hypothesis import Hypothesis
from minitransformer.models import Transformer, TransformerConfig
from minitransformer.tasks import TASKS, toy
from minitransformer.tasks.toy import is_held_out

DRAWN = [TASKS["copy"](), TASKS["sort"](), TASKS["numbers"](), TASKS["numbers"](language="korean")]


@pytest.mark.parametrize(
    "name, expected", [("copy", "c a b a"), ("reverse", "a b a c"), ("sort", "a a b c")]
)
def test_letter_tasks(name, expected):
    assert " ".join(TASKS[name]().transform(list("caba"))) == expected


@pytest.mark.parametrize(
    "task", DRAWN, ids=lambda task: f"{task.name}-{getattr(task, 'language', '')}"
)
def test_held_out_examples_are_never_trained_on(task):
    tested = {tuple(source) for source, _ in draw_held_out(task, 300)}
    assert len(tested) == 300
    assert not tested & {tuple(source) for source, _ in draw_examples(task, 0, 5000)}


def test_small_numbers_are_not_held_out():
    task = TASKS["numbers"]()
    assert not any(task.is_held_out(number_words.english(n)) for n in range(100))
    share = np.mean([task.is_held_out(number_words.english(n)) for n in range(100, 20_000)])
    assert share == pytest.approx(0.1, abs=0.01)


def test_it_is_measured_on_held_out_examples(monkeypatch):
    assert toy.TEST == 1000
    monkeypatch.setattr(toy, "TEST", 50)
    task = TASKS["copy"]()
    model = Transformer(
        TransformerConfig.named(
            "toy", task.make_vocabulary().size, d_model=8, num_heads=2, num_layers=1
        )
    )
    run = Run("nowhere", type("Settings", (), {"task": task}), model, task.make_vocabulary())
    scores = task.evaluate(run, GREEDY)
    pairs = draw_held_out(task, 50)
    assert scores == {
        "exact_match": exact_match(model, pairs),
        "examples": 50,
        "perplexity": perplexity(mean_loss(model, pair_batches(pairs))),
    }
    outputs = decode_all(model, [source for source, _ in pairs])
    right = [(source, best.ids) for (source, _), (best, *_) in zip(pairs, outputs)]
    assert exact_match(model, right) == 1


def test_exact_match_uses_the_threads_that_it_is_told_to(monkeypatch):
    def decode(model, sources, search, threads):
        return (
            [[Hypothesis(ids, 0.0, 0.0)] for ids in sources]
            if (search, threads) == (GREEDY, 3)
            else None
        )

    monkeypatch.setattr("minitransformer.tasks.evaluation.decode_all", decode)
    assert exact_match(None, [([5], [5]), ([6], [7])], threads=3) == 0.5


def test_a_task_with_too_few_examples_says_so():
    """Too few either way: few of ten one-letter examples are held out; if all are, none is left to
    train on.
    """

    class Small(TASKS["copy"]):
        name = "small"

        def draw(self, rng):
            letter = string.ascii_lowercase[rng.integers(10)]
            return [letter], [letter]

    class AllHeldOut(Small):
        is_held_out = staticmethod(lambda source: True)

    held_out = sum(is_held_out([letter]) for letter in string.ascii_lowercase[:10])
    with pytest.raises(
        InputError,
        match=f"the task small has only {held_out} different examples to hold out, expected 200",
    ):
        draw_held_out(Small(), 200)
    with pytest.raises(
        InputError, match="the task small has only 0 different examples to train on, expected 5"
    ):
        draw_examples(AllHeldOut(), 0, 5)


@pytest.mark.parametrize(
    "n, english, german, korean",
    [
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
        (
            123_000,
            "one hundred twenty three thousand",
            "einhundertdreiundzwanzigtausend",
            "십이만 삼천",
        ),
        (
            999_999,
            "nine hundred ninety nine thousand nine hundred ninety nine",
            "neunhundertneunundneunzigtausendneunhundertneunundneunzig",
            "구십구만 구천구백구십구",
        ),
    ],
)
def test_number_words(n, english, german, korean):
    assert " ".join(number_words.english(n)) == english
    assert "".join(number_words.german(n)) == german
    assert "".join(number_words.korean(n)) == korean


@pytest.mark.parametrize("language", number_words.LANGUAGES)
def test_number_words_differ(language):
    words = {"".join(number_words.LANGUAGES[language](n)) for n in range(20_000)}
    assert len(words) == 20_000
