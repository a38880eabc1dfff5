"""How many heads does a task need? Copying letters and adding neighbouring digits, with one to
sixteen heads.

    python research/experiments/heads.py research/experiments/heads.json

Every model is a Transformer with one layer in each stack and d_model 64, whatever its number of
heads, so all have the same number of parameters. The accuracy is that of words that were held out.
Rounding differs between machines, and over some hundred steps it grows: expect other numbers and
the same picture. Takes about two minutes.
"""

import argparse
from pathlib import Path

from side_by_side import read, write

from minitransformer import make_batch
from minitransformer.data.drawn import draw_held_out
from minitransformer_course import lab
from minitransformer_course.judge.plug import COPY, train

HEADS, SEEDS, WORDS = (1, 2, 4, 16), (0, 1, 2), 500
STEPS = {"copy": (COPY, 150), "add neighbours": (lab.AddNeighbours(), 1000)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    args = parser.parse_args()
    results = read(args.results)
    for name, (task, steps) in STEPS.items():
        unseen = make_batch(draw_held_out(task, WORDS))
        for num_heads in HEADS:
            key = f"{name} / {num_heads} heads"
            if key not in results:
                models = [
                    train(task=task, steps=steps, seed=seed, num_heads=num_heads).model
                    for seed in SEEDS
                ]
                results[key] = [round(lab.accuracy(model, unseen), 3) for model in models]
                write(args.results, results)
            print(f"{key:26}", "  ".join(f"{share:6.1%}" for share in results[key]), flush=True)


if __name__ == "__main__":
    main()
