"""The record on Multi30K: models that train side by side, one thread each, and answer together.

    minitransformer data multi30k
    python benchmarks/multi30k_pair.py data/multi30k/tok FOLDER [--seeds 0 1]

FOLDER gets a run and a log for each seed. After Ctrl-C, or a closed lid, the same command goes on.
"""

import argparse
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "minitransformer"]


def files(text, part):
    """The source and the target file of a part of the corpus, plain or .gz."""
    return [next(text.glob(f"{part}.lc.norm.tok.{language}*")) for language in ("en", "de")]


def train(run, seed, steps, text):
    """The process that begins the run, or goes on with it."""
    begin = ["translate", "--preset", "multi30k", "--threads", "1", "--steps", str(steps), "--seed", str(seed), "--run", run,
             "--train", *files(text, "train"), "--valid", *files(text, "val")]
    with open(run.with_suffix(".log"), "a") as log:
        return subprocess.Popen([*COMMAND, "train", *(["--resume", run] if run.exists() else begin)],
                                stdout=log, stderr=log)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--steps", type=int, default=16000)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    runs = [args.folder / f"seed_{seed}" for seed in args.seeds]
    processes = [train(run, seed, args.steps, args.text) for run, seed in zip(runs, args.seeds)]
    try:
        failed = any([process.wait() for process in processes])
    except KeyboardInterrupt:
        failed = any([process.wait() for process in processes])    # each saves a checkpoint first
    if failed:
        sys.exit(f"not finished: see the logs in {args.folder}; the same command goes on")
    others = [word for run in runs[1:] for word in ("--ensemble", run)]
    subprocess.run([*COMMAND, "evaluate", runs[0], *others, "--tokenize", "none", "--test",
                    *files(args.text, "test_2016_flickr")], check=True)


if __name__ == "__main__":
    main()
