"""`python minitransformer_course/locale/catalogue.py` takes the texts of today into
minitransformer_course/locale/LANGUAGE/*.po and says what is missing.

A text that changed is marked fuzzy, and readers get the English one until somebody has translated
it again. messages.py reads the files.
"""

import ast
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIRST = datetime(2026, 11, 27, tzinfo=timezone.utc)  # in the headers: the history knows the rest
WORDS = re.compile(
    r"[a-z]{3,} [a-z]{3,}"
)  # in the name of a term, "dy, around the layer": not in "p sum(dp p)"
PAGES = ["docs/index.md", "docs/learn.md"]


def texts() -> dict[str, list[str]]:
    """{part: its English texts}: a chapter with its exercises, the judge with its commands, and
    pages of the site.
    """
    from minitransformer_course.commands.learn import ERRORS
    from minitransformer_course.diagnosis.rearranged import MOVED, PARTS
    from minitransformer_course.judge.course import PARTS_OF_THE_BOOK, chapters
    from minitransformer_course.lab.own_functions import GAINS

    found = {chapter.name: list(_of_chapter(chapter)) for chapter in chapters()}
    found["judge"] = list(_of_code(ROOT / "minitransformer_course")) + list(
        _of_code(ROOT / "docs" / "extensions")
    )
    found["judge"] += [
        *ERRORS,
        *GAINS.values(),
        *(sentence for sentence, _change in MOVED + PARTS),
    ]  # looked up by a variable
    found["site"] = [
        *PARTS_OF_THE_BOOK,
        *(text for page in PAGES for text in _of_page((ROOT / page).read_text(encoding="utf-8"))),
    ]
    known: set[str] = set()  # a text that stands in several parts belongs to the first
    return {
        part: [text for text in dict.fromkeys(messages) if not (text in known or known.add(text))]
        for part, messages in found.items()
    }


def _of_chapter(chapter) -> Iterator[str]:
    from minitransformer_course.judge import cells
    from minitransformer_course.judge.exercise import skeleton
    from minitransformer_course.judge.pages import translated_code

    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for cell in cells.parse(chapter.text):
        if cell.kind == "exercise":
            one = exercises[cell.name]
            yield one.title
            yield from _of_page(one.task)
            seen: list[str] = []
            translated_code(skeleton(one.source, one.name), lambda text: seen.append(text) or text)
            yield from seen
            yield from one.module.hints[:2]
            yield from (
                text
                for text in (
                    one.rest,
                    *(text for role in one.edges for text in (role.name, role.part)),
                )
                if text
            )
            yield from (
                name
                for name in (one.terms(*one.cases()[0][1]) if one.terms else ())
                if WORDS.search(name)
            )
            yield from (role.sentence for role in (*one.invariants, *one.versions, *one.mistakes))
            yield from (version.shows for version in one.versions if version.shows)
        elif cells.is_text(cell.kind, cell.name):
            yield from _of_page(cell.source)


def _of_page(page) -> list[str]:
    from minitransformer_course.judge.pages import translated

    seen: list[str] = []
    translated(page, lambda text: seen.append(text) or text)
    return seen


def _of_code(folder) -> Iterator[str]:
    """What stands in `_(...)`."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "_"
            ):
                for one in ast.walk(node.args[0]):
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        yield one.value


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
                old.add(message.id, message.string, flags=message.flags)
    known = {text for messages in parts.values() for text in messages} | {""}
    for part, messages in parts.items():
        template = Catalog(creation_date=FIRST)
        for message in messages:
            template.add(message)
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
                new.add(message.id, message.string, flags=message.flags)
        new.update(template, update_header_comment=False)
        new.obsolete.clear()
        with (folder / f"{part}.po").open("wb") as file:
            write_po(file, new, width=110, no_location=True)
        done = sum(bool(one.string) and not one.fuzzy for one in new if one.id)
        yield f"{language} {part:26} {done:4} of {len(messages):4} texts, {done / max(1, len(messages)):4.0%}"
    for path in folder.glob("*.po"):
        if path.stem not in parts:
            path.unlink()


def _read(path, language) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language)


if __name__ == "__main__":
    for name in sorted(path.name for path in HERE.iterdir() if any(path.glob("*.po"))):
        print("\n".join(update(name)))
