"""A run's report.html: one page, with what was trained and how well it does."""

import io
import json
import re
import shutil
from base64 import b64decode
from html import unescape

import matplotlib.image
import pytest

from minitransformer import Run
from minitransformer.runs.report import write_report
from tests.helpers.browser import Browser


def pictures_of(page):
    """[(description, pixels)] of the pictures inside a page."""
    found = re.findall(
        r'<img width="[0-9]+"(?: height="[0-9]+")? src="data:image/png;base64,([^"]+)" alt="([^"]*)">',
        page,
    )
    assert len(found) == page.count("<img")
    return [(name, matplotlib.image.imread(io.BytesIO(b64decode(data)))) for data, name in found]


def test_the_report_of_a_run_is_one_page(numbers_run):
    """It loads nothing from elsewhere, and its picture is not a separate file."""
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    ((curves, pixels),) = pictures_of(page)
    assert (
        curves.startswith("loss, learning rate")
        and pixels.std() > 0.01
        and min(pixels.shape[:2]) > 300
    )
    heads, *examples = re.findall(r"<tr><td>([^<]*)</td><td>[^<]*</td><td>", page)
    assert heads == "text" and len(examples) == 8
    bare = re.sub('src="data:image/png;base64,[^"]*"', "", page)
    assert not any(word in bare for word in ("http", "src", "href", "url"))


def test_the_curves_fit_a_phone(numbers_run):
    browser = Browser(numbers_run)
    browser.screen(390, 844, "light")
    browser.open((numbers_run / "report.html").resolve().as_uri())
    image, figure = browser.run(
        "['figure > img', 'figure'].map(one => document.querySelector(one).clientWidth)"
    )
    browser.close()
    assert 200 < image <= figure < 390


@pytest.mark.parametrize(
    "name, measure",
    [
        ("language", "valid perplexity"),
        ("subwords", "valid perplexity"),
        ("classify", "valid accuracy"),
    ],
)
def test_the_report_of_another_task(runs, name, measure):
    page = (runs[name] / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") == (name != "classify") and page.count("<tr>") > 5 and measure in page


def test_the_report_says_what_was_set(numbers_run):
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    assert json.loads(unescape(re.search("<pre>(.*?)</pre>", page, re.DOTALL)[1])) == json.loads(
        (numbers_run / "config.json").read_text(encoding="utf-8")
    )
    assert re.search(
        r"A Transformer with [\d,]+ parameters, trained to translate English number words", page
    )
    assert "It made 3 updates" in page and re.search(
        r"<td>valid exact match</td><td>\d+\.\d%</td>", page
    )


def test_the_references_of_a_report_are_what_a_perfect_model_says(numbers_run):
    run = Run.load(numbers_run)
    data = run.task.data(run.vocabulary, run.settings.training)
    references = [reference for _, reference in data.examples]
    assert len(references) == 8
    assert set(references) <= {
        run.vocabulary.decode(target) for batch in data.valid for target in batch.next_target
    }
    page = (numbers_run / "report.html").read_text(encoding="utf-8")
    assert all(f"<td>{reference}</td>" in page for reference in references)


def test_a_report_escapes_what_it_shows(numbers_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(numbers_run, run)
    run = Run.load(run)
    for i, symbol in enumerate(["<b>", "$$"], 3):
        run.vocabulary.listed[i] = symbol
        run.vocabulary.ids[symbol] = i
    write_report(run, [("<b>", "<i>&"), ("$$", "$5 #1")])  # that TeX cannot read
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page and "<i>" not in page and "&lt;i&gt;&amp;" in page


def test_a_report_that_cannot_be_drawn_loses_nothing(run_cli, tmp_path, monkeypatch):
    def fail(*_):
        raise ImportError("no backend")

    monkeypatch.setattr("minitransformer.runs.report.plots.curves", fail)
    code, out, error = run_cli("train copy --steps 2 --run", tmp_path / "run")
    assert code == 0 and "exact match" in out and "report.html was not written: no backend" in error
