"""A chapter on the site: exercises in their places, derivations in folds, words for pictures, and
sentences that break at the page's edge.
"""

import re
from collections.abc import Iterator

from docutils.nodes import Text, container, image, literal_block, paragraph

from minitransformer.pictures.architecture import PARTS
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import chapters
from minitransformer_course.judge.exercise import blanks
from minitransformer_course.judge.learner_file import blank_of, task_of
from minitransformer_course.messages import _
from minitransformer_course.judge.pages import translated, translated_code

WIDEST_TABLE = 110  # characters of a line
MAP = "lab.you_are_here("
EXPLORED = {  # {part: the kind of box that the explorer's page opens for it}
    "linear": "linear",
    "embedding": "embedding",
    "positions": "positions",
    "softmax": "softmax",
    "attention": "weighted_sum",
    "masks": "mask",
    "heads": "self_attention",
    "residual": "add",
    "layer_norm": "layer_norm",
    "feed_forward": "feed_forward",
    "decoder": "cross_attention",
    "loss": "loss",
    "adam": "adam",
    "decoding": "decoding",
}


def show_chapter(app, docname, content) -> None:
    """The source of a page, with each exercise in its place: its blank, and below it the derivation
    in a fold.
    """
    found = re.fullmatch(r"tutorials/(\w+)/chapter", docname)
    if found:
        chapter = next(one for one in chapters() if one.name == found[1])
        content[0] = "\n".join(
            _shown(cells.parse(content[0]), {one.name: one for one in chapter.exercises})
        )


def _shown(page, exercises) -> Iterator[str]:
    """The cells in jupytext's percent format."""
    open_fold = None  # the exercise whose derivation is being shown
    for cell in page:
        if open_fold and cell.kind != "derivation":
            yield _markdown(f"```python\n{_answer(open_fold)}\n```\n\n</details>")
            open_fold = None
        if cell.kind == "exercise":
            open_fold = exercises[cell.name]
            yield _markdown(_task(open_fold))
            yield '# %% tags=["remove-cell"]\nfrom minitransformer_course.judge.course import find_exercise\n'
            yield f"{cell.name} = find_exercise({cell.name!r}).reference\n"
            yield _markdown(
                f'<details class="derivation">\n<summary>{_("Derive it first, then open")}</summary>'
            )
        else:
            yield (
                _markdown(translated(cell.source))
                if cells.is_text(cell.kind, cell.name)
                else f"# %%\n{cell.source}\n"
            )
            if links := [
                _link(part)
                for part in re.findall(r'"(\w+)"', cell.source)
                if part in EXPLORED and MAP in cell.source
            ]:
                yield _markdown(
                    _("See it flow: {boxes}, in the running example.").format(
                        boxes=", ".join(links)
                    )
                )
    if open_fold:
        yield _markdown(f"```python\n{_answer(open_fold)}\n```\n\n</details>")


def _link(part) -> str:
    """To the box of a part, on the explorer's page of the running example (explorer.py)."""
    return f'<a href="../../explorer.html#box-{EXPLORED[part]}">{PARTS[part][0]}</a>'


def _task(exercise) -> str:
    ask = _(
        "Write it here, once you have pressed *Run this page here* at the top. Or write it in your copy of "
        "this page, which `minitransformer learn start {number}` makes, and ask the judge: "
        "`minitransformer learn check {name}`."
    ).format(number=exercise.chapter.number, name=exercise.name)
    blank = f"```python\n{blank_of(exercise)}```"
    place = f'<div class="live-exercise" data-name="{exercise.name}">'
    return f"{task_of(exercise)}\n\n{place}\n\n{blank}\n\n{ask}\n\n</div>"


def _answer(exercise) -> str:
    return "\n".join(line for lines in blanks(exercise.source) for line in lines)


def _markdown(text) -> str:
    return "# %% [markdown]\n" + "".join(f"# {line}\n" for line in text.splitlines())


def break_sentences(app, doctree) -> None:
    """The doctor's sentence is one line. Tables are never as wide: they keep their lines, and
    scroll on a phone.
    """
    for output in doctree.findall(literal_block):
        if (
            "stream" in output["classes"]
            and max(map(len, output.astext().splitlines()), default=0) > WIDEST_TABLE
        ):
            output["classes"].append("sentences")


def translate_comments(app, doctree) -> None:
    """Of a cell, once it has run: what it printed is kept for the English code."""
    for cell in doctree.findall(container):
        for code in cell.findall(literal_block) if "cell_input" in cell["classes"] else ():
            code.rawsource = translated_code(code.rawsource)
            code[:] = [Text(code.rawsource)]


def describe_pictures(app, doctree) -> None:
    """The alternative text of a picture: the paragraph before the code that draws it."""
    text = ""
    for node in doctree.findall(lambda node: isinstance(node, (paragraph, container))):
        if isinstance(node, paragraph):
            text = " ".join(node.astext().split())
        elif "cell_output" in node["classes"]:
            for picture in node.findall(image):
                picture["alt"] = f"Picture, drawn by the code above: {text}"


def setup(app) -> dict:
    app.connect("source-read", show_chapter)
    app.connect("doctree-read", translate_comments)
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", break_sentences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
