"""What the chapter on text needs: Shakespeare as ids, batches of windows, and pictures of bits per
character.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.windows import WindowBatches
from minitransformer.errors import InputError
from minitransformer.interchange.weights import WeightsFile, load_weights
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.messages import _
from minitransformer_course.judge.own_text import FILE, OwnText, own_text
from minitransformer_course.lab.pictures import show_curves

TRAIN_SHARE = 0.9
WINDOW = 64


def shakespeare() -> tuple[CharacterVocabulary, np.ndarray, np.ndarray]:
    """(vocabulary, train, held_out), the texts as ids (N,): 200,000 characters of tiny Shakespeare
    (public domain).
    """
    text = (folder_of_chapters() / "12b_text" / "shakespeare.txt").read_text(encoding="utf-8")
    vocabulary = CharacterVocabulary.learn(text)
    train, held_out = np.split(np.array(vocabulary.encode(text)), [int(TRAIN_SHARE * len(text))])
    return vocabulary, train, held_out


def mine() -> OwnText | None:
    """The text of the folder's my_text.txt; without it, or if nothing can be learned from it, None
    after one line that says so.
    """
    if not Path(FILE).exists():
        print(_("put a text of 100,000 characters into {file} and run this cell").format(file=FILE))
        return None
    try:
        found = own_text(FILE)
    except InputError as error:
        print(error)
        return None
    for remark in found.remarks:
        print(remark)
    return found


def windows(ids, count=80) -> np.ndarray:
    """(count, WINDOW): a text from its beginning, one window after the other; fewer if it is short."""
    count = min(count, len(ids) // WINDOW)
    return ids[: count * WINDOW].reshape(count, WINDOW)


def random_windows(ids) -> WindowBatches:
    """Batches of 12 windows from random places in a text, without end."""
    return WindowBatches(ids, WINDOW, 12, seed=0)


def predictor(model) -> Callable:
    """predict(ids) -> logits (T, V) of the language model, for ids (T,)."""
    return lambda ids: model.forward(ids[None])[0][0]


def saved(model, name) -> dict[int, list[float]]:
    """Give a model the weights at the end of a run that tutorials/saved_runs/train.py saved;
    returns {step: bits of the training text and of the held-out text}.
    """
    path = folder_of_chapters() / "saved_runs" / f"{name}.safetensors"
    load_weights(model, path)
    found = json.loads(WeightsFile(path).metadata["bits"])
    return {int(step): bits for step, bits in found.items()}


def show_bits(axes, found, levels=()) -> None:
    """Draw {step: bits of the training text and of the held-out text}, and dotted lines at
    `levels`, {what it is: bits}.
    """
    show_curves(
        axes,
        [*found],
        dict(zip(("training text", "held-out text"), zip(*found.values()))),
        "training step",
        "bits per character",
    )
    for name, level in dict(levels).items():
        axes.axhline(level, color="0.6", linestyle=":")
        axes.text(max(found), level, name, ha="right", va="bottom", color="0.4", fontsize=9)


def show_costs(axes, characters, bits) -> None:
    """Draw what each character of a text costs, the first one excepted."""
    axes.bar(range(1, len(characters)), bits, color="tab:gray")
    axes.set_xticks(
        range(len(characters)),
        ["¶" if one == "\n" else "␣" if one == " " else one for one in characters],
    )
    axes.set(xlabel="character of the text (␣ a space, ¶ the end of a line)", ylabel="bits")
