"""A run in parts: what a page sees of it, and a folder that the commands take up."""

import io
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from minitransformer import Run, Transformer, TransformerConfig
from minitransformer.layers import Linear
from minitransformer.tasks import TASKS, toy
from minitransformer_course import messages
from minitransformer_course.live import parts, products, train

ENGLISH = "the quick brown fox jumps over the lazy dog. " * 230
KOREAN = "동해물과 백두산이 마르고 닳도록 하느님이 보우하사 우리나라 만세. " * 300


@pytest.fixture(autouse=True)
def begun(tmp_path, monkeypatch):
    """A page whose runs have five small steps, one in each part."""
    monkeypatch.setattr(messages, "_chosen", [])
    monkeypatch.chdir(tmp_path)
    small = {"steps": 5, "d_model": 16, "d_ff": 32, "num_heads": 2, "window": 8, "batch": 4}
    monkeypatch.setattr(train, "SMALL", train.SMALL | small)
    few = {"steps": 5, "batch": 4, "d_model": 16, "d_ff": 32, "num_heads": 2}
    monkeypatch.setattr(TASKS["copy"], "defaults", TASKS["copy"].defaults | few)
    monkeypatch.setattr(toy, "VALID", 3)
    monkeypatch.setattr(train, "SECONDS", 0.001)
    train.begin("en")


def finish():
    seen = []
    while not seen or not seen[-1]["said"]:
        seen.append(train.advance())
    return seen


def test_the_curve_moves_with_each_part_and_the_model_is_measured_at_the_end():
    assert train.start("copy", "") == {"said": "11,600 weights, 5 steps."}
    seen = finish()
    assert [one["step"][:12] for one in seen][:5] == [f"Step {n} of 5:" for n in range(1, 6)]
    assert len({one["curve"] for one in seen[:5]}) == 5
    assert seen[0]["said"] is None and seen[-1]["said"][0] == "Trained."
    assert seen[-1]["said"][1].endswith(
        "% of its answers to examples that it never saw are exactly right."
    )


def test_the_curve_is_drawn_from_the_first_loss_to_the_last():
    found = parts.seen([(1, 4.0), (2, 2.0)], steps=2)
    assert found["step"] == "Step 2 of 2: loss 2.000"
    curve = ElementTree.fromstring(found["curve"])
    (line,) = curve.iter("polyline")
    assert line.get("points") == "186.5,22.0 186.5,22.0 335.0,91.0"
    assert [one.text for one in curve.iter("text")] == "loss 4.0 0 0 2 step".split()
    assert curve.get("aria-label") == found["step"]


def test_before_there_is_a_model_a_sentence_says_so():
    for ask in (train.say, train.explore, train.download):
        assert ask("cab") == {"error": "Train a model first, a few steps at least."}
    train.start("copy", "")
    assert "error" in train.start("language", "") and "error" in train.say("cab")


def test_in_parts_it_ends_with_the_weights_of_a_run_at_one_go(monkeypatch):
    found = []
    for seconds, least in ((0.001, 5), (100, 1)):
        monkeypatch.setattr(train, "SECONDS", seconds)
        train.start("copy", "")
        assert len(finish()) >= least
        found.append(train.state.training.run.model.flat.data.copy())
    assert np.array_equal(*found)


def test_the_download_is_measured_and_resumed_by_the_commands(run_cli, tmp_path):
    """A text lies beside the run, so it is found wherever the two are."""
    train.start("language", ENGLISH)
    train.advance()
    seen = train.advance()
    given = train.download("")
    assert given["name"] == "language.zip" and seen["step"].startswith("Step 2 ")
    train.begin("en")
    (train.PLACE / "train.txt").unlink()
    elsewhere = tmp_path / "elsewhere"
    zipfile.ZipFile(io.BytesIO(given["file"])).extractall(elsewhere)
    code, said, _err = run_cli("evaluate", elsewhere / "language")
    assert code == 0 and "perplexity" in said
    code, _out, said = run_cli("train --resume", elsewhere / "language")
    assert code == 0 and "resuming after step 2" in said
    assert Run.load(elsewhere / "language").finished


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "your text is empty: a language model wants"),
        (" \n", "your text is empty"),
        ("a" * 20_000, "your text consists of 'a' alone"),
        ("too short", "your text has 9 characters: a language model wants 10,000"),
    ],
)
def test_a_text_from_which_nothing_can_be_learned_is_a_sentence(text, said):
    assert said in train.start("language", text)["error"]


@pytest.mark.parametrize(
    "text", [KOREAN, ENGLISH + "\ud800", ENGLISH + "a letter of the end only: é"]
)
def test_any_other_text_trains(text):
    train.start("language", text)
    assert finish()[-1]["said"][1].startswith("On the held-out end of your text its perplexity is ")
    assert len(train.say(text[:3])["answer"]) > 100


def test_of_a_huge_text_the_beginning_is_used():
    assert (
        "your text is long: its first 1,000,000 characters are used"
        in (train.start("language", "ab " * 400_000)["said"])
    )


def test_a_word_needs_no_spaces_and_what_cannot_be_read_is_a_sentence():
    train.start("copy", "")
    run = train.state.training.run
    assert train.say("CaB") == {"answer": "CaB → " + "".join(run.answer(["c a b"])[0].split())}
    assert train.say("  ") == {"error": "Write something for the model to read."}
    assert "'é'" in train.say("é")["error"]


def test_the_explorer_has_the_model_and_its_snapshots():
    train.start("copy", "")
    finish()
    html = train.explore("cab")["file"].decode()
    assert "<title>copy</title>" in html and '"step 3"' in html
    assert train.explore("")["error"] == train.say("")["error"]


def test_products_of_matrices_are_einsum_s_and_everything_else_is_numpy_s(monkeypatch):
    rng, einsum, called = np.random.default_rng(0), np.einsum, []
    monkeypatch.setattr(np, "einsum", lambda *given: called.append(given[0]) or einsum(*given))
    layer = Linear(3, 2, rng).astype("float64")
    x, dy = rng.standard_normal((2, 4, 5, 3)), rng.standard_normal((4, 5, 2))
    expected, cache = layer.forward(x[0])
    right = [expected, layer.backward(dy, cache), layer.weight.grad.copy()]
    assert not called
    layer = layer.astype("float64")
    products.with_einsum(layer)
    y, cache = layer.forward(x[0].view(products.Products))
    for a, b in zip([y, layer.backward(dy, cache), layer.weight.grad], right, strict=True):
        assert type(a) is products.Products and np.allclose(a, b, rtol=1e-14)
    assert len(called) == 3
    assert np.array_equal(
        x[0].view(products.Products) @ x[0].swapaxes(1, 2), x[0] @ x[0].swapaxes(1, 2)
    )
    model = Transformer(TransformerConfig.named("toy", 9))
    products.with_einsum(model)
    assert type(model.flat.data) is type(model.flat.grad) is products.Products and model.xp is np
