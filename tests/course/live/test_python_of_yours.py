"""A model in which the reader's functions run: proven, trained in parts, and put into a page."""

import json
import re
from html import unescape

import numpy as np
import pytest

from minitransformer_course import messages
from minitransformer_course.judge import capstone
from minitransformer_course.judge.course import find_exercise
from minitransformer_course.live import yours

COUNTED = """def softmax_backward(dp, p):
    global calls
    calls = globals().get("calls", 0) + 1
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))
"""


@pytest.fixture(autouse=True)
def begun(tmp_path, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", [])
    monkeypatch.setattr(capstone, "WORDS", 500)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(yours, "SECONDS", 0.001)
    yours.begin("en")
    yield
    yours.begin("en")


def kept(**texts):
    return {"layer_norm": find_exercise("layer_norm").source, **texts}


def test_the_readers_functions_run_in_the_model_and_only_while_it_works():
    said = yours.start(kept(softmax_backward=COUNTED))["said"]
    assert said[0].startswith("the same as tutorials/one_file.py in 90 arrays")
    assert said[1].startswith(
        "my_transformer.py: 2 of 17 functions of this model are yours; the library's: "
    )
    assert len(said) == 2
    called = yours.state.mine.functions["softmax_backward"].__globals__
    before = called["calls"]
    assert yours.advance()["step"].startswith("Step 2 of 2000: loss ")
    assert called["calls"] == before + 6  # of each attention, once
    capstone.library()["greedy"](yours.state.mine.learned.weights(), np.array([[3, 2]]), 2)
    assert called["calls"] == before + 6


@pytest.mark.parametrize(
    "texts", [{}, {"softmax": "def softmax(x):\n    return x\n"}, {"new": "1"}]
)
def test_without_a_function_that_passes_a_sentence_says_where_to_begin(texts):
    assert "Chapter 4 is a good place" in yours.start(texts)["error"]
    assert yours.advance() == yours.say("cab") == yours.download("cab")
    assert yours.say("cab") == {"error": "Train a model first, a few steps at least."}


def test_it_ends_once_every_unseen_word_is_right(monkeypatch):
    """Which is measured now and then, and reported as `learn plug` reports it."""
    monkeypatch.setattr(yours, "MEASURE", 3)
    yours.start(kept())
    mine, right = yours.state.mine, {"exact": 1.0, "example": ["ab", "ba"]}
    monkeypatch.setattr(yours, "_measure", lambda _mine: mine.result.update(right, steps=3))
    assert yours.advance()["said"] is None
    said = yours.advance()["said"]
    assert said[0] == "Trained." and said[2].startswith("after 3 steps, 100.0% of 200 words that")


def test_a_word_is_of_letters():
    yours.start(kept())
    assert re.fullmatch("cab → [a-z]*", yours.say("C aB")["answer"])
    for text in ("", " ", "c4b", "<s>", "나"):
        assert yours.say(text) == {"error": "Write a word of the letters a to z."}


def test_the_page_for_a_friend_has_the_map_the_proof_and_the_model(monkeypatch):
    yours.start(kept())
    given = yours.download("cab")
    html = given["file"].decode()
    assert (given["name"], given["type"]) == ("my_transformer.html", "text/html")
    assert "<svg" in html and "my_transformer.py: 1 of 17 functions of this model are yours" in html
    assert "minitransformer learn start" not in html and "my_text.txt" not in html
    inside = unescape(re.search('<iframe srcdoc="([^"]*)"', html)[1])
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', inside)[1])
    assert data["kind"] == "Transformer" and data["sizes"] == [29, 29]
    assert data["weights"][0]["name"] == "the trained model"
