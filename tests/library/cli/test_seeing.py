"""attention and plot: pictures."""

import io
import os
import shutil
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib import font_manager, rcParams

from minitransformer import InputError, Run, greedy
from minitransformer.data.special import EOS
from minitransformer.pictures import figure as figure_module, plots
from minitransformer.pictures.attention_map import attention_map
from minitransformer.pictures.figure import Figure, fonts_for
from minitransformer.runs.log import read_metrics
from minitransformer.runs.report import write_report

pytestmark = pytest.mark.slow


def size_of(picture):
    """(height, width) of a PNG that has more than one colour."""
    pixels = matplotlib.image.imread(picture)
    assert pixels.std() > 0.01
    return pixels.shape[:2]


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_attention(run_cli, numbers_run, tmp_path, kind):
    code, _, error = run_cli(
        "attention",
        numbers_run,
        "twenty-one",
        "--kind",
        kind,
        "--layer",
        0,
        "--output",
        tmp_path / "a.png",
    )
    assert code == 0 and "Traceback" not in error
    height, width = size_of(tmp_path / "a.png")
    assert width > height / 10 and width > 400


def labels(figure):
    """(row labels, column labels, the label of the rows, that of the columns) of an attention
    picture.
    """
    first = figure.axes[0]
    return (
        [text.get_text() for text in first.get_yticklabels()],
        [text.get_text() for text in first.get_xticklabels()],
        figure.get_supylabel(),
        figure.get_supxlabel(),
    )


def test_the_rows_of_a_decoder_say_what_they_predict(numbers_run):
    """For each row, the token it has just read and the token it writes next: the output, shifted by
    one.
    """
    run = Run.load(numbers_run)
    for kind in ("cross", "decoder"):
        found = attention_map(run, "twenty-one", kind)
        source = np.array([[*run.vocabulary.encode_symbols(["twenty", "one"]), EOS]])
        written = run.vocabulary.tokens(greedy(run.model, source)[0])
        assert found.queries == ["<s>", *written] and found.predicted == [*written, "</s>"]
        rows, columns, side, below = labels(
            plots.attention(found.weights, found.queries, found.keys, "a", found.predicted)
        )
        assert (
            rows == [f"{a} → {b}" for a, b in zip(["<s>", *written], [*written, "</s>"])]
            and columns == found.keys
        )
        assert (
            side == "query: token read → token predicted"
            and below == "key: the token that is looked at"
        )


def test_the_rows_of_an_encoder_predict_nothing(numbers_run):
    found = attention_map(Run.load(numbers_run), "twenty-one", "encoder")
    assert found.predicted is None
    rows, columns, side, _ = labels(plots.attention(found.weights, found.queries, found.keys, "a"))
    assert rows == columns == ["twenty", "one", "</s>"] and side == "query: the token that looks"


def test_blanks_and_line_ends_are_seen():
    figure = plots.attention(np.eye(3)[None], list("a \n"), list("a \n"), "a", [" ", "\n", "…"])
    assert labels(figure)[:2] == (["a → ␣", "␣ → ↵", "↵ → …"], ["a", "␣", "↵"])


def test_a_picture_of_attention_has_a_scale_and_fits_its_labels():
    """The colours have a scale, text is at least 9 points high, and nothing extends beyond the
    picture.
    """
    tokens = ["twenty-one", "and", "</s>"]
    figure = plots.attention(
        np.eye(3)[None].repeat(6, axis=0), tokens, tokens, "cross attention, layer 1", tokens
    )
    assert "attention weight" in [axes.get_ylabel() for axes in figure.axes]
    assert (
        min(
            text.get_fontsize()
            for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))
        )
        >= 9
    )
    pixels = matplotlib.image.imread(io.BytesIO(figure.as_bytes()))[:, :, :3]
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (border == 1).all()


def test_hangul_gets_a_font_or_a_word(monkeypatch, capsys):
    """And matplotlib's own settings stay as they were."""
    before = rcParams["font.family"]
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    with fonts_for(["a", "십"]):
        pass
    assert "no font with Hangul is installed" in capsys.readouterr().err
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans", "NanumGothic"])
    with fonts_for(["a", "b"]):
        assert rcParams["font.family"] == before
    with fonts_for(["십"]):
        assert rcParams["font.family"] == ["DejaVu Sans", "NanumGothic"]
    assert rcParams["font.family"] == before


def test_a_font_that_was_installed_later_is_found(monkeypatch, capsys):
    """Matplotlib keeps a list of the fonts that it once found."""
    manager = font_manager.fontManager
    later = next(font for font in manager.ttflist if font.name == "DejaVu Sans Mono")
    listed = [font for font in manager.ttflist if font.name != later.name]
    monkeypatch.setattr(figure_module, "HANGUL_FONTS", (later.name,))
    monkeypatch.setattr(manager, "ttflist", listed)
    found = [later.fname, __file__]  # the other is not a font
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: found)
    with fonts_for(["십"]):
        assert rcParams["font.family"] == ["DejaVu Sans", later.name]
    assert not capsys.readouterr().err


def test_a_figure_shows_itself_in_a_notebook():
    for figure in (plots.curves(LOG), plots.attention(np.eye(2)[None], "ab", "ab", "a")):
        assert figure._repr_png_().startswith(b"\x89PNG")


LOG = [{"step": 1, "nll": 1.0, "perplexity": 2.7, "learning_rate": 0.1}]


def test_a_validated_run_has_a_curve_of_its_quality():
    for name, label, value in (
        ("valid_accuracy", "accuracy (%)", 75),
        ("valid_exact_match", "exact match (%)", 75),
        ("valid_bleu", "BLEU of greedy outputs", 0.75),
    ):
        last = plots.curves([*LOG, {"step": 2, name: 0.75}]).axes[-1]
        (line,) = last.lines
        assert (
            last.get_ylabel() == label
            and list(line.get_xdata()) == [2]
            and list(line.get_ydata()) == [value]
        )


def test_plots(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for picture in "architecture.png", "architecture-2.png":
        code, out, _ = run_cli("plot architecture")
        assert code == 0 and out == f"drawn: {picture}\n"
        assert min(size_of(picture)) > 300
    assert run_cli("plot architecture --output mine.png")[0] == 0
    size_of("mine.png")


@pytest.mark.campaign
def test_the_architecture(run_cli, numbers_run, tmp_path):
    """Of the paper's base model, of a model size, of a run; a PNG, or the format that the file's
    name says.
    """
    for i, of in enumerate(([], ["tiny"], [numbers_run])):
        code, out, _ = run_cli("plot architecture", *of, "--output", tmp_path / f"{i}.svg")
        assert code == 0 and out == f"drawn: {tmp_path / f'{i}.svg'}\n"
    for i, d_model in enumerate(("512", "128", "64")):
        assert f"<!-- d_model = {d_model} -->" in (tmp_path / f"{i}.svg").read_text(
            encoding="utf-8"
        )
    assert run_cli("plot architecture --output", tmp_path / "a")[0] == 0
    assert min(size_of(tmp_path / "a.png")) > 800


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "No such file"),
        ("{", "cannot be read"),
        ("", "nothing has been logged yet"),
        ("[1]", "not the log of a run"),
        ("3", "not the log of a run"),
        ('{"step": NaN}', "not the log of a run"),
    ],
)
def test_a_log_that_cannot_be_drawn(tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(InputError, match=words):
        read_metrics(tmp_path)


def test_no_file_is_overwritten(run_cli, refused, numbers_run, tmp_path, monkeypatch):
    """A name given by the user is refused before any work; a name that the command chooses gets the
    next number.
    """
    monkeypatch.chdir(tmp_path)
    Path("mine.png").write_text("mine")
    for command in (("plot", "architecture"), ("attention", numbers_run, "two")):
        error = refused(*command, "--output", "mine" if "plot" in command else "mine.png")
        assert "--output mine.png: already exists; choose another name, or delete it first" in error
    assert Path("mine.png").read_text() == "mine"
    assert [run_cli("attention", numbers_run, "two")[1] for _ in range(2)] == [
        "drawn: attention.png\n",
        "drawn: attention-2.png\n",
    ]


def test_a_picture_whose_program_is_missing(refused, tmp_path, monkeypatch):
    def draw(*_):
        raise RuntimeError("xelatex not found")

    monkeypatch.setattr(Figure, "as_bytes", draw)
    assert "a.pgf: xelatex not found" in refused("plot architecture --output", tmp_path / "a.pgf")


def test_maps_of_long_sentences_stay_pictures(tmp_path):
    tokens = [f"t{i}" for i in range(300)]
    plots.attention(np.eye(300)[None], tokens, tokens[:200], "long").savefig(tmp_path / "a.png")
    assert 1000 < max(size_of(tmp_path / "a.png")) < 1500


def test_a_folder_name_that_is_not_utf_8(numbers_run, tmp_path):
    """It is escaped in the report."""
    odd = shutil.copytree(numbers_run, tmp_path / os.fsdecode(b"r\xff"))
    (odd / "report.html").unlink()
    write_report(Run.load(odd), [("twenty", "20")])
    assert "<h1>r\\udcff</h1>" in (odd / "report.html").read_text(encoding="utf-8")
