"""What a reader has written so far, at work in the running example."""

import runpy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from minitransformer.checking.compare import relative_error
from minitransformer_course.judge import my_transformer
from minitransformer_course.judge.messages import _
from minitransformer_course.judge.plug import in_the_paper, plugs
from minitransformer_course.lab.example import drawkcab, write
from minitransformer_course.lab.inside import add_gradients


def at_work(word="backward") -> None:
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


def _gradients(model, vocabulary, word) -> list[np.ndarray]:
    """An array for each parameter."""
    model.zero_grad()
    add_gradients(model, vocabulary, word)
    return [parameter.grad.copy() for parameter in model.parameters().values()]
