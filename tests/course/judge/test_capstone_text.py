"""The end of the capstone: a model without an encoder, proven, then trained on the reader's text."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer_course.commands import learn_actions
from minitransformer_course.judge import capstone, capstone_text, own_text
from minitransformer_course.judge.capstone_report import proof_page, report
from minitransformer_course.judge.my_transformer import FUNCTIONS
from tests.helpers.capstone import edit, result

pytestmark = pytest.mark.slow
PLAIN = "To be, or not to be, that is the question <b>.\n" * 300


@pytest.fixture
def text(folder, monkeypatch):
    """A folder in which all is written, with a text; words count as reversed at once."""
    (folder / "my_text.txt").write_text(PLAIN, encoding="utf-8")
    monkeypatch.setattr(
        capstone, "train", lambda *_: {"steps": 1, "exact": 1.0, "seconds": 0.0, "example": "ab"}
    )
    monkeypatch.setattr(capstone_text, "WRITTEN", 5)
    return folder


@pytest.fixture
def short(monkeypatch):
    learn = capstone_text.learn
    monkeypatch.setattr(capstone_text, "learn", lambda *given: learn(*given, steps=30))


@pytest.mark.parametrize("functions", [FUNCTIONS, (), ("loss", "adam_step")])
def test_the_model_learns_the_text_whose_ever_its_parts_are(functions, text, short):
    said: list[str] = []
    found = result((), functions, say=said.append)
    learned = found["text"]
    assert len(learned["losses"]) == 30 and learned["losses"][-1] < learned["losses"][0] - 0.5
    assert [step for step, _bits in learned["bits"]] == [0, 3, 10, 30]
    assert learned["bits"][-1][1] < learned["bits"][0][1]
    assert [step for step, _written in learned["samples"]] == [0, 3, 10, 30]
    assert all(one[:8] in PLAIN and len(one) == 8 + 5 for _step, one in learned["samples"])
    assert any("without an encoder" in one for one in said)


def test_a_mistake_without_an_encoder_is_named_and_nothing_is_trained(text, short):
    edit(text / "my_model.py", "None if alone else memory", "memory")
    wrong = result()["text"]
    assert [*wrong] == ["wrong"] and "source=None" in wrong["wrong"]


def test_a_model_that_ignores_the_future_only_with_an_encoder_is_wrong(text, short):
    edit(text / "my_model.py", "layer(x, decoder, w", "layer(x, decoder | alone, w")
    assert "logits" in result()["text"]["wrong"]


def test_the_page_has_the_loss_and_what_was_written(text, short):
    found = result()
    found["text"]["samples"][-1] = (30, "a sample with <b>")
    page = proof_page(found, [], [])
    assert page.count("<polyline") == 1 and page.count("after ") >= 4
    assert "a sample with &lt;b&gt;" in page and "<b>" not in page
    assert 'id="go"' in page and 'value="sample"' in page and len(page) > 200_000
    assert "from my_text.txt: " in report(found, [], [])
    del found["text"]
    assert "my_text.txt" in report(found, [], []) and "<polyline" not in proof_page(found, [], [])


def test_a_text_that_cannot_be_learned_is_said_before_anything_runs(folder, monkeypatch):
    monkeypatch.setattr("minitransformer_course.judge.run_file.run_capstone", None)
    (folder / own_text.FILE).write_text("short", encoding="utf-8")
    with pytest.raises(InputError, match="^my_text.txt has 5 characters"):
        learn_actions.plug(None)


def test_characters_are_drawn_and_special_tokens_never():
    logits = np.zeros((1, 9, 6))
    logits[..., :3], logits[..., 4] = 50, 3
    drawn = capstone_text.write(
        lambda weights, source, ids: (logits[:, : ids.shape[1]], None),
        {},
        [3],
        np.random.default_rng(0),
        200,
    )
    assert min(drawn) == 3 and len(drawn) == 201 and drawn.count(4) > 100
