"""Table 3 of the paper in miniature: one choice of the model changed at a time, on Multi30K and on a toy task.

    minitransformer data multi30k
    python experiments/table_3.py data/multi30k/tok FOLDER experiments/table_3.json

FOLDER gets a run folder and a log for each training run. The same command resumes what was stopped, and --seeds adds seeds.
"""

import argparse
from pathlib import Path

from side_by_side import Job, multi30k, train_all

BASE = ["--config", "tiny", "--num-layers", "2", "--d-ff", "512"]    # 2 layers of width 128, 4 heads
TASKS = {
    "translate": ["--steps", "2500", "--batch", "1024", "--vocab-size", "4000", "--validate-every", "2500",
                  "--schedule", "inverse-sqrt", "--peak-rate", "0.002", "--warmup", "500", "--cooldown", "0.5"],
    "sort": ["--steps", "800", "--validate-every", "800"],
}
ROWS = {
    "base": [],
    "A heads 1": ["--num-heads", "1"],
    "A heads 2": ["--num-heads", "2"],
    "A heads 8": ["--num-heads", "8"],
    "A heads 16": ["--num-heads", "16"],
    "B d_k 8": ["--d-k", "8"],
    "B d_k 16": ["--d-k", "16"],
    "C layers 1": ["--num-layers", "1"],
    "C layers 4": ["--num-layers", "4"],
    "C d_model 64": ["--d-model", "64"],
    "C d_model 256": ["--d-model", "256"],
    "C d_ff 256": ["--d-ff", "256"],
    "C d_ff 1024": ["--d-ff", "1024"],
    "D dropout 0.0": ["--dropout", "0.0"],
    "D dropout 0.2": ["--dropout", "0.2"],
    "D smoothing 0.0": ["--smoothing", "0.0"],
    "D smoothing 0.2": ["--smoothing", "0.2"],
    "E learned positions": ["--positions", "learned"],
    "pre-norm": ["--pre-norm"],
    "unscaled attention": ["--attention", "unscaled"],
    "additive attention": ["--attention", "additive"],
    "restricted attention": ["--attention", "restricted", "--radius", "4"],
}
BASE_SEEDS = 3


def jobs(text, seeds) -> list[Job]:
    """The base with three seeds, then every row once, then further seeds."""
    order = [("base", seed) for seed in range(BASE_SEEDS)]
    order += [(row, seed) for seed in range(seeds) for row in ROWS if (row, seed) not in order]
    given = {"translate": (multi30k(text), ["--tokenize", "none"]), "sort": ([], [])}
    return [Job(f"{task}: {row}", seed, [task, *BASE, *options, *ROWS[row], *given[task][0]], given[task][1])
            for row, seed in order for task, options in TASKS.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to put the runs and their logs")
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("--seeds", type=int, default=1, help="of every row (default: 1)")
    args = parser.parse_args()
    train_all(jobs(args.text, args.seeds), args.folder, args.results)


if __name__ == "__main__":
    main()
