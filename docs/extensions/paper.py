"""docs/paper_map.md on the site: exercises and chapters become links, and a column of the map has
the chapters of its exercises.
"""

import re

from minitransformer_course.judge.course import exercises, find_chapter

OF_THE_MAP = 4  # cells of a row


def show_map(app, docname, content) -> None:
    if docname == "docs/paper_map":
        content[0] = linked(content[0])


def linked(text) -> str:
    """The page with its links and its column."""
    known = exercises()
    lines = [
        _with_chapters(line, known) if line.count("|") == OF_THE_MAP + 1 else line
        for line in text.splitlines()
    ]
    text = re.sub(
        r"`(\w+)`",
        lambda found: _link(known[found[1]].chapter, found[1]) if found[1] in known else found[0],
        "\n".join(lines),
    )
    return re.sub(r"\bchapter (\d+b?)", lambda found: _link(find_chapter(found[1]), found[0]), text)


def _with_chapters(line, known) -> str:
    place, code, named, proof = line.strip("|").split("|")
    found = dict.fromkeys(known[name].chapter for name in re.findall(r"`(\w+)`", named))
    chapters = ", ".join(_link(one, one.number) for one in found)
    return "|".join(
        ["", place, code, chapters or named.replace("exercise", "chapter"), named, proof, ""]
    )


def _link(chapter, text) -> str:
    return f"[{text}](../tutorials/{chapter.name}/chapter.py)"


def setup(app) -> dict:
    app.connect("source-read", show_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
