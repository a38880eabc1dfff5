"""What a reader has written so far: on the map that opens every chapter, in the running example, and as tests."""

import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.checking.compare import relative_error
from minitransformer.pictures import architecture
from minitransformer.pictures.boxes import LEFT, Map
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.course import PARTS, find_exercise
from minitransformer_course.judge.fixtures import VersionUnderTest, verdict
from minitransformer_course.judge.learner_progress import PASSED, Progress
from minitransformer_course.judge.messages import _, padded
from minitransformer_course.judge.plug import in_the_paper, plugs
from minitransformer_course.lab.example import CONFIG, drawkcab, write
from minitransformer_course.lab.inside import add_gradients


def you_are_here(*parts, shapes=True) -> None:
    """Draw the map with this chapter's parts outlined, and those filled whose exercises pass in the current folder."""
    progress = Progress(".")
    own = [part for part, names in PARTS.items() if all(progress.of(name)["state"] == PASSED for name in names)]
    figure = plt.figure()
    axes = figure.add_axes((0, 0, 1, 1))
    architecture.draw(axes, here=parts, own=own, shape=lambda box: box.shape if shapes else "")
    figure.set_size_inches(architecture.WIDTH, axes.get_ylim()[1])    # one unit is an inch


def figure_1(filled=None) -> None:
    """Draw figure 1 with a name in each place whose shape is asked for; filled: {name: shape}, to be written there."""
    boxes = Map(CONFIG).boxes
    asked = {"memory": [box for box in boxes if (box.kind, box.x) == ("layer_norm", LEFT)][-1],
             **dict(zip(("query", "key"), [box for box in boxes if box.kind == "split"])),
             **{name: next(box for box in boxes if box.kind == kind) for name, kind in
                (("scores", "scores"), ("answers", "weighted_sum"), ("merged", "merge"), ("logits", "output"))}}
    texts = {box: f"{name} = ?" if filled is None else f"({', '.join(map(str, filled[name]))})" for name, box in asked.items()}
    texts |= {box: re.sub(r"^(\w+ =|.*?,.*?,) ", r"\1\n", text) for box, text in texts.items() if box.kind == "split"}    # narrow
    figure = plt.figure()
    axes = figure.add_axes((0, 0, 1, 1))
    architecture.draw(axes, CONFIG, shape=lambda box: texts.get(box, ""))
    figure.set_size_inches(architecture.WIDTH, axes.get_ylim()[1])


def run_yours(word="backward") -> None:
    """Let the functions of the folder's my_transformer.py write a word backwards; compare their gradients with the library's."""
    model, vocabulary = drawkcab()
    model = model.astype("float64")
    expected = _gradients(model, vocabulary, word)
    with own_functions() as names:
        written, found = write(model, vocabulary, word), _gradients(model, vocabulary, word)
    print(f"{word} -> {written}")
    print(_("{n} of {all} parts are yours: {names}").format(
        n=len(names), all=len(in_the_paper()), names=", ".join(names) or _("none yet")))
    if names:
        print(_("with them, the gradients of all parameters differ from the library's by {error:.0e}").format(
            error=relative_error(found, expected)))


@contextmanager
def own_functions() -> Iterator[list[str]]:
    """Within the block, the functions of the folder's my_transformer.py run in place of the library's; yields their names."""
    names = [name for name in my_transformer.names_in(".") if name in in_the_paper()]
    made = runpy.run_path(str(Path(my_transformer.FILE))) if names else {}
    with ExitStack() as stack:
        for one in plugs({name: made[name] for name in names}):
            stack.enter_context(one)
        yield names


def own(name) -> Callable:
    """The function of that name of the folder's my_transformer.py, or the exercise's reference; says which of the two it is."""
    mine = name in my_transformer.names_in(".")
    print(f"{name}: {_('yours') if mine else _('the reference, until yours passes')}")
    return runpy.run_path(str(Path(my_transformer.FILE)))[name] if mine else find_exercise(name).reference


def verdicts(test) -> None:
    """Print whether each version of the exercise of the test's name passes it."""
    for one in find_exercise(test.__name__).versions:
        said = _("passes") if verdict(test)(VersionUnderTest(one.function)) else _("fails")
        print(f"{padded(said, 6)}  {_(one.sentence)}")


def _gradients(model, vocabulary, word) -> list[np.ndarray]:
    """An array for each parameter."""
    model.zero_grad()
    add_gradients(model, vocabulary, word)
    return [parameter.grad.copy() for parameter in model.parameters().values()]
