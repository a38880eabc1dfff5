"""The explorer's page of a chapter's own model."""

from pathlib import Path

from minitransformer.files import free_name
from minitransformer_course.explorer.page import Page, batch_of, make_page
from minitransformer_course.messages import _

SMOOTHING = 0.1  # with which the running example was trained
MARK = '<form id="ask"'  # of every page that the explorer makes


def explorer_page(model, vocabulary, text, title) -> Page:
    """Every number that the model computes while it reads `text` and writes its answer, and every
    gradient.
    """
    weights = {name: parameter.data for name, parameter in model.parameters().items()}
    batch = batch_of(model, vocabulary, text)
    return make_page(model, vocabulary, batch, SMOOTHING, title, {"the trained model": weights})


def open_explorer(model, vocabulary, text) -> None:
    """Write the page into the current folder, over one that was written before, and say where."""
    path = Path(f"explore_{text}.html")
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        path = free_name(path)
    path.write_text(explorer_page(model, vocabulary, text, text).html, encoding="utf-8")
    print(_("{path}: open it in a browser").format(path=path))
