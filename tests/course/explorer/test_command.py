"""`explore`: a page of each kind of run, and one line for what it cannot show."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import save

from minitransformer import Run, Transformer, TransformerConfig
from minitransformer.runs.snapshots import snapshot_steps
from minitransformer_course import lab
from minitransformer_course.explorer import explore
from tests.course.explorer import pages
from tests.helpers.command import QUICK, one_line, train

pytestmark = pytest.mark.slow


DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>')


def data_of(path):
    return json.loads(DATA.search(path.read_text(encoding="utf-8"))[1])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run with snapshots, the last of which are the trained weights."""
    folder = tmp_path_factory.mktemp("runs") / "kept"
    train("copy --steps 12 --batch 8 --snapshot-every 3", *QUICK, "--run", folder)
    return folder


def test_explore(run_cli, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options, name in (
        ([], "explore.html"),
        ([], "explore-2.html"),
        (["--output", "mine.html"], "mine.html"),
    ):
        code, out, error = run_cli("explore", trained, "c a b", "--target", "a c", *options)
        assert (
            code == 0
            and re.fullmatch(rf"written: {name} \(1\.\d MB\); open it in a browser\n", out)
            and not error
        )
    data, encode = data_of(tmp_path / "mine.html"), Run.load(trained).vocabulary.encode
    assert data["batch"] == {
        "source": [*encode("cab"), 2],
        "target": [1, *encode("ac")],
        "next_target": [*encode("ac"), 2],
    }
    assert data["smoothing"] == 0.1 and [one["name"] for one in data["weights"]] == [
        "the trained model"
    ]


def test_without_a_target_the_model_writes_it(run_cli, text_run, tmp_path):
    assert run_cli("explore", text_run, "the dog", "--output", tmp_path / "a.html")[0] == 0
    run = Run.load(text_run)
    ids = data_of(tmp_path / "a.html")["batch"]["target"][1:]
    assert run.vocabulary.decode(ids) == run.answer(["the dog"])[0]


def test_a_language_model_predicts_the_text(run_cli, language_run, tmp_path):
    assert run_cli("explore", language_run, "the dog", "--output", tmp_path / "a.html")[0] == 0
    ids = Run.load(language_run).vocabulary.encode("the dog")
    assert data_of(tmp_path / "a.html")["batch"] == {"ids": ids[:-1], "next_target": ids[1:]}


def test_the_page_has_some_of_the_snapshots_and_the_trained_weights(kept, monkeypatch):
    assert snapshot_steps(kept) == [0, 3, 6, 9, 12]
    run = Run.load(kept)
    for most, stops, left in (
        (10, ["step 0", "step 3", "step 6", "step 9"], []),
        (3, ["step 0", "step 9"], [3, 6]),
        (1, [], [0, 3, 6, 9]),
    ):
        monkeypatch.setattr(
            "minitransformer_course.explorer.page.NUMBERS", most * run.model.num_parameters()
        )
        data = json.loads(DATA.search(explore(run, "ab").html)[1])
        assert [one["name"] for one in data["weights"]] == [*stops, "the trained model"] and data[
            "left_out"
        ] == left


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda whole: whole[:100], "step-00000003.safetensors: not a snapshot"),
        (lambda _: save({"a": np.ones(1, "float32")}), "a: found (1,), expected no such array"),
    ],
)
def test_a_damaged_snapshot_is_one_line(run_cli, kept, tmp_path, change, said):
    path = kept / "snapshots" / "step-00000003.safetensors"
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    code, out, error = run_cli("explore", kept, "ab", "--output", tmp_path / "a.html")
    path.write_bytes(whole)
    assert code == 2 and not out and one_line(error) and said in error


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("copy", [""], "the text is empty, expected 1 to 60"),
        ("copy", ["a" * 61], "the text has 61 tokens, expected 1 to 60"),
        ("copy", ["ab1"], "unknown symbol 'ab1'"),
        ("copy", ["ab", "--target", "a?"], "unknown symbol 'a?'"),
        ("copy", ["ab", "--target", "a" * 61], "the target has 61 tokens"),
        ("copy", ["a\ud800"], "unknown symbol"),
        ("language", ["t"], "the text has 1 token, expected 2 to 17"),
        ("language", ["the dog is red and"], "expected 2 to 17"),
        ("language", ["the?"], "the character '?' is not in the vocabulary"),
        ("language", ["the", "--target", "dog"], "--target is of no use to the task language"),
        ("translate", ["the 한국"], "not in the vocabulary: 한 국"),
        ("classify", ["a film"], "not a Classifier"),
    ],
)
def test_a_text_that_cannot_be_shown_is_one_line(run_cli, runs, tmp_path, name, arguments, said):
    code, out, error = run_cli("explore", runs[name], *arguments, "--output", tmp_path / "a.html")
    assert (
        code == 2
        and not out
        and one_line(error)
        and said in error
        and not (tmp_path / "a.html").exists()
    )


def test_a_page_that_cannot_be_written_is_one_line(run_cli, trained, tmp_path):
    (tmp_path / "there.html").write_text("mine")
    for name, said in (
        ("there.html", "already exists"),
        ("no/a.html", "there is no folder"),
        ("", "a folder"),
        ("a" * 300 + ".html", "File name too long"),
    ):
        code, out, error = run_cli("explore", trained, "ab", "--output", tmp_path / name)
        assert code == 2 and not out and one_line(error) and said in error
    assert (tmp_path / "there.html").read_text() == "mine"


def test_a_run_without_weights_is_one_line(run_cli, trained, tmp_path):
    assert "no run here" in run_cli("explore", tmp_path, "ab")[2]
    Run.create(
        tmp_path / "new",
        Run.load(trained).task,
        Run.load(trained).model,
        Run.load(trained).vocabulary,
    )
    code, out, error = run_cli("explore", tmp_path / "new", "ab", "--output", tmp_path / "a.html")
    assert code == 2 and not out and one_line(error) and "no trained model" in error


def test_another_kind_of_attention_is_refused(run_cli, tmp_path):
    train(
        "copy --attention unscaled --steps 2 --batch 4",
        *QUICK,
        "--run",
        tmp_path / "run",
    )
    code, _, error = run_cli("explore", tmp_path / "run", "ab", "--output", tmp_path / "a.html")
    assert (
        code == 2
        and "attention is 'unscaled', but a page shows only models with 'scaled'"
        in error.splitlines()[-1]
    )


def test_a_toy_runs_page_is_small():
    model = Transformer(TransformerConfig.named("toy", 29))
    _, vocabulary = lab.drawkcab()
    one, four = (
        len(
            pages.page_of(
                model,
                vocabulary,
                "backward",
                "drawkcab",
                smoothing=0.1,
                title="toy",
                weights=dict.fromkeys(range(count), pages.data_of(model)),
            ).html.encode()
        )
        for count in (1, 4)
    )
    assert one < 2.5e6 and four < 6e6
