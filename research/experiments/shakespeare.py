"""Tiny Shakespeare at the budget of nanoGPT's CPU setting: windows of 64 characters, 2,000 updates
of 12 windows, no dropout.

    minitransformer data tinyshakespeare
    python research/experiments/shakespeare.py data/tinyshakespeare FOLDER
    research/experiments/shakespeare.json

FOLDER gets a run folder and a log for each training run, one for each learning rate, with one seed.
A run takes two minutes of one idle core; the recorded seconds are those of a core that many
programs shared.
"""

import argparse
from pathlib import Path

from side_by_side import Job, train_all

BUDGET = [
    "--window",
    "64",
    "--batch",
    "12",
    "--steps",
    "2000",
    "--dropout",
    "0",
]  # 1,536,000 characters are read
RATES = ["0.001", "0.002", "0.004", "0.008"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of train.txt and valid.txt")
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="where to put the runs and their logs"
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    args = parser.parse_args()
    files = ["--train", str(args.text / "train.txt"), "--valid", str(args.text / "valid.txt")]
    options = ["language", "--preset", "tinyshakespeare", *files, *BUDGET]
    train_all(
        [Job(rate, 0, [*options, "--peak-rate", rate], []) for rate in RATES],
        args.folder,
        args.results,
    )


if __name__ == "__main__":
    main()
