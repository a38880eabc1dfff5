"""How much processor time the cells of the chapters take in their pages, and installed.

A page's Python runs in Node (tests/helpers/in_node.py). Each chapter gets a Python of its own,
as "Run all cells" does. Prints one JSON object for each chapter: the number of its cells, the
seconds that all of them take installed with one thread and in the page, and {number of a cell on
the page: seconds there} of the long ones.
"""

import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitransformer.cores import one_blas_thread
from minitransformer.errors import InputError
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import Chapter, chapters, find_chapter

HOUR = 3600  # more than any cell takes
LONG = 20  # seconds of a cell whose minutes its page says


def add_arguments(parser) -> None:
    parser.add_argument(
        "chapters", nargs="*", metavar="CHAPTER", help="their numbers; default: all"
    )


def execute(args) -> None:
    os.environ["MPLBACKEND"] = "agg"
    for one in [*map(find_chapter, args.chapters)] or chapters():
        with TemporaryDirectory() as folder:
            print(json.dumps({"chapter": one.name, **measured(one, Path(folder))}), flush=True)


def measured(chapter: Chapter, folder: Path) -> dict[str, Any]:
    """Raises InputError for a cell that fails."""
    from minitransformer_course.live import chapter as installed
    from tests.helpers.in_node import PageInNode, engine, node

    if not engine() or not node():
        raise InputError('this needs node, and Pyodide: pip install -e ".[campaign]"')
    code, names = cells_of(chapter), [one.name for one in chapter.exercises]
    in_page: dict[int, float] = {}
    here = 0.0
    installed.begin("en", names)
    with PageInNode(folder, "chapter") as page, one_blas_thread:
        page.call("begin", "en", names)
        for number, source in code.items():
            ran = page.call("run", str(number), source, seconds=HOUR)
            if ran["line"]:
                raise InputError(f"cell {number} of {chapter.name} fails: {ran['printed']}")
            in_page[number] = page.seconds
            since = time.process_time()
            installed.run(str(number), source)
            here += time.process_time() - since
    long = {number: round(one) for number, one in in_page.items() if one > LONG}
    return {
        "cells": len(code),
        "installed": round(here, 1),
        "page": round(sum(in_page.values()), 1),
        "long": long,
    }


def cells_of(chapter: Chapter) -> dict[int, str]:
    """{number on the chapter's page: what the cell runs}; exercises have numbers, too."""
    found = [one for one in cells.parse(chapter.text) if not cells.is_text(one.kind, one.name)]
    numbered = enumerate(found, 1)
    return {number: one.source for number, one in numbered if one.kind != "exercise"}
