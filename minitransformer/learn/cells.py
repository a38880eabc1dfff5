"""Cells of a page in the percent format, and the same as a notebook."""

import json
from typing import NamedTuple

MARKDOWN, CODE = "# %% [markdown]", "# %%"
FILE, CELL = "<file>", "<cell "    # the names under which Python runs a script, and how those of a notebook's cells begin


class Cell(NamedTuple):
    kind: str      # "markdown" or "code"
    source: str


def parse(text) -> list[Cell]:
    """The cells of a page; what stands before the first one, the header of jupytext, is left out."""
    cells, lines = [], None
    for line in text.splitlines():
        if line.startswith(CODE):
            lines = []
            cells.append(("markdown" if line.startswith(MARKDOWN) else "code", lines))
        elif lines is not None:
            lines.append(line)
    return [Cell(kind, "\n".join(_uncommented(lines) if kind == "markdown" else lines).strip("\n")) for kind, lines in cells]


def markdown(text) -> str:
    """A markdown cell in the percent format."""
    return "\n".join([MARKDOWN, *(f"# {line}".rstrip() for line in text.splitlines())]) + "\n\n"


def code(source) -> str:
    return f"{CODE}\n{source.rstrip()}\n\n"


def notebook(cells) -> str:
    """The text of an .ipynb file."""
    made = [{"cell_type": cell.kind, "id": f"cell-{i}", "metadata": {}, "source": cell.source.splitlines(keepends=True),
             **({"outputs": [], "execution_count": None} if cell.kind == "code" else {})} for i, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def title(lines) -> str:
    """By which a reader finds a cell: its first line of code."""
    return next((line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("#", "@"))), "")


def _uncommented(lines) -> list[str]:
    return [line.removeprefix("#").removeprefix(" ") if line.startswith("#") else line for line in lines]
