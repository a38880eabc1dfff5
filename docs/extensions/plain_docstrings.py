"""Docstrings are plain text, with formulas whose stars and bars mean what they say: shown as they were written."""

from html import escape


def as_written(app, what, name, obj, options, lines):
    if not any(line.strip() for line in lines):
        return
    text = escape("\n".join(lines).strip("\n"))
    lines[:] = [".. raw:: html", "", *(f"    {line}" for line in f'<pre class="docstring">{text}</pre>'.split("\n"))]


def setup(app):
    app.connect("autodoc-process-docstring", as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
