"""Save beside this file what the long training runs of chapters 12b and 13c end with.

    python tutorials/saved_runs/train.py

The runs are those of the two pages, with the functions of their cells. They take about 3 minutes
of one core. The weights in the files are float16.
"""

import json
from contextlib import suppress
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from safetensors.numpy import save_file

from minitransformer import LanguageModel, fast
from minitransformer_course.judge import cells
from minitransformer_course.judge.course import find_chapter

HERE = Path(__file__).parent
SEEDS = range(3)


def main() -> None:
    learns, teaches = page("12b", {"learn"}), page("13c", {"teach", "practise"})
    with fast():
        text(learns, "shakespeare", learns["train"], 2000)
        text(learns, "parrot", learns["train"][:3000], 800)
        teach, practise = teaches["teach"], teaches["practise"]
        found = {
            "detours, answers": [(None, teach(seed)[1]) for seed in SEEDS],
            "detours, everything": [(None, teach(seed, answers_only=False)[1]) for seed in SEEDS],
            "all weights, answers": [(None, teach(seed, rank=0)[1]) for seed in SEEDS],
            "R alone": [practise(seed, beta=0.0) for seed in SEEDS],
            "R and the penalty": [practise(seed, beta=0.05) for seed in SEEDS],
        }
    (HERE / "teaching.json").write_text(as_json(found) + "\n", encoding="utf-8")


def page(number, wanted) -> dict:
    """The names of a chapter's page, run until it has defined the functions `wanted`, without the
    cells that need a file of this folder, or a name of such a cell.
    """
    chapter = find_chapter(number)
    names = {exercise.name: exercise.reference for exercise in chapter.exercises}
    for cell in cells.parse(chapter.text):
        if cell.kind == "code" and not wanted <= names.keys() and "taught" not in cell.source:
            with suppress(NameError):
                exec(cell.source, names)
    plt.close("all")
    return names


def text(names, name, read, steps) -> None:
    """Save the run of 12b's model on a text: its weights, and what a character costs on the way."""
    model = LanguageModel(names["config"])
    bits = names["learn"](model, read, steps)
    half = {name: one.data.astype(np.float16) for name, one in model.parameters().items()}
    save_file(half, HERE / f"{name}.safetensors", {"bits": as_json(bits)})


def as_json(found) -> str:
    return json.dumps(found, default=lambda one: np.asarray(one, float).round(4).tolist())


if __name__ == "__main__":
    main()
