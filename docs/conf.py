"""The site: `python -m sphinx -W -c docs . docs/_build/html`. Its pages are files of this
repository, where they lie.
"""

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "extensions"), str(ROOT)]

import minitransformer  # noqa: E402  (the one of this clone)

project = "minitransformer"
release = minitransformer.__version__
copyright = "the minitransformer authors, MIT licence"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "api",
    "chapters",
    "explorer",
    "front",
    "languages",
    "live",
    "mathml",
    "plain_docstrings",
    "search",
    "sources",
]

# Pages: Markdown, chapters, and the source files that a page links to.
root_doc = "docs/index"
pages = [
    "README.md",
    "README.ko.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/api/*.md",
    "docs/live/*.md",
    "research/experiments/*.md",
    "research/benchmarks/*.md",
    "tutorials/README.md",
]
linked = {
    (page.parent / link).resolve().relative_to(ROOT).as_posix()
    for pattern in pages
    for page in ROOT.glob(pattern)
    for link in re.findall(r"\]\(([^):#]+\.py)\)", page.read_text(encoding="utf-8"))
    if not link.endswith("chapter.py")
}
include_patterns = [*pages, "tutorials/*/chapter.py", *sorted(linked)]
exclude_patterns = [".[!.]*", ".[!.]*/**", "build", "data", "docs/_build", "runs"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = "languages.english_slug"

# Chapters are executed once for each state of the package: a result from older code would be shown
# as if it were today's.
code = hashlib.sha256(
    b"".join(
        path.read_bytes()
        for package in ("minitransformer", "minitransformer_course")
        for path in sorted((ROOT / package).rglob("*.py"))
    )
)
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / code.hexdigest()[:16])
nb_execution_excludepatterns = sorted(linked)  # read, not executed
nb_execution_in_temp = True
nb_execution_raise_on_error = (
    False  # a warning names the chapter, in one line; -W makes it an error
)
os.environ["MPLBACKEND"] = (
    "module://matplotlib_inline.backend_inline"  # pictures, whatever a terminal or CI has set
)
os.environ["MATPLOTLIBRC"] = str(HERE / "theme" / "matplotlibrc")
nb_execution_timeout = 600  # seconds for a cell, on a busy machine
nb_merge_streams = True  # what a cell prints is one block, however it was flushed
nb_ipywidgets_js = {}  # the default loads them from elsewhere

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # of a method that returns something else
html_math_renderer = "mathml"

html_theme = "furo"
copybutton_exclude = ".linenos, .gp, .go"  # of an example, what one types
html_title = "minitransformer"
html_static_path = ["theme/site.css", "pictures/architecture.png", "pictures/explorer.png"]
html_css_files = ["site.css"]
html_extra_path = ["theme/index.html"]
html_copy_source = False
html_search_scorer = str(HERE / "theme" / "scorer.js")


def setup(app) -> None:
    """Delete the results of other states of the package: nobody asks for them again."""
    current = Path(nb_execution_cache_path)
    for old in current.parent.glob("*"):
        if old != current:
            shutil.rmtree(old)
