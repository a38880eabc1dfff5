"""What the pages' Python says and prints, beside what the installed one does: the numbers of
research/experiments/in_the_page.md.

    python research/experiments/in_the_page.py verdicts [EXERCISE ...]
    python research/experiments/in_the_page.py chapters [CHAPTER ...]

`verdicts` judges every reference, blank, listed mistake and right style of the exercises with
`minitransformer_course.live.chapter.judge`, here and in Pyodide; `chapters` runs the cells of the
pages. Both print what differs, except for times and the sizes of rounding errors. Pyodide runs in
node, in the worker of the pages (tests/helpers/in_node.py).
"""

import argparse
import ast
import difflib
import inspect
import os
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for tests/, which is not installed
os.environ["MPLBACKEND"] = "agg"

from minitransformer_course.judge import cells
from minitransformer_course.judge.course import Chapter, chapters, exercises
from minitransformer_course.judge.exercise import Exercise, skeleton
from minitransformer_course.live import chapter
from tests.course.live.conftest import live_files
from tests.helpers.in_node import PageInNode

LONG = 20  # seconds of a cell that are worth a line
COMPARED = "passed", "title", "said", "line"


class Solution(NamedTuple):
    exercise: str
    kind: str  # "reference", "blank", "mistake" or "style"
    name: str  # of its function in the exercise's file
    source: str  # of the cell that a reader would write


def solutions(exercise: Exercise) -> Iterator[Solution]:
    name = exercise.name
    yield Solution(name, "reference", name, exercise.source)
    yield Solution(name, "blank", name, skeleton(exercise.source, name))
    wrong = [mark.wrong for mark in exercise.mistakes]
    for kind, functions in (("mistake", wrong), ("style", exercise.styles)):
        for one in functions:
            yield Solution(name, kind, one.__name__, as_the_readers(exercise, one.__name__))


def as_the_readers(exercise: Exercise, name: str) -> str:
    """The function and all that it uses of the exercise's file, under the exercise's name."""
    tree = ast.parse(inspect.cleandoc(exercise.path.read_text(encoding="utf-8")))
    defined = {name: node for node in tree.body for name in names_of(node)}
    needed, waiting = [], [name]
    while waiting:
        node = defined[waiting.pop()]
        if node not in needed:
            needed.append(node)
            used = [
                one.id for one in ast.walk(without_decorators(node)) if isinstance(one, ast.Name)
            ]
            waiting += [one for one in used if one in defined]
    renamed = Renamed({exercise.name: f"right_{exercise.name}"} | {name: exercise.name})
    kept = [renamed.visit(without_decorators(node)) for node in tree.body if node in needed]
    return ast.unparse(ast.Module(kept, [])) + "\n"


def names_of(node: ast.stmt) -> list[str]:
    """What a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [one.asname or one.name.partition(".")[0] for one in node.names]
    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return [one.id for one in stored if isinstance(one.ctx, ast.Store)]


def without_decorators(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    return node


class Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)


def verdicts(wanted: list[str]) -> int:
    """Compare them, and print a line for each that differs."""
    found = [
        one
        for name, exercise in exercises().items()
        if not wanted or name in wanted
        for one in solutions(exercise)
    ]
    seconds, ours, differing, refused = [], 0.0, 0, 0
    with TemporaryDirectory() as folder, PageInNode(Path(folder), "chapter") as page:
        begin(page, [])
        for one in found:
            began = time.process_time()
            here = chapter.judge(one.exercise, one.source)
            ours += time.process_time() - began
            there = page.call("judge", one.exercise, one.source)
            seconds.append(page.seconds)
            said = [{name: answer[name] for name in COMPARED} for answer in (here, there)]
            said[0]["said"] = [list(line) for line in said[0]["said"]]
            refused += one.kind in ("reference", "style") and not there["passed"]
            if here["passed"] != (one.kind in ("reference", "style")):
                print(f"installed, too: {one.exercise}, {one.kind} {one.name}: {here['title']}")
            if said[0] != said[1]:
                differing += 1
                print(f"{one.exercise}, {one.kind} {one.name}")
                print(f"  installed {said[0]}\n  page      {said[1]}", flush=True)
            if page.seconds > 3:
                print(f"slow: {one.exercise}, {one.kind} {one.name}: {page.seconds:.1f} s")
    print(
        f"{len(found)} verdicts, {differing} differ, {refused} right answers refused; "
        f"processor time of a check: median {statistics.median(seconds):.3f} s, "
        f"worst {max(seconds):.1f} s, in sum {sum(seconds):.0f} s; installed {ours:.0f} s"
    )
    return differing


def run_chapters(wanted: list[str]) -> int:
    """Run them, and print what differs in what the cells print and how many pictures they draw."""
    differing = 0
    named = {one.name: one for one in chapters()}
    for name in wanted or named:
        with TemporaryDirectory() as folder, PageInNode(Path(folder), "chapter") as page:
            os.chdir(folder)
            begin(page, [exercise.name for exercise in named[name].exercises])
            differing += compare_cells(named[name], page)
    return differing


def compare_cells(one: Chapter, page: PageInNode) -> int:
    here, there, seconds = [], [], [0.0, 0.0]
    for number, source in enumerate(code_of(one), 1):
        began = time.process_time()
        here += shown(number, chapter.run(str(number), source))
        seconds[0] += time.process_time() - began
        there += shown(number, page.call("run", str(number), source, seconds=live_files.PATIENCE))
        seconds[1] += page.seconds
        if page.seconds > LONG:
            print(f"cell {number} of {one.name}: {page.seconds:.0f} s", flush=True)
    names = f"{one.name}, installed", f"{one.name}, in the page"
    lines = [list(map(masked, each)) for each in (here, there)]
    difference = list(difflib.unified_diff(*lines, *names, lineterm="", n=0))
    print("\n".join([*difference, *new_in(here, there)]))
    times = "installed {:.1f} s, in the page {:.1f} s".format(*seconds)
    print(f"{one.name}: {len(here)} lines, {times} of processor time", flush=True)
    return bool(difference)


def masked(line: str) -> str:
    """Without the sizes of rounding errors, where a check found the largest, and times."""
    line = re.sub(r"\d(\.\d+)?e[-+]\d+ +\[[\d, ]+\] +\S+ +\S+", "(an error)", line)
    line = re.sub(r"\d(\.\d+)?e-\d+|\b0\.0e\+00", "(an error)", line)
    return re.sub(r"[\d.,]+ (ms|µs|s|minutes|MB|times as long)\b", r"(time) \1", line)


def new_in(here: list[str], there: list[str]) -> list[str]:
    """What may never be in the page alone: no number, and a count below 0."""
    texts = ["\n".join(each).lower() for each in (here, there)]
    counts = [
        Counter(re.findall(r"\bnan\b|\binf\b|(?<![\w.])-\d+\b(?![.,e])", each)) for each in texts
    ]
    return [f"in the page alone: {one}" for one in counts[1] - counts[0]]


def code_of(one: Chapter) -> list[str]:
    """What the cells of a chapter's page run, in their order."""
    found = cells.parse(one.text)
    code = [cell for cell in found if not cells.is_text(cell.kind, cell.name)]
    return [cell.source for cell in code if cell.kind != "exercise"]


def shown(number: int, ran: dict) -> list[str]:
    """The lines of what a cell shows."""
    printed = ran["printed"].rstrip("\n").split("\n")
    return [f"{number}: {line}" for line in (*printed, f"{len(ran['pictures'])} pictures")]


def begin(page: PageInNode, names: list[str]) -> None:
    chapter.begin("en", names)
    page.call("begin", "en", names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("what", choices=["verdicts", "chapters"])
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    commands = {"verdicts": verdicts, "chapters": run_chapters}
    sys.exit(bool(commands[given.what](given.names)))
