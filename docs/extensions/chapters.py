"""Below each chapter: its exercises, and the command that starts them. In it: sentences that break at the page's edge."""

import re

from docutils.nodes import literal_block

from minitransformer.learn.course import chapters

WIDEST_TABLE = 110    # characters of a line


def add_exercises(app, docname, content) -> None:
    found = re.fullmatch(r"tutorials/(\w+)/chapter", docname)
    if not found:
        return
    chapter = next(one for one in chapters() if one.name == found[1])
    lines = ["### Write them yourself", "",
             f"`minitransformer learn start {int(chapter.name[:2])}` writes this chapter and its exercises into your folder.", "",
             "| exercise | check it with |", "|---|---|",
             *(f"| {one.title} | `minitransformer learn check {one.name}` |" for one in chapter.exercises)]
    content[0] += "\n# %% [markdown]\n" + "".join(f"# {line}\n" for line in lines)


def break_sentences(app, doctree) -> None:
    """The doctor's sentence is one line. Tables are never as wide: they keep their lines, and scroll on a phone."""
    for output in doctree.findall(literal_block):
        if "stream" in output["classes"] and max(map(len, output.astext().splitlines()), default=0) > WIDEST_TABLE:
            output["classes"].append("sentences")


def setup(app) -> dict:
    app.connect("source-read", add_exercises)
    app.connect("doctree-read", break_sentences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
