"""`python minitransformer_course/locale/catalogue.py` takes the texts of today into
minitransformer_course/locale/LANGUAGE/*.po and says what is missing.

A text that changed is marked fuzzy and keeps its old English, and readers get the English one until
somebody has translated it again. An empty file PART.po begins a part. messages.py reads the files.
"""

import ast
import io
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import normalize, read_po, write_po

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIRST = datetime(2026, 11, 27, tzinfo=timezone.utc)  # in the headers: the history knows the rest
WORDS = re.compile(
    r"[a-z]{3,} [a-z]{3,}"
)  # in the name of a term, "dy, around the layer": not in "p sum(dp p)"
PAGES = ["index.md", "learn.md", "train.md", "translation.md", "glossary.md", "live/*.md"]
PROGRAMS = ["one_file", "my_model"]  # of tutorials/
WIDTH = 110  # of a line of a file
FEW = 3  # words, which mean nothing without the code around them


class Place(NamedTuple):
    """Where a text stands, and what a translator has to know of it."""

    file: Path
    remark: str = ""


def texts() -> dict[str, dict[str, Place]]:
    """{part: {English text: its place}}: a chapter with its exercises, the judge with its commands,
    pages of the site, and programs that are read.
    """
    from minitransformer_course.commands.learn import ERRORS
    from minitransformer_course.diagnosis.arrays import ALONG
    from minitransformer_course.judge.course import PARTS_OF_THE_BOOK, chapters
    from minitransformer_course.judge.submission import SAID
    from minitransformer_course.lab.own_functions import GAINS

    course = ROOT / "minitransformer_course"
    found = {chapter.name: [*_of_chapter(chapter)] for chapter in chapters()}
    found["reports"] = [*_of_reports(course)]
    found["judge"] = [
        *_of_code(course),
        *_of_code(ROOT / "docs" / "extensions"),
        *_in(course / "commands" / "learn.py", ERRORS),  # and what is looked up by a variable
        *_in(course / "judge" / "submission.py", SAID),
        *_in(course / "lab" / "own_functions.py", GAINS.values()),
        *_in(course / "diagnosis" / "arrays.py", (text for text, _change in ALONG)),
    ]
    found["explorer"] = [*_of_explorer(course / "explorer" / "page")]
    found["commands"] = [*_of_commands()]
    found["site"] = [*_in(course / "judge" / "course.py", PARTS_OF_THE_BOOK)]
    for pattern in PAGES:
        for path in sorted((ROOT / "docs").glob(pattern)):
            page = path.read_text(encoding="utf-8")
            found["site"] += _in(path, _of_page(page))
    for name in PROGRAMS:
        path = ROOT / "tutorials" / f"{name}.py"
        found[name] = [*_in(path, _of_comments(path.read_text(encoding="utf-8")))]
    parts: dict[str, dict[str, Place]] = {}
    known: set[str] = set()  # a text that stands in several parts belongs to the first
    for part, messages in found.items():
        parts[part] = {}
        for text, place in messages:
            if text not in known:
                parts[part].setdefault(text, place)
        known |= {*parts[part]}
    return parts


def _in(file, messages, remark="") -> Iterator[tuple[str, Place]]:
    for text in messages:
        yield text, Place(file, remark)


def _of_reports(course) -> Iterator[tuple[str, Place]]:
    from minitransformer_course.locale.report_texts import of_caches, texts
    from minitransformer_course.reports import ALONE, MORE

    for folder in (ROOT / "minitransformer" / "checking", course / "doctor", course / "diagnosis"):
        for path in sorted(folder.glob("*.py")):
            yield from _in(path, texts(path), "said of a gradient check")
    for folder in ("functional", "layers", "models", "zoo"):
        for path in sorted((ROOT / "minitransformer" / folder).rglob("*.py")):
            yield from _in(path, of_caches(path), "what a field of a cache holds")
    yield from _in(course / "reports.py", ALONE, "in a place of another sentence")
    yield from _in(course / "reports.py", MORE, "said of a gradient check")


def _of_explorer(folder) -> Iterator[tuple[str, Place]]:
    from minitransformer_course.explorer.sentences import of_html, of_scripts

    yield from _in(
        folder / "page.html", of_html((folder / "page.html").read_text(encoding="utf-8"))
    )
    for path in sorted(folder.glob("*.js")):
        yield from _in(path, of_scripts(path.read_text(encoding="utf-8")), "said by a script")


def _of_commands() -> Iterator[tuple[str, Place]]:
    """What `--help` says, of each task, too."""
    from minitransformer.cli.parser import COMMANDS, make_parser
    from minitransformer_course.commands.help_texts import translated

    for name in COMMANDS:
        seen: list[str] = []
        everything = make_parser([name])
        command = everything.below.choices[name]
        tasks = command.below.choices if command.below and name != "learn" else []
        of_tasks = (
            make_parser([name, task, "--help"]).below.choices[name].below.choices[task]
            for task in tasks
        )
        for parser in (everything, command, *of_tasks):
            translated(parser, _kept_in(seen))
        yield from _in(ROOT / "minitransformer" / "cli" / f"{name}.py", filter(None, seen))


def _kept_in(seen) -> Callable[[str], str]:
    """A look-up that finds no text in another language, and keeps each that it is asked for."""

    def look_up(text) -> str:
        seen.append(text)
        return text

    return look_up


def _of_chapter(chapter) -> Iterator[tuple[str, Place]]:
    from minitransformer_course.judge import cells

    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for cell in cells.parse(chapter.text):
        if cell.kind == "exercise":
            yield from _of_exercise(exercises[cell.name])
        elif cells.is_text(cell.kind, cell.name):
            yield from _in(chapter.page, _of_page(cell.source))
        elif cell.kind == "code":
            yield from _in(chapter.page, _of_comments(cell.source), "comment in a cell")


def _of_exercise(one) -> Iterator[tuple[str, Place]]:
    from minitransformer_course.judge.exercise import skeleton

    said: list[tuple[str, list[str]]] = [
        ("title of an exercise", [one.title]),
        ("", _of_page(one.task)),
        ("docstring or comment of a blank", _of_comments(skeleton(one.source, one.name))),
        ("hint", [*one.module.hints[:2]]),
        ("what else an answer is made of", [one.rest]),
        ("case of the judge: its name", [role.name for role in one.edges]),
        ("case of the judge: the part to look at", [role.part for role in one.edges]),
    ]
    names = [*one.terms(*one.cases()[0][1])] if one.terms else []
    said.append(("name of a term", [name for name in names if WORDS.search(name)]))
    roles = (*one.invariants, *one.versions, *one.mistakes)
    said.append(("sentence of a verdict", [role.sentence for role in roles]))
    said.append(("what a test shows", [version.shows for version in one.versions]))
    for remark, found in said:
        yield from _in(one.path, filter(None, found), remark)


def _of_comments(code) -> list[str]:
    from minitransformer_course.judge.pages import translated_code

    seen: list[str] = []
    translated_code(code, _kept_in(seen))
    return seen


def _of_page(page) -> list[str]:
    from minitransformer_course.judge.pages import translated

    seen: list[str] = []
    translated(page, _kept_in(seen))
    return seen


def _of_code(folder) -> Iterator[tuple[str, Place]]:
    """What stands in `_(...)`. Of a few words, the line is the remark."""
    for path in sorted(folder.rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        lines = code.splitlines()
        for node in ast.walk(ast.parse(code)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "_"
            ):
                for one in ast.walk(node.args[0]):
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        few = len(one.value.split()) <= FEW
                        remark = lines[one.lineno - 1].strip() if few else ""
                        yield one.value, Place(path, remark)


def update(language) -> Iterator[str]:
    """Take the texts of today into the .po files of a language, and say of each part how much of it
    is translated.
    """
    folder = HERE / language
    folder.mkdir(exist_ok=True)
    parts, old = (
        texts(),
        Catalog(language),
    )  # a text that moved to another part keeps its translation
    for path in folder.glob("*.po"):
        for message in _read(path, language):
            if message.id and message.string:
                _add(old, message)
    known = {text for messages in parts.values() for text in messages} | {""}
    for part, messages in parts.items():
        template = Catalog(creation_date=FIRST)
        for text, place in messages.items():
            file = place.file.relative_to(ROOT).as_posix()
            template.add(text, locations=[(file, 0)], auto_comments=[*filter(None, [place.remark])])
        new = Catalog(
            language,
            project="minitransformer",
            fuzzy=False,
            header_comment=f"# {part}",
            creation_date=FIRST,
            revision_date=FIRST,
        )
        for message in old:  # what left is where a changed text may come from
            if message.id in messages or message.id not in known:
                _add(new, message)
        new.update(template, update_header_comment=False)
        new.obsolete.clear()
        for message in new:
            message.user_comments = _comments(message)
        done = sum(bool(one.string) and not one.fuzzy for one in new if one.id)
        path = folder / f"{part}.po"
        if path.exists() or done:
            path.write_bytes(_written(new))
        yield f"{language} {part:26} {done:4} of {len(messages):4} texts, {done / max(1, len(messages)):4.0%}"
    for path in folder.glob("*.po"):
        if path.stem not in parts:
            path.unlink()


def _add(catalogue, message) -> None:
    catalogue.add(
        message.id, message.string, flags=message.flags, user_comments=message.user_comments
    )


def _comments(message: Message) -> list[str]:
    """Those of translators; in a fuzzy message also `| msgid`, the English of its translation.

    Babel reads these lines as comments, and would break their strings.
    """
    previous = [line for line in message.user_comments if line.startswith("|")]
    comments = [line for line in message.user_comments if line not in previous]
    if message.previous_id and not previous:
        text = f"msgid {normalize(message.previous_id[0], width=WIDTH - 10)}"
        previous = [f"| {line}" for line in text.splitlines()]
    return comments + previous if message.fuzzy else comments


def _written(catalogue) -> bytes:
    file = io.BytesIO()
    write_po(file, catalogue, width=WIDTH, include_lineno=False)
    return file.getvalue().replace(b"\n# | ", b"\n#| ")


def _read(path, language) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language)


if __name__ == "__main__":
    for name in sorted(path.name for path in HERE.iterdir() if any(path.glob("*.po"))):
        print("\n".join(update(name)))
