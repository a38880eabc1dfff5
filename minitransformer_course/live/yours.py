"""The reader's functions in a whole model: proven, trained on words, and put into a page for a
friend.
"""

import runpy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitransformer.errors import InputError
from minitransformer.tasks import TASKS
from minitransformer_course import messages
from minitransformer_course.explorer.page import Page, batch_of, make_page
from minitransformer_course.judge import capstone
from minitransformer_course.judge.capstone_report import proof_page, report
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.judge.plug import in_the_paper, plugs
from minitransformer_course.live import judged
from minitransformer_course.live.parts import SECONDS, answers, seen
from minitransformer_course.messages import _

MEASURE = 100  # steps between measures
POINT = 10  # steps that are one point of the curve


@dataclass
class Mine:
    """The reader's model, while it learns."""

    functions: dict[str, Any]  # {name of an exercise: the reader's function}
    learning: Iterator[capstone.Learned]
    result: dict[str, Any]  # as `learn plug` reports it
    losses: list[float]  # of each step
    learned: capstone.Learned  # after the first step


state = SimpleNamespace(mine=None)  # of the page


@cache
def paper() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(folder_of_chapters() / "one_file.py")))


def begin(language: str) -> None:
    """Forget everything."""
    messages.choose(language)
    judged.begin()
    state.mine = None


@answers
def start(kept: dict[str, str]) -> dict:
    """Prove a model in which the reader's functions run, {name: text} of what passed."""
    state.mine = None
    judged.take_up(kept)
    own = vars(judged.own)
    names = [name for name in in_the_paper() if name in own]
    if not names:
        raise InputError(
            _(
                "No function of yours has passed in this browser yet that has a place in the "
                "model. Chapter 4 is a good place to begin: softmax."
            )
        )
    functions, parts = {name: own[name] for name in names}, capstone.library()
    with plugs(functions), np.errstate(all="ignore"):
        errors, wrong = capstone.proof(paper(), parts)
        result = {"own": [], "not_passed": [], "errors": errors, "first_wrong": wrong}
        said = _report(result, names)
        if max(errors.values()) > capstone.BOUND:
            raise InputError(said)
        learning = capstone.learning(paper(), parts, own=False)
        first = next(learning)
    state.mine = Mine(functions, learning, result, [first.loss], first)
    return {"said": said.split("\n")}


def _report(result: dict[str, Any], names: list[str]) -> str:
    return report(result, names, in_the_paper(), hints=False)


@answers
def advance() -> dict:
    """Train for a part. It ends when all words that it never saw are right, or after STEPS."""
    mine, until = _mine(), time.perf_counter() + SECONDS
    with plugs(mine.functions), np.errstate(all="ignore"):
        for learned in mine.learning:
            mine.learned = learned
            mine.losses.append(learned.loss)
            if learned.step % MEASURE == 0:
                _measure(mine)
            done = mine.result.get("exact") == 1 or learned.step == capstone.STEPS
            if done or time.perf_counter() >= until:
                break
    said = [_("Trained."), *_report(mine.result, [*mine.functions]).split("\n")] if done else None
    return {**_seen(mine), "said": said}


def _measure(mine: Mine) -> None:
    exact, example = mine.learned.measure()
    mine.result |= {"steps": mine.learned.step, "exact": exact, "example": example}


def _seen(mine: Mine) -> dict[str, str]:
    ends = [*range(POINT, len(mine.losses), POINT), len(mine.losses)]
    losses = [(end, float(np.mean(mine.losses[max(0, end - POINT) : end]))) for end in ends]
    return seen(losses, capstone.STEPS)


@answers
def say(text: str) -> dict:
    """What the reader's model writes for a word."""
    mine, word = _mine(), "".join(text.lower().split())
    vocabulary = paper().VOCABULARY
    if not word or not {*word} <= {*vocabulary}:
        raise InputError(_("Write a word of the letters a to z."))
    source, _target, _next = paper().make_batch([([vocabulary.index(one) for one in word], [])])
    with plugs(mine.functions):
        (written,) = capstone.library()["greedy"](mine.learned.weights(), source, len(word) + 1)
    letters = [vocabulary[i] for i in capstone.upto(written)]
    return {"answer": f"{word} → {''.join(letters)}"}


@answers
def download(text: str) -> dict:
    """A page for a friend: the map of what is the reader's, and their model, at work on a word."""
    mine = _mine()
    if "exact" not in mine.result:
        with plugs(mine.functions):
            _measure(mine)
    page = proof_page(mine.result, [*mine.functions], in_the_paper())
    explored = _explored(mine, text)._repr_html_()
    page = page.replace("</body>", f"{explored}\n</body>")
    return {"file": page.encode(), "type": "text/html", "name": "my_transformer.html"}


def _explored(mine: Mine, text: str) -> Page:
    """The explorer on the model and a word."""
    model = capstone.with_weights(mine.learned.weights())
    vocabulary = TASKS["reverse"]().make_vocabulary()  # the same letters as one_file.py's
    batch = batch_of(model, vocabulary, " ".join("".join(text.lower().split())))
    weights = {name: one.data for name, one in model.parameters().items()}
    title = _("My Transformer")
    return make_page(model, vocabulary, batch, 0.0, title, {"the trained model": weights})


def _mine() -> Mine:
    if state.mine is None:
        raise InputError(_("Train a model first, a few steps at least."))
    return state.mine
