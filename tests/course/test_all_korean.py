"""Whatever the course shows in Korean is Korean: no English sentence outside code, names and tables
of output.
"""

import io
import re
import sys
import tokenize
from contextlib import suppress
from html.parser import HTMLParser
from itertools import islice, zip_longest

import numpy as np
import pytest

from minitransformer import gradcheck
from minitransformer.cli import main
from minitransformer.cli.parser import COMMANDS
from minitransformer.tasks import TASKS
from minitransformer_course import messages
from minitransformer_course.explorer import sentences
from minitransformer_course.explorer.page import ENGINE, PAGE, script
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import SHORT, chapters, exercises
from minitransformer_course.judge.hints import hint
from minitransformer_course.judge.judgement import check_function
from minitransformer_course.judge.learner_file import percent_page
from minitransformer_course.judge.pages import END, translated, translated_code
from minitransformer_course.live.check import check
from tests import ROOT
from tests.helpers.documents import blocks
from tests.helpers.korean import english_in, forget

sys.path.append(str(ROOT / "docs" / "extensions"))
import live_files

OF_THE_SHORT_PATH = {exercises()[name].chapter.name for name in SHORT}
WRONG = 3  # answers of a chapter
CHAPTERS = [
    pytest.param(
        one, id=one.name, marks=[] if one.name in OF_THE_SHORT_PATH else [pytest.mark.campaign]
    )
    for one in chapters()
]


@pytest.fixture(autouse=True)
def korean(monkeypatch):
    forget()
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    yield
    forget()


def read_in(page):
    """What one reads in a learner's file: its text, and the docstrings and comments of its code."""
    for cell in cells.parse(page):
        if cell.kind == "markdown":
            yield cell.source
        else:
            yield from comments_of(cell.source)


def comments_of(code):
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        comment = token.type == tokenize.COMMENT and token.string != END
        if comment or token.string.startswith('"""'):
            yield token.string.replace('"""', "")


def test_an_english_sentence_is_found():
    for text in (
        "글 a sentence that is left 글",
        "# the page uses yours",
        "- So what happened then?",
    ):
        assert english_in(text), text
    for text in (
        "`a b c d e`",
        "minitransformer learn check softmax",
        "softmax가 NaN을",
        "$a b c d$",
    ):
        assert not english_in(text), text


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_page_with_its_hints_and_derivations_is_korean(chapter):
    for text in read_in(percent_page(chapter)):
        assert not english_in(text), text
    for exercise in chapter.exercises:
        for cell in chapter.derivation(exercise):
            if cells.is_text(cell.kind, cell.name):
                assert not english_in(translated(cell.source))
        for step in range(1, 5):
            assert not english_in(hint(exercise, step))


@pytest.mark.campaign
@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_verdicts_of_wrong_answers_are_korean(chapter):
    """Three mistakes that people make, of different exercises if there are as many."""
    rows = zip_longest(*(one.mistakes for one in chapter.exercises))
    pairs = ((one, wrong) for row in rows for one, wrong in zip(chapter.exercises, row) if wrong)
    for exercise, mark in islice(pairs, WRONG):
        said = str(check_function(exercise, mark.wrong, watched=False))
        assert not english_in(said) and mark.sentence not in said, said


X = np.random.default_rng(3).standard_normal((2, 3, 5))


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred * inverse, (centred, inverse)


def without_the_variance(dy, cache):
    dx = dy * cache[1]
    return dx - dx.mean(axis=-1, keepdims=True)


def in_place(dy, x):
    dy *= 2 * x
    return dy


OWN_LAYERS = {
    "the slope of tanh": (lambda x: 2 * (np.tanh(x),), lambda dy, y: dy * (1 - y)),
    "half": (lambda x: (x * x, x), lambda dy, x: dy * x),
    "right": (lambda x: (x * x, x), lambda dy, x: 2 * dy * x),
    "a part of the layer norm": (layer_norm, without_the_variance),
    "a mean and a sum": (lambda x: (x.mean(axis=1), x), lambda dy, x: dy[:, None] + 0 * x),
    "dy changed": (lambda x: (x * x, x), in_place),
    "no gradient": (lambda x: (x * x, x), lambda dy, x: None),
    "another shape": (lambda x: (x * x, x), lambda dy, x: (2 * dy * x).sum(axis=0)),
    "another dtype": (lambda x: (x * x, x), lambda dy, x: np.float64(2) * dy * x),
    "an error": (lambda x: (x * x, x), lambda dy, x: dy * {}["scale"]),
    "NaN": (lambda x: (x * x, x), lambda dy, x: 2 * dy * x * np.nan),
    "one batch": (lambda x: (x * x, x), lambda dy, x: np.stack([2 * x[i] * dy[i] for i in (0, 1)])),
    "a kink": (lambda x: (np.maximum(x, 0), x), lambda dy, x: dy * (x >= 0)),
}


@pytest.mark.parametrize("name", OWN_LAYERS)
def test_what_gradcheck_says_of_an_own_layer_is_korean(name):
    report = gradcheck(OWN_LAYERS[name], [X * (X > 0.1) if name == "a kink" else X], name="own")
    assert report.passed == (name in ("right", "a kink", "another dtype"))
    for text in (*report.conclusions, *report.diagnoses.values()):
        assert not english_in(text) and not re.search(r"\b(?:is|the|checks)\b", text), text


def test_what_the_page_of_an_own_layer_says_is_korean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code in blocks(ROOT / "README.md", "python")[:2]:
        for text in check(code)["said"]:
            assert not english_in(text), text


@pytest.mark.parametrize(
    "words", [[], *([name] for name in COMMANDS), *(["train", one] for one in TASKS)]
)
def test_help_is_korean(capsys, words):
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    said = capsys.readouterr().out
    assert said.startswith("사용법: minitransformer") and not english_in(said), said


def test_what_learn_says_is_korean(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for words in (
        "",
        "list",
        "start path --language ko",
        "start 1",
        "start 77",
        "check",
        "check nothing",
        *5 * ["hint"],
        "solution linear_backward",
        "solution linear_backward --give-up",
        "chek",
    ):
        with suppress(SystemExit):
            main(["learn", *words.split()])
        said = "".join(capfd.readouterr())
        code = re.sub(r"(?ms)^def .*|^for .*", "", said)
        assert said and not english_in(re.sub(r"\d\d_\w+", "", code)), said


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_comments_of_a_cell_are_korean(chapter):
    for cell in cells.parse(chapter.text):
        if cell.kind == "code":
            for text in comments_of(translated_code(cell.source)):
                assert not english_in(text), text


class Text(HTMLParser):
    """The text of a page, without its code."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.found = 0, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.inside += tag in SILENT
        self.found += [text for name, text in attributes if name in ("title", "aria-label")]

    def handle_endtag(self, tag):
        self.inside -= tag in SILENT

    def handle_data(self, data):
        self.found += [] if self.inside else [data]


SILENT = ("code", "pre", "script", "style", "math", "kbd")


def test_the_explorer_and_the_live_pages_are_korean():
    scripts = "\n".join(script(name) for name in (*ENGINE, *PAGE))
    assert {*sentences.of_scripts(scripts)} == {*sentences.words(scripts)}
    wheel = {"name": "w", "bytes": 1, "sha384": ""}
    pages = (
        sentences.translated(script("page/page.html", "")),
        live_files.chapter("h", wheel, "04_softmax"),
        live_files.work(picture=" "),
        live_files.check("h", wheel),
    )
    for text in (
        *(one for page in pages for one in Text(page).found),
        *live_files.sentences().values(),
    ):
        assert not english_in(text), text


def test_the_korean_readme_is_korean():
    text = (ROOT / "README.ko.md").read_text(encoding="utf-8")
    assert not english_in(text)


BUILT = ROOT / "docs" / "_build" / "html" / "ko"
OURS = (
    "tutorials/*/*.html",
    "docs/live/*.html",
    "docs/index.html",
    "docs/learn.html",
    "docs/train.html",
)


@pytest.mark.campaign
@pytest.mark.skipif(not BUILT.exists(), reason="the Korean site is not built")
def test_the_pages_of_the_site_are_korean():
    for path in (path for pattern in OURS for path in BUILT.glob(pattern)):
        page = path.read_text(encoding="utf-8")
        main_part = page[page.index('role="main"') : page.index("</article>")]
        for text in Text(f"<p {main_part}").found:
            assert not english_in(text), (path, text)
