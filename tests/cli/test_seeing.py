"""attention, plot and info: pictures and facts."""

import json
import sys

import matplotlib.image
import pytest

from minitransformer import plots


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
@pytest.mark.filterwarnings("ignore:Glyph")    # where no font with Hangul is installed
def test_attention(run_cli, trained, tmp_path, kind):
    code, _, error = run_cli("attention", trained, "twenty-one", "--kind", kind, "--layer", 0,
                             "--output", tmp_path / "a.png")
    assert code == 0 and "Traceback" not in error
    height, width = size_of(tmp_path / "a.png")
    assert width > height / 10 and width > 400


@pytest.mark.parametrize("arguments, words", [
    (("twenty", "--layer", 2), "--layer is 2, expected 0 to 1"), ((" ",), "TEXT is empty"),
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
    (None, "No such file"), ("{", "cannot be read"), ("", "not the records"), ("[1]", "not the records"),
    ("3", "not the records"), ('{"step": NaN}', "not the records"),
])
def test_a_run_that_cannot_be_drawn(run_cli, tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    code, _, error = run_cli("plot", tmp_path)
    assert code == 2 and words in error and error.count("\n") == 1


@pytest.mark.parametrize("output, words", [("none/a.png", "No such file"), ("a.xyz", "'xyz' is not supported")])
def test_a_picture_that_cannot_be_written(run_cli, trained, tmp_path, monkeypatch, output, words):
    monkeypatch.chdir(tmp_path)
    for command in (("plot", "positions"), ("attention", trained, "two")):
        code, _, error = run_cli(*command, "--output", output)
        assert code == 2 and words in error and error.count("\n") == 1


def test_info(run_cli, monkeypatch):
    code, out, _ = run_cli("info", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["python"] == sys.version.split()[0] and facts["cores"] >= 1
    code, out, _ = run_cli("info")
    assert code == 0 and len(out.splitlines()) == len(facts) and facts["numpy"] in out
    monkeypatch.setattr("minitransformer.cli.info.threadpool_info", list)
    assert json.loads(run_cli("info", "--json")[1])["blas_kernels"] is None
