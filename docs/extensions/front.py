"""The first page: the program at work, a verdict of the judge, figure 1 with links, and the book's
table of contents.

A line `front NAME` in docs/index.md becomes what the function NAME returns.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from minitransformer.models import TransformerConfig
from minitransformer.pictures.architecture import PANELS, PARTS
from minitransformer.pictures.boxes import WIDTH, Map
from minitransformer_course import messages
from minitransformer_course.judge.course import PARTS as OWN, PARTS_OF_THE_BOOK, chapters
from minitransformer_course.messages import _
from minitransformer_course.judge.my_transformer import MODEL, MODEL_MINUTES

DOCS = Path(__file__).parents[1]
READING = 10  # minutes of a page without exercises
WRONG = "def softmax_backward(dp, p):\n    return p * (1 - p) * dp\n"
PLAY = """
(() => {
  const screen = document.currentScript.previousElementSibling.lastElementChild, frames = FRAMES;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const play = () => {
    for (const [at, text] of frames) setTimeout(() => { screen.textContent = text; }, 1000 * at);
    setTimeout(play, 1000 * frames.at(-1)[0] + 6000);
  };
  play();
})();
"""


def terminal() -> str:
    """`train copy`, recorded; without scripts or motion its end."""
    recorded = json.loads((DOCS / "front" / "train_copy.json").read_text(encoding="utf-8"))
    script = PLAY.replace("FRAMES", json.dumps(recorded["frames"], ensure_ascii=False))
    return (
        f'<div class="terminal" role="img" aria-label="{_("minitransformer train copy, in a terminal")}">'
        f"<code>$ minitransformer train copy</code><pre>{escape(recorded['frames'][-1][1])}</pre></div>"
        f"<script>{script}</script>"
    )


def verdict() -> str:
    """A wrong function, and what the judge says of it today."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            messages.VARIABLE: messages.language(),
            "PYTHONPATH": str(DOCS.parent),
            "NO_COLOR": "1",
        }

        def learn(*arguments) -> str:
            return subprocess.run(
                [sys.executable, "-m", "minitransformer", "learn", *arguments],
                capture_output=True,
                cwd=folder,
                encoding="utf-8",
                env=environment,
            ).stdout

        learn("start", "4")
        page = next(Path(folder).glob("04*.py"))
        blank = re.compile(r"def softmax_backward\(.*?\n(?=\S)", re.DOTALL)
        page.write_text(
            blank.sub(lambda _: WRONG + "\n", page.read_text(encoding="utf-8")), encoding="utf-8"
        )
        said = escape(learn("check", "softmax_backward"))
    coloured = re.sub(r"^(  [A-Z]+\b|\w+: not yet)", r"<b>\1</b>", said, flags=re.MULTILINE)
    return f'<div class="terminal"><code>$ minitransformer learn check softmax_backward</code><pre>{coloured}</pre></div>'


def figure_1() -> str:
    """Figure 1, whose boxes are links to the chapters that explain them."""
    explained: dict[str, str] = {}  # {kind of box: chapter}, the first that is about it
    for chapter in chapters():
        for part in re.findall(r'"(\w+)"', re.search(r"you_are_here\((.*?)\)", chapter.text)[1]):
            for kind in PARTS[part][1]:
                explained.setdefault(kind, chapter)
    needed = {kind: OWN[part] for part in PARTS for kind in PARTS[part][1]}
    found = Map(TransformerConfig.named("base", 37_000))
    links = "".join(
        f'<a href="../tutorials/{explained[box.kind].name}/chapter.html" '
        f'title="{escape(explained[box.kind].title)}" class="{"panel" * (box.kind in PANELS)}" '
        f'aria-label="{escape(box.name)}" data-needs="{" ".join(needed[box.kind])}" '
        f'style="left:{100 * (box.x - box.width / 2) / WIDTH:.2f}%;'
        f"top:{100 * (1 - box.top / found.height):.2f}%;width:{100 * box.width / WIDTH:.2f}%;"
        f'height:{100 * box.height / found.height:.2f}%"></a>'
        for box in sorted(found.boxes, key=lambda box: -box.width * box.height)
        if box.kind in explained
    )
    picture = '<img src="../_static/architecture.png" alt="Figure 1 of the paper: encoder, decoder, and the inside of attention">'
    return f'<div class="map">{picture}{links}</div>'


def book() -> str:
    """A table of contents for each part, with the minutes that the exercises take, or a page
    without exercises.
    """
    parts: dict[str, list[str]] = {title: [] for title in PARTS_OF_THE_BOOK}
    for chapter in chapters():
        minutes = sum(exercise.minutes for exercise in chapter.exercises)
        parts[chapter.part].append(
            f"{chapter.title} ({_('{n} min').format(n=minutes or READING)}) <../tutorials/{chapter.name}/chapter>"
        )
    model = _("From a blank file ({n} min)").format(n=MODEL_MINUTES)
    parts[[*PARTS_OF_THE_BOOK][1]].append(f"{model} <../tutorials/{MODEL}>")
    return "\n\n".join(
        "\n".join(["```{toctree}", f":caption: {_(title)}", ":maxdepth: 1", "", *lines, "```"])
        for title, lines in parts.items()
    )


def fill(app, docname, content) -> None:
    if docname == "docs/index":
        content[0] = re.sub(
            r"^front (\w+)$", lambda found: globals()[found[1]](), content[0], flags=re.MULTILINE
        )


def setup(app) -> dict:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
