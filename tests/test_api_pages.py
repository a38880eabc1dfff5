"""docs/api: each public name is in its module's page, once, with an example that prints what the
page says.
"""

import doctest
import re
import sys
from importlib import import_module

import pytest

from minitransformer.dispatch import TABLE
from tests import ROOT

sys.path.append(str(ROOT / "docs" / "extensions"))
api = import_module("api")
SECTIONS = {
    *"1 2 3 3.1 3.2 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 4 5 5.1 5.2 5.3 5.4 6 6.1 6.2 6.3 7".split()
}  # of the paper
PAGES = [
    pytest.param(path, (ROOT / "docs" / "api" / f"{stem}.md").read_text(encoding="utf-8"), id=stem)
    for stem, path in api.PAGES.items()
]


@pytest.fixture
def unregistering():
    """What an example marks as replaceable is forgotten after it."""
    before = {*TABLE}
    yield
    for name in {*TABLE} - before:
        del TABLE[name]


def test_there_is_a_page_for_each_module():
    assert {page.stem for page in (ROOT / "docs" / "api").iterdir()} == {*api.PAGES}


@pytest.mark.parametrize("path, text", PAGES)
def test_the_examples_print_what_the_page_says(path, text, unregistering, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    setup = "import numpy as np", f"from {path} import *"
    assert " and ".join(f"`{line}`" for line in setup) in " ".join(text.split())
    runner = doctest.DocTestRunner(verbose=False)
    for listed, _place, example in api.ENTRY.findall(text):
        names: dict = {}
        exec("\n".join(setup), names)
        runner.run(doctest.DocTestParser().get_doctest(example, names, listed, None, 0))
    assert runner.tries > 30 and not runner.failures


@pytest.mark.parametrize("path, text", PAGES)
def test_each_public_name_is_there_once_with_an_example(path, text):
    entries = api.ENTRY.findall(text)
    assert len(entries) == text.count("\npublic ") == text.count("```pycon\n")
    listed = [
        (name, example)
        for names, _place, example in entries
        for name in names.split()
        if "." not in name
    ]
    described = [
        name
        for name, thing in api.public(import_module(path)).items()
        if api.HOMES[thing][1] == f"{path}.{name}"
    ]
    assert sorted(name for name, _example in listed) == sorted(described)
    assert not [name for name, example in listed if not re.search(rf"\b{name}\b", example)]


@pytest.mark.parametrize("path, text", PAGES)
def test_the_table_has_a_line_for_each_public_name(path, text):
    things = api.public(import_module(path))
    rows = dict(
        re.findall(
            r'<tr><td><a href="[\w.]+#[\w.]+"><code>(\w+)</code></a></td><td><p>(.+?)</p></td></tr>',
            api.names(import_module(path), []),
        )
    )
    assert rows.keys() == things.keys() and len(things) > 20


def test_a_name_of_two_modules_is_described_once():
    rows = api.names(import_module("minitransformer"), [])
    assert '<a href="layers.html#minitransformer.layers.Layer">' in rows
    assert '<a href="functional.html#minitransformer.functional.cross_entropy_forward">' in rows


@pytest.mark.parametrize("path, text", PAGES)
def test_sections_and_chapters_exist(path, text):
    places = [place for _listed, place, _example in api.ENTRY.findall(text) if place]
    assert len(places) >= 12
    for place in places:
        sections = re.findall(r"section (\S+?)(?:,|$)", place)
        chapters = re.findall(r"`/tutorials/(\w+)/chapter`", api.place(place))
        assert {*sections} <= SECTIONS, place
        assert all((ROOT / "tutorials" / chapter / "chapter.py").exists() for chapter in chapters)
        assert len(sections) + len(chapters) + place.count("figure 1") == len(place.split(", ")), (
            place
        )
