"""A page in which a language model continues a text writes what the library's model would."""

import time
from base64 import b64encode

import numpy as np
import pytest

from minitransformer.models import LanguageModel, LanguageModelConfig
from minitransformer_course.explorer import writer
from minitransformer_course.explorer.page import Page
from minitransformer_course.judge.own_text import Characters
from tests.helpers.randomised import randomised

pytestmark = [pytest.mark.slow, pytest.mark.campaign]  # a browser, where there is one
MOST = 14


@pytest.fixture
def written(opened, monkeypatch):
    """written(model, vocabulary, text): what the page writes from a text, the likeliest tokens."""
    monkeypatch.setattr(writer, "MOST", MOST)

    def write(model, vocabulary, text):
        w = np.concatenate([one.data.ravel() for one in model.parameters().values()])
        weights = b64encode(w.astype("<f4").tobytes()).decode()
        tokens = vocabulary.tokens(range(vocabulary.size))
        browser = opened(Page(writer.writer(model, weights, tokens, text, temperature=1e-9)))
        browser.run("find('go').requestSubmit()")
        time.sleep(1)
        return browser.run("find('written').textContent")

    return write


def small(vocab_size) -> LanguageModel:
    sizes = {"num_layers": 2, "d_model": 8, "d_ff": 12, "num_heads": 2}
    config = LanguageModelConfig(vocab_size=vocab_size, max_length=6, dropout=0.0, **sizes)
    return randomised(LanguageModel(config), 0.5, 1)


def likeliest(model, ids) -> list[int]:
    while len(ids) <= MOST:
        logits, _cache = model.forward(np.array([ids[-6:]]))
        ids = [*ids, 3 + int(logits[0, -1, 3:].argmax())]
    return ids


@pytest.mark.parametrize("text, start", [("to be < or & not", "be <"), ("가나다 각", "각")])
def test_it_writes_as_the_librarys_model_does(written, text, start):
    vocabulary = Characters.learn(text)
    model = small(vocabulary.size)
    expected = likeliest(model, vocabulary.encode(start))
    assert written(model, vocabulary, start) == vocabulary.decode(expected)


def test_syllables_that_were_taken_apart_are_typed_as_they_are(written):
    vocabulary = Characters.learn("\u1112\u1161\u11ab\u1100\u1173\u11af ")  # 한글, its letters
    model = small(vocabulary.size)
    expected = likeliest(model, vocabulary.encode("한"))
    assert written(model, vocabulary, "한") == vocabulary.decode(expected)


@pytest.mark.parametrize("start", ["", "xyz"])
def test_what_it_cannot_read_is_said(written, start):
    vocabulary = Characters.learn("ab ")
    assert "has never read" in written(small(vocabulary.size), vocabulary, start)
