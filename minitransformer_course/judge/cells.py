"""Cells of a page in the percent format, and the same as a notebook."""

import json
import re
from typing import NamedTuple

HEAD = re.compile(r"# %%(?: \[(?P<kind>\w+)\])?(?: (?P<rest>.*))?")
COMMENTED = re.compile("^# ?", re.MULTILINE)
FILE, CELL = (
    "<file>",
    "<cell ",
)  # the names under which Python runs a script, and how those of a notebook's cells begin


class Cell(NamedTuple):
    kind: str  # "markdown" or "code"; in a chapter also "exercise" and "derivation"
    source: str
    name: str = ""  # an exercise's name; for a derivation, "code" if it is not text


def lines(source) -> list[str]:
    """The lines of a source as Python counts them: a form feed or U+2028 ends one of
    `str.splitlines`, but none of these.
    """
    return source.split("\n")


def parse(text) -> list[Cell]:
    """The cells of a page; what comes before the first one, jupytext's header, is left out."""
    found, inside = [], None
    for line in lines(text):
        head = HEAD.fullmatch(line)
        if head:
            inside = []
            found.append((head["kind"] or "code", head["rest"] or "", inside))
        elif inside is not None:
            inside.append(line)
    sources = ["\n".join(inside) for _kind, _name, inside in found]
    return [
        Cell(kind, (COMMENTED.sub("", source) if is_text(kind, name) else source).strip("\n"), name)
        for (kind, name, _inside), source in zip(found, sources)
    ]


def is_text(kind, name="") -> bool:
    return kind == "markdown" or (kind == "derivation" and name != "code")


def percent(cells) -> str:
    """A page of markdown and code."""
    return (
        "\n\n".join(
            "\n".join(
                ["# %% [markdown]", *(f"# {line}".rstrip() for line in cell.source.splitlines())]
            )
            if cell.kind == "markdown"
            else f"# %%\n{cell.source.rstrip()}"
            for cell in cells
        )
        + "\n"
    )


def notebook(cells) -> str:
    """The text of an .ipynb file."""
    made = [
        {
            "cell_type": cell.kind,
            "id": f"cell-{i}",
            "metadata": {},
            "source": cell.source.splitlines(keepends=True),
            **({"outputs": [], "execution_count": None} if cell.kind == "code" else {}),
        }
        for i, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return (
        json.dumps(
            {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def title(lines) -> str:
    """How a reader finds a cell: by its first line of code."""
    return next(
        (
            line.strip()
            for line in lines
            if line.strip() and not line.lstrip().startswith(("#", "@"))
        ),
        "",
    )
