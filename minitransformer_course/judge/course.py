"""The chapters and their exercises, as they are on the disk."""

import re
from functools import cache
from pathlib import Path

from minitransformer.errors import InputError, nearest_of
from minitransformer_course.judge import cells
from minitransformer_course.judge.exercise import Exercise
from minitransformer_course.messages import _

PARTS = {  # {part of the map: the exercises that make it the reader's own}
    "linear": ["linear_backward"],
    "embedding": ["embedding_backward"],
    "positions": ["sinusoids"],
    "softmax": ["softmax", "softmax_backward"],
    "attention": ["attention", "attention_backward"],
    "masks": ["causal_mask", "three_masks"],
    "heads": ["split_heads", "merge_heads"],
    "residual": ["residual_backward"],
    "layer_norm": ["layer_norm", "layer_norm_backward"],
    "feed_forward": ["feed_forward_backward"],
    "dropout": ["dropouts_backward"],
    "encoder": [
        "attention_backward",
        "residual_backward",
        "layer_norm_backward",
        "feed_forward_backward",
        "dropouts_backward",
        "post_norm_backward",
    ],
    "decoder": ["decoder_layer", "memory_backward"],
    "loss": ["cross_entropy_backward", "smoothed_targets"],
    "adam": ["adam_step"],
    "decoding": ["nucleus", "beam_step", "ranked", "cached_step"],
}


PARTS_OF_THE_BOOK = {  # {title: the number of its last chapter}
    "Part one: the blocks": 8,
    "Part two: from drawkcab to a chat model": 13,
    "Part three: the paper, audited": 17,
}
# the short path, {exercise: the heading from which to read, or "" for the top of the page}
SHORT = {
    "linear_backward": "",
    "embedding_backward": "",
    "softmax": "",
    "softmax_backward": "The Jacobian that nobody builds",
    "attention": "",
    "attention_backward": "Backward",
    "layer_norm_backward": "LayerNorm: every row on the same scale",
    "cross_entropy_backward": "One row by hand",
    "adam_step": "",
}
HOURS = 4  # of the short path, with its reading and `learn plug`


class Chapter:
    """A folder NUMBER_NAME, such as 08b_dropout: chapter.py, the page, and its exercises 1_NAME.py,
    2_NAME.py, ...
    """

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.page = folder / "chapter.py"
        self.exercises = [Exercise(path, self) for path in sorted(folder.glob("[0-9]_*.py"))]

    @property
    def number(self) -> str:
        """The number as a reader types it: 0, 4, 8b."""
        return self.name.partition("_")[0].removeprefix("0")

    @property
    def part(self) -> str:
        """The title of its part of the book."""
        number = int(re.match(r"\d+", self.name)[0])  # type: ignore[index]
        return next(title for title, last in PARTS_OF_THE_BOOK.items() if number <= last)

    @property
    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")

    def derivation(self, exercise) -> list[cells.Cell]:
        """The cells of the page that derive an exercise's answer."""
        found, inside = [], False
        for cell in cells.parse(self.text):
            inside = cell.name == exercise.name if cell.kind == "exercise" else inside
            found += [cell] if inside and cell.kind == "derivation" else []
        return found

    @property
    def title(self) -> str:
        return _(next(line[4:] for line in self.text.splitlines() if line.startswith("# # ")))


def folder_of_chapters() -> Path:
    """chapters/ of an installed package, or tutorials/ of a clone."""
    course = Path(__file__).parents[1]
    installed = course / "chapters"
    return installed if installed.exists() else course.parent / "tutorials"


@cache
def chapters() -> list[Chapter]:
    """All chapters, in order."""
    return [
        Chapter(page.parent)
        for page in sorted(folder_of_chapters().glob("[0-9][0-9]*_*/chapter.py"))
    ]


def exercises() -> dict[str, Exercise]:
    """{name: Exercise} of all chapters, in order."""
    return {exercise.name: exercise for chapter in chapters() for exercise in chapter.exercises}


def find_exercise(name) -> Exercise:
    """The Exercise with that name. Raises InputError if there is none."""
    known = exercises()
    if name not in known:
        nearest = nearest_of(name, known)
        raise InputError(
            _("there is no exercise {name!r}; did you mean {nearest}?").format(
                name=name, nearest=nearest
            )
            if nearest
            else _("there is no exercise {name!r}; `minitransformer learn list` shows all").format(
                name=name
            )
        )
    return known[name]


def find_chapter(text) -> Chapter:
    """By number (5, 05, 8b), name (05_attention or attention), or the learner's file. Raises
    InputError if there is none.
    """
    wanted = Path(text).stem.lower()
    for chapter in chapters():
        number, _underscore, name = chapter.name.partition("_")
        if wanted in (chapter.name, name, number, chapter.number):
            return chapter
    names = [chapter.name for chapter in chapters()]
    nearest = nearest_of(wanted, names)
    raise InputError(
        (
            _("there is no chapter {name!r}; did you mean {nearest}?")
            if nearest
            else _("there is no chapter {name!r}; choose from {names}")
        ).format(name=text, nearest=nearest, names=", ".join(names))
    )
