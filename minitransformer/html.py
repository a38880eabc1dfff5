"""Tables and pictures as HTML: for a run's report, and for what a notebook shows of runs and settings."""

from base64 import b64encode
from dataclasses import fields
from html import escape

from minitransformer.figure import DPI


def table(rows, header=()):
    """Rows of cells, each shown as its text; with the names of the columns above, if there is a `header`."""
    lines = ["".join(f"<th>{escape(str(name))}</th>" for name in header)] if header else []
    lines += ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>"


def picture(figure, description):
    """A figure.Figure inside the page, at its own size."""
    png = figure.as_bytes()
    width = int.from_bytes(png[16:20], "big") * 96 // DPI    # of the PNG's header, in a page's 96 dots an inch
    return f'<img width="{width}" src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(description, quote=True)}">'
