"""A run's report.html: one page, with what was trained and how well it does."""

import io
import json
import re
import shutil
from base64 import b64decode
from datetime import datetime, timedelta

import matplotlib.image
import pytest

from minitransformer import Run
from minitransformer.training.run_report import write_report
from tests import chromium


def pictures_of(page):
    """[(description, pixels)] of the pictures inside a page."""
    found = re.findall(r'<img width="[0-9]+"(?: height="[0-9]+")? src="data:image/png;base64,([^"]+)" alt="([^"]*)">', page)
    assert len(found) == page.count("<img")
    return [(name, matplotlib.image.imread(io.BytesIO(b64decode(data)))) for data, name in found]


def test_the_report_of_a_run_is_one_page(numbers_run):
    """It loads nothing from elsewhere, and its picture is not a separate file."""
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    ((curves, pixels),) = pictures_of(page)
    assert curves.startswith("loss, learning rate") and pixels.std() > 0.01 and min(pixels.shape[:2]) > 300
    examples = re.findall(r"<tr><td>([^<]*)</td><td>[^<]*</td><td>", page)
    assert len(examples) == 8
    bare = re.sub('src="data:image/png;base64,[^"]*"', "", page)
    assert not any(word in bare for word in ("http", "src", "href", "url"))


def rows_of(page):
    """{first cell: second cell} of the tables with two columns."""
    return dict(re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", page))


@pytest.mark.skipif(chromium.find() is None, reason="no Chromium in the PATH")
def test_the_curves_fit_a_phone(numbers_run):
    browser = chromium.Chromium(numbers_run)
    browser.screen(390, 844, "light")
    browser.open((numbers_run / "report.html").resolve().as_uri())
    image, figure = browser.run("['figure > img', 'figure'].map(one => document.querySelector(one).clientWidth)")
    browser.close()
    assert 200 < image <= figure < 390


def test_the_report_says_what_was_set_and_when_and_how_long(numbers_run):
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    rows, run = rows_of(page), Run.load(numbers_run)
    assert rows["steps"] == "3" and rows["language"] == "korean" and rows["d model"] == "64" and rows["smoothing"] == "0.1"
    settings = run.settings.as_dict()
    assert {name.replace("_", " ") for part in ("task", "model", "training") for name in settings[part]} <= rows.keys()
    assert re.search(r"A Transformer with [\d,]+ parameters, trained to translate English number words", page)
    assert re.search(r"3 of 3 updates in 0:0[0-4]:[0-5][0-9] \(hours:minutes:seconds", page)
    ended = datetime.strptime(re.search(r"ended at ([\d-]+ [\d:]+)", page)[1], "%Y-%m-%d %H:%M:%S")
    assert abs(datetime.now() - ended) < timedelta(minutes=30)
    assert "The loss includes label smoothing (0.1), which nll does not" in page and "valid perplexity" in rows
    assert re.fullmatch(r"\d+\.\d%", rows["valid exact match"])


def test_a_report_without_smoothing_or_clock(language_run, tmp_path):
    """As in a log written by an older version."""
    page = (language_run / "report.html").read_text(encoding="utf-8")
    assert "label smoothing" not in page and "pauses excluded" in page
    run = Run.load(shutil.copytree(language_run, tmp_path / "run"))
    log = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    old = [{name: value for name, value in record.items() if name not in ("seconds", "time")} for record in log]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in old))
    write_report(run, [("the dog", "is red")])
    assert "pauses excluded" not in (run.path / "report.html").read_text(encoding="utf-8")


def test_the_references_of_a_report_are_what_a_perfect_model_says(numbers_run):
    run = Run.load(numbers_run)
    data = run.task.data(run.vocabulary, run.settings.training)
    references = [reference for _, reference in data.examples]
    assert len(references) == 8
    assert set(references) <= {run.vocabulary.decode(target) for batch in data.valid for target in batch.next_target}
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    assert all(f"<td>{reference}</td>" in page for reference in references)


def test_a_report_escapes_what_it_shows(numbers_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(numbers_run, run)
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

    monkeypatch.setattr("minitransformer.training.run_report.plots.curves", fail)
    code, out, error = run_cli("train", "copy", "--steps", 2, "--run", tmp_path / "run")
    assert code == 0 and "exact match" in out and "report.html was not written: no backend" in error
