"""Docstrings are plain text, whose stars and bars mean what they say. Paragraphs flow; tables and
formulas stay as written.
"""

import re
from html import escape

# a line that its successor's first word would have taken beyond this was broken for want of room
MARGIN = 95


def html(paragraph) -> str:
    if re.search(r"^ |\S {2,}\S", paragraph, re.MULTILINE):
        return f"<pre>{escape(paragraph)}</pre>"
    text, length = "", 0
    for line in paragraph.splitlines():
        if text:
            text += " " if length + 1 + len(line.split()[0]) > MARGIN else "<br>"
        text, length = text + re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(line)), len(line)
    return f"<p>{text}</p>"


def as_written(app, what, name, obj, options, lines) -> None:
    paragraphs = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    if paragraphs != [""]:
        text = "\n".join(["<div class='docstring'>", *map(html, paragraphs), "</div>"])
        lines[:] = [".. raw:: html", "", *(f"    {line}" for line in text.split("\n"))]


def setup(app) -> dict:
    app.connect("autodoc-process-docstring", as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
