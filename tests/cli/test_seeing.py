"""attention, plot, compare, info and a run's report: pictures and facts."""

import io
import json
import os
import re
import shutil
import sys
from base64 import b64decode
from datetime import datetime, timedelta
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from minitransformer import Run, greedy
from minitransformer.functional.special import EOS
from minitransformer.pictures import plots
from minitransformer.pictures.attention_map import attention_map
from minitransformer.pictures.attention_page import attention_html
from minitransformer.pictures.figure import Figure, fonts_for
from minitransformer.training.report import write_report
from tests.cli.conftest import one_line, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "numbers"
    train("numbers", "--language", "korean", "--steps", 3, "--batch", 4, "--run", folder)
    return folder


def size_of(picture):
    """(height, width) of a PNG that has more than one colour."""
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


def labels(figure):
    """(row labels, column labels, the label of the rows, that of the columns) of an attention picture."""
    first = figure.axes[0]
    return ([text.get_text() for text in first.get_yticklabels()], [text.get_text() for text in first.get_xticklabels()],
            figure.get_supylabel(), figure.get_supxlabel())


def test_the_rows_of_a_decoder_say_what_they_predict(trained):
    """For each row, the token it has just read and the token it writes next: the output, shifted by one."""
    run = Run.load(trained)
    for kind in ("cross", "decoder"):
        found = attention_map(run, "twenty-one", kind)
        source = np.array([[*run.vocabulary.encode_symbols(["twenty", "one"]), EOS]])
        written = run.vocabulary.tokens(greedy(run.model, source)[0])
        assert found.queries == ["<s>", *written] and found.predicted == [*written, "</s>"]
        rows, columns, side, below = labels(plots.attention(found.weights, found.queries, found.keys, "a", found.predicted))
        assert rows == [f"{a} → {b}" for a, b in zip(["<s>", *written], [*written, "</s>"])] and columns == found.keys
        assert side == "query: token read → token predicted" and below == "key: the token that is looked at"


def test_the_rows_of_an_encoder_predict_nothing(trained):
    found = attention_map(Run.load(trained), "twenty-one", "encoder")
    assert found.predicted is None
    rows, columns, side, _ = labels(plots.attention(found.weights, found.queries, found.keys, "a"))
    assert rows == columns == ["twenty", "one", "</s>"] and side == "query: the token that looks"


def test_blanks_and_line_ends_are_seen():
    figure = plots.attention(np.eye(3)[None], list("a \n"), list("a \n"), "a", [" ", "\n", "…"])
    assert labels(figure)[:2] == (["a → ␣", "␣ → ↵", "↵ → …"], ["a", "␣", "↵"])


def test_a_picture_of_attention_has_a_scale_and_fits_its_labels():
    """The colours have a scale, text is at least 9 points high, and nothing extends beyond the picture."""
    tokens = ["twenty-one", "and", "</s>"]
    figure = plots.attention(np.eye(3)[None].repeat(6, axis=0), tokens, tokens, "cross attention, layer 1", tokens)
    assert "attention weight" in [axes.get_ylabel() for axes in figure.axes]
    assert min(text.get_fontsize() for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))) >= 9
    pixels = matplotlib.image.imread(io.BytesIO(figure.as_bytes()))[:, :, :3]
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (border == 1).all()


def test_hangul_gets_a_font_or_a_word(monkeypatch, capsys):
    """And matplotlib's own settings stay as they were."""
    from matplotlib import font_manager, rcParams

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


def test_a_figure_shows_itself_in_a_notebook():
    for figure in (plots.positions(), plots.schedules(), plots.curves({"a": LOG}),
                   plots.attention(np.eye(2)[None], "ab", "ab", "a")):
        assert figure._repr_png_().startswith(b"\x89PNG")


LOG = [{"step": 1, "nll": 1.0, "perplexity": 2.7, "learning_rate": 0.1}]


def test_a_validated_run_has_a_curve_of_its_quality():
    for name, label, value in (("valid_accuracy", "accuracy (%)", 75), ("valid_exact_match", "exact match (%)", 75),
                               ("valid_bleu", "BLEU of greedy outputs", 0.75)):
        last = plots.curves({"a": [*LOG, {"step": 2, name: 0.75}]}).axes[-1]
        (line,) = last.lines
        assert last.get_ylabel() == label and list(line.get_xdata()) == [2] and list(line.get_ydata()) == [value]


def test_plots(run_cli, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for what, picture in (("positions", "positions.png"), ("schedule", "schedule.png"), (trained, trained / "curves.png"),
                          ("positions", "positions-2.png"), ("positions", "positions-3.png")):
        code, out, _ = run_cli("plot", what)
        assert code == 0 and out == f"drawn: {picture}\n"
        assert min(size_of(picture)) > 300
    assert run_cli("plot", "schedule", "--output", "mine.png")[0] == 0
    size_of("mine.png")


def test_the_architecture(run_cli, trained, tmp_path):
    """Of the paper's base model, of a model size, of a run; a PNG, or the format that the file's name says."""
    for i, of in enumerate(([], ["tiny"], [trained])):
        code, out, _ = run_cli("plot", "architecture", *of, "--output", tmp_path / f"{i}.svg")
        assert code == 0 and out == f"drawn: {tmp_path / f'{i}.svg'}\n"
    for i, d_model in enumerate(("512", "128", "64")):
        assert f"<!-- d_model = {d_model} -->" in (tmp_path / f"{i}.svg").read_text(encoding="utf-8")
    assert run_cli("plot", "architecture", "--output", tmp_path / "a")[0] == 0
    assert min(size_of(tmp_path / "a.png")) > 800


@pytest.mark.parametrize("arguments, words", [
    (("architecture", "tinny"), "tinny: neither a run nor a model size; did you mean tiny?"),
    (("architectur",), "architectur: neither a run nor the name of a picture; did you mean architecture?"),
    (("positions", "tiny"), "tiny: of no use to positions; leave it out"), (("architecture", "."), "no run here"),
])
def test_an_architecture_that_is_not_there(run_cli, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, error = run_cli("plot", *arguments)
    assert code == 2 and words in error and one_line(error) and not list(tmp_path.iterdir())


def test_the_architecture_of_another_model(run_cli, tmp_path):
    run_cli("train", "copy", "--steps", 1, "--batch", 2, "--model", "rnn", "--run", tmp_path / "run")
    code, _, error = run_cli("plot", "architecture", tmp_path / "run", "--output", tmp_path / "a.png")
    assert code == 2 and "a recurrent model is not a Transformer" in error and one_line(error) and not (tmp_path / "a.png").exists()


@pytest.mark.parametrize("content, words", [
    (None, "No such file"), ("{", "cannot be read"), ("", "nothing has been logged yet"), ("[1]", "not the log of a run"),
    ("3", "not the log of a run"), ('{"step": NaN}', "not the log of a run"),
])
def test_a_run_that_cannot_be_drawn(run_cli, tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    code, _, error = run_cli("plot", tmp_path)
    assert code == 2 and words in error and error.count("\n") == 1


def test_no_file_is_overwritten(run_cli, trained, text_run, tmp_path, monkeypatch):
    """A name given by the user is refused before any work; a name that the command chooses gets the next number."""
    monkeypatch.chdir(tmp_path)
    Path("mine.png").write_text("mine")
    for command in (("plot", "positions"), ("plot", trained), ("attention", trained, "two"), ("compare", trained, text_run)):
        for name in ("mine", "mine.png"):
            code, out, error = run_cli(*command, "--output", name)
            assert code == 2 and not out and one_line(error)
            assert "--output mine.png: already exists; choose another name, or delete it first" in error
    assert Path("mine.png").read_text() == "mine"
    assert [run_cli("attention", trained, "two")[1] for _ in range(2)] == ["drawn: attention.png\n", "drawn: attention-2.png\n"]


@pytest.mark.parametrize("output, words", [("none/a.png", "there is no folder none"), ("a.xyz", "'xyz' is not supported"),
                                           (".", ".: a folder, expected the name of a picture")])
def test_a_picture_that_cannot_be_written(run_cli, trained, tmp_path, monkeypatch, output, words):
    monkeypatch.chdir(tmp_path)
    for command in (("plot", "positions"), ("attention", trained, "two")):
        code, _, error = run_cli(*command, "--output", output)
        assert code == 2 and words in error and error.count("\n") == 1


def test_a_picture_whose_program_is_missing(run_cli, tmp_path, monkeypatch):
    def draw(*_):
        raise RuntimeError("xelatex not found")

    monkeypatch.setattr(Figure, "as_bytes", draw)
    code, _, error = run_cli("plot", "positions", "--output", tmp_path / "a.pgf")
    assert code == 2 and "a.pgf: xelatex not found" in error and one_line(error)


def test_maps_of_long_sentences_stay_pictures(tmp_path):
    tokens = [f"t{i}" for i in range(300)]
    plots.attention(np.eye(300)[None], tokens, tokens[:200], "long").savefig(tmp_path / "a.png")
    assert 1000 < max(size_of(tmp_path / "a.png")) < 1500


def test_curves_of_runs_with_odd_names(tmp_path, recwarn):
    """Matplotlib would read TeX between two $, omit names that begin with _, and warn about each letter without a font."""
    figure = plots.curves({"_hidden": LOG, r"$\bad{$": LOG, "한국": LOG})
    figure.savefig(tmp_path / "a.png")
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


def pictures_of(page):
    """[(description, pixels)] of the pictures inside a page."""
    found = re.findall(r'<img width="[0-9]+"(?: height="[0-9]+")? src="data:image/png;base64,([^"]+)" alt="([^"]*)">', page)
    assert len(found) == page.count("<img")
    return [(name, matplotlib.image.imread(io.BytesIO(b64decode(data)))) for data, name in found]


def test_the_report_of_a_run_is_one_page(trained, tmp_path):
    """It loads nothing from elsewhere, and its pictures are not separate files."""
    page = (trained / "report.html").read_text(encoding="utf-8")
    (curves, pixels), *maps = pictures_of(page)
    assert curves.startswith("loss, learning rate") and pixels.std() > 0.01 and min(pixels.shape[:2]) > 300
    examples = re.findall(r"<tr><td>([^<]*)</td><td>[^<]*</td><td>", page)
    heads = Run.load(trained).model.config.num_heads
    assert len(examples) == 8 and [name for name, _ in maps] == [f"{text}, head {i}" for text in examples[:3] for i in range(heads)]
    assert all(pixels.std() > 0.01 for _, pixels in maps)
    bare = re.sub('src="data:image/png;base64,[^"]*"', "", page)
    assert not any(word in bare for word in ("http", "src", "href", "url")) and not list(trained.glob("attention*.png"))


def test_a_map_on_a_page():
    """A dot for each weight, darker for a larger one, and a line of text for each token."""
    weights = np.random.default_rng(0).permutation(24).reshape(2, 4, 3) / 23
    page = attention_html(weights, ["<s>", "a", " ", "\n"], ["b", "<", "&"], "a < b", ["a", " ", "\n", "c"])
    (name, pixels), (_, other) = pictures_of(page)
    assert name == "a &lt; b, head 0" and pixels.shape == (4, 3, 4)
    for head, shown in zip(weights, (pixels, other)):
        assert (np.argsort(-shown.sum(axis=-1).ravel()) == np.argsort(head.ravel())).all()
    labels = re.findall(r'<pre class="(queries|keys)" style="line-height: 14px">([^<]*)</pre>', page)
    assert labels == 2 * [("queries", "&lt;s&gt; → a\na → ␣\n␣ → ↵\n↵ → c"), ("keys", "b\n&lt;\n&amp;")]
    assert 'width="42" height="56"' in page and "token read → predicted" in page
    long = attention_html(np.eye(300)[None], ["q"] * 300, ["k"] * 200, "long")    # every fifth token has room for its line
    assert 'width="600" height="900"' in long and long.count("q\n") == 59 and long.count("k\n") == 39
    assert "line-height: 15px" in long


def rows_of(page):
    """{first cell: second cell} of the tables with two columns."""
    return dict(re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", page))


def test_the_report_says_what_was_set_and_when_and_how_long(trained):
    page = (trained / "report.html").read_text(encoding="utf-8")
    rows, run = rows_of(page), Run.load(trained)
    assert rows["steps"] == "3" and rows["language"] == "korean" and rows["d model"] == "64" and rows["smoothing"] == "0.1"
    settings = run.settings.as_dict()
    assert {name.replace("_", " ") for part in ("task", "model", "training") for name in settings[part]} <= rows.keys()
    assert re.search(r"A Transformer with [\d,]+ parameters, trained to translate English number words", page)
    assert re.search(r"3 of 3 updates in 0:0[0-4]:[0-5][0-9] \(hours:minutes:seconds", page)
    ended = datetime.strptime(re.search(r"ended at ([\d-]+ [\d:]+)", page)[1], "%Y-%m-%d %H:%M:%S")
    assert abs(datetime.now() - ended) < timedelta(minutes=30)
    assert "The loss includes label smoothing (0.1), which nll does not" in page and "valid perplexity" in rows
    assert re.fullmatch(r"\d+\.\d%", rows["valid exact match"])


def test_a_report_without_smoothing_or_clock(brackets_run, tmp_path):
    """As in a log written by an older version."""
    page = (brackets_run / "report.html").read_text(encoding="utf-8")
    assert "label smoothing" not in page and "pauses excluded" in page
    run = Run.load(shutil.copytree(brackets_run, tmp_path / "run"))
    log = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    old = [{name: value for name, value in record.items() if name not in ("seconds", "time")} for record in log]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in old))
    write_report(run, [("()", "balanced")])
    assert "pauses excluded" not in (run.path / "report.html").read_text(encoding="utf-8")


def test_the_report_computes_each_attention_once(trained, tmp_path, monkeypatch):
    run, seen = Run.load(shutil.copytree(trained, tmp_path / "run")), []
    usual = type(run.task).attention
    monkeypatch.setattr(type(run.task), "attention", lambda task, run, text: seen.append(text) or usual(task, run, text))
    write_report(run, [("one", "일"), ("two", "이")])
    assert seen == ["one", "two"]


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
        run.vocabulary.listed[i] = symbol
        run.vocabulary.ids[symbol] = i
    write_report(run, [("<b>", "<i>&"), ("$$", "$5 #1")])    # that TeX cannot read
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page and "<i>" not in page and "&lt;i&gt;&amp;" in page


def test_a_report_that_cannot_be_drawn_loses_nothing(run_cli, tmp_path, monkeypatch):
    def fail(*_):
        raise ImportError("no backend")

    monkeypatch.setattr("minitransformer.pictures.plots.curves", fail)
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


def test_a_folder_name_that_is_not_utf_8(run_cli, trained, tmp_path):
    """It is escaped in pictures and in the report, which is complete or left as it was."""
    odd = shutil.copytree(trained, tmp_path / os.fsdecode(b"r\xff"))
    code, out, error = run_cli("compare", trained, odd, "--output", tmp_path / "curves.png")
    assert code == 0 and not error and (tmp_path / "curves.png").stat().st_size
    (odd / "report.html").unlink()
    write_report(Run.load(odd), [("twenty", "20")])
    assert "<h1>r\\udcff</h1>" in (odd / "report.html").read_text(encoding="utf-8")
