"""attention, plot, compare, info and the report of a run: pictures and facts."""

import json
import re
import shutil
import sys

import matplotlib.image
import numpy as np
import pytest

from minitransformer import Run, plots
from minitransformer.training.report import write_report
from tests.cli.conftest import one_line


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    from minitransformer.cli import main

    folder = tmp_path_factory.mktemp("runs") / "numbers"
    assert main(["train", "numbers", "--language", "korean", "--steps", "3", "--batch", "4", "--run", str(folder)]) == 0
    return folder


def size_of(picture):
    """(height, width) of a PNG that is not of one colour."""
    pixels = matplotlib.image.imread(picture)
    assert pixels.std() > 0.01
    return pixels.shape[:2]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_attention(run_cli, trained, tmp_path, kind):
    code, _, error = run_cli("attention", trained, "twenty-one", "--kind", kind, "--layer", 0,
                             "--output", tmp_path / "a.png")
    assert code == 0 and "Traceback" not in error
    height, width = size_of(tmp_path / "a.png")
    assert width > height / 10 and width > 400


@pytest.mark.parametrize("arguments, words", [
    (("twenty", "--layer", 2), "--layer is 2, expected 0 to 1"), ((" ",), "the text is empty"),
    (("twenty", "--kind", "all"), "invalid choice: 'all'"), (("zwanzig",), "unknown symbol 'zwanzig'"),
])
def test_attention_of_what_is_not_there(run_cli, trained, tmp_path, arguments, words):
    code, _, error = run_cli("attention", trained, *arguments, "--output", tmp_path / "a.png")
    assert code == 2 and words in error and error.count("\n") == 1


def test_hangul_gets_a_font_or_a_word(monkeypatch, capsys):
    from matplotlib import font_manager, rcParams

    before = rcParams["font.family"]
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    plots._use_hangul_font(["a", "십"])
    assert "no font with Hangul is installed" in capsys.readouterr().err
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans", "NanumGothic"])
    plots._use_hangul_font(["a", "b"])
    assert rcParams["font.family"] == before
    plots._use_hangul_font(["십"])
    assert rcParams["font.family"] == ["DejaVu Sans", "NanumGothic"]
    rcParams["font.family"] = before


def test_plots(run_cli, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for what, picture in (("positions", "positions.png"), ("schedule", "schedule.png"), (trained, trained / "curves.png")):
        code, out, _ = run_cli("plot", what)
        assert code == 0 and out == f"drawn: {picture}\n"
        assert min(size_of(picture)) > 300
    assert run_cli("plot", "schedule", "--output", "mine.png")[0] == 0
    size_of("mine.png")


@pytest.mark.parametrize("content, words", [
    (None, "No such file"), ("{", "cannot be read"), ("", "nothing was logged yet"), ("[1]", "not the log of a run"),
    ("3", "not the log of a run"), ('{"step": NaN}', "not the log of a run"),
])
def test_a_run_that_cannot_be_drawn(run_cli, tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    code, _, error = run_cli("plot", tmp_path)
    assert code == 2 and words in error and error.count("\n") == 1


@pytest.mark.parametrize("output, words", [("none/a.png", "No such file"), ("a.xyz", "'xyz' is not supported"),
                                           (".", ".: a folder, expected the name of a picture")])
def test_a_picture_that_cannot_be_written(run_cli, trained, tmp_path, monkeypatch, output, words):
    monkeypatch.chdir(tmp_path)
    for command in (("plot", "positions"), ("attention", trained, "two")):
        code, _, error = run_cli(*command, "--output", output)
        assert code == 2 and words in error and error.count("\n") == 1


def test_a_picture_whose_program_is_missing(run_cli, tmp_path, monkeypatch):
    def draw(path):
        raise RuntimeError("xelatex not found")

    monkeypatch.setattr(plots, "positions", draw)
    code, _, error = run_cli("plot", "positions", "--output", tmp_path / "a.pgf")
    assert code == 2 and "a.pgf: xelatex not found" in error and one_line(error)


def test_maps_of_long_sentences_stay_pictures(tmp_path):
    tokens = [f"t{i}" for i in range(300)]
    plots.attention(np.eye(300)[None], tokens, tokens[:200], "long", tmp_path / "a.png")
    assert 1000 < max(size_of(tmp_path / "a.png")) < 1500


def test_curves_of_runs_with_odd_names(tmp_path, monkeypatch, recwarn):
    """Matplotlib would read TeX between two $, leave out what begins with _, and warn of each letter without a font."""
    log, figures, save = [{"step": 1, "nll": 1.0, "perplexity": 2.7, "learning_rate": 0.1}], [], plots._save
    monkeypatch.setattr(plots, "_save", lambda figure, path: (figures.append(figure), save(figure, path)))
    plots.curves({"_hidden": log, r"$\bad{$": log, "한국": log}, tmp_path / "a.png")
    (figure,) = figures
    shown = [text.get_text() for text in figure.axes[0].get_legend().texts]
    assert shown == ["_hidden training", r"$\bad{$ training", "한국 training"] and not recwarn.list
    size_of(tmp_path / "a.png")


def test_info(run_cli, monkeypatch):
    code, out, _ = run_cli("info", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["python"] == sys.version.split()[0] and facts["cores"] >= 1
    code, out, _ = run_cli("info")
    assert code == 0 and len(out.splitlines()) == len(facts) + len(facts["kernels"]) and facts["numpy"] in out
    monkeypatch.setattr("minitransformer.cli.info.threadpool_info", list)
    assert json.loads(run_cli("info", "--json")[1])["blas_kernels"] is None


def test_the_report_of_a_run(trained):
    """A page that loads nothing from elsewhere, and every picture it shows."""
    page = (trained / "report.html").read_text(encoding="utf-8")
    shown = re.findall(r'src="([^"]+)"', page)
    assert shown == ["curves.png", "attention-1.png", "attention-2.png", "attention-3.png"]
    assert all(min(size_of(trained / name)) > 100 for name in shown) and "http" not in page
    assert "valid perplexity" in page and page.count("<tr>") > 10


def test_the_references_of_a_report_are_what_a_perfect_model_says(trained):
    run = Run.load(trained)
    data = run.task.data(run.vocabulary, run.settings.training)
    references = [reference for _, reference in data.examples]
    assert len(references) == 8
    assert set(references) <= {run.vocabulary.decode(target) for batch in data.valid for target in batch.next_target}
    page = (trained / "report.html").read_text(encoding="utf-8")
    assert all(f"<td>{reference}</td>" in page for reference in references)


def test_a_report_escapes_what_it_shows(trained, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    run = Run.load(run)
    for i, symbol in enumerate(["<b>", "$$"], 3):
        run.vocabulary.symbols[i] = symbol
        run.vocabulary.ids[symbol] = i
    write_report(run, [("<b>", "<i>&"), ("$$", "$5 #1")])    # that TeX cannot read
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page and "<i>" not in page and "&lt;i&gt;&amp;" in page


def test_a_report_that_cannot_be_drawn_loses_nothing(run_cli, tmp_path, monkeypatch):
    def fail(*_):
        raise ImportError("no backend")

    monkeypatch.setattr("minitransformer.plots.curves", fail)
    code, out, error = run_cli("train", "copy", "--steps", 2, "--run", tmp_path / "run")
    assert code == 0 and "exact match" in out and "report.html was not written: no backend" in error


def test_compare(run_cli, trained, text_run, tmp_path):
    code, out, _ = run_cli("compare", trained, text_run, "--output", tmp_path / "both")
    rows = {line[:28].strip(): line[28:].split() for line in out.splitlines()}
    assert code == 0 and min(size_of(tmp_path / "both.png")) > 300
    assert rows["task.name"] == ["numbers", "translate"] and rows["training.average"] == ["1", "2"]
    assert "training.clip" not in rows    # the same in both
    assert rows["corpus"][0] == "-" and len(rows["corpus"][1]) == 8
    assert f"drawn: {tmp_path / 'both.png'}" in out
    for run, found in zip((trained, text_run), rows["best valid perplexity"]):
        records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        assert float(found) == pytest.approx(min(r["valid_perplexity"] for r in records if "valid_perplexity" in r), rel=1e-4)
    assert rows["last step"] == ["3", "12"] and rows["valid bleu"][0] == "-" and float(rows["valid perplexity"][1]) > 1


@pytest.mark.parametrize("arguments, words", [((), "expected two or more"), (("none",), "none: no run here")])
def test_what_cannot_be_compared(run_cli, trained, arguments, words):
    code, out, error = run_cli("compare", trained, *arguments)
    assert code == 2 and not out and words in error and error.count("\n") == 1
