"""Below each chapter: its exercises, and the command that starts them."""

import re

from minitransformer.learn.course import chapters


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


def setup(app) -> dict:
    app.connect("source-read", add_exercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
