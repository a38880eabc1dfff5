"""The best result on Multi30K: models trained side by side, one thread each, and evaluated as an ensemble.

    minitransformer data multi30k
    python experiments/multi30k_pair.py data/multi30k/tok FOLDER [--seeds 0 1]

FOLDER gets a run folder and a log for each seed. After Ctrl-C or a closed lid, the same command resumes the runs.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

STEPS = 16000
COMMAND = [sys.executable, "-m", "minitransformer"]


def files(text, part) -> list[Path]:
    """The source and the target file of a part of the corpus, plain or .gz."""
    names = [f"{part}.lc.norm.tok.{language}" for language in ("en", "de")]
    found = [next(text.glob(f"{name}*"), None) for name in names]
    for name, file in zip(names, found):
        if file is None:
            complain(f"{text} has no {name}; `minitransformer data multi30k` writes it to data/multi30k/tok")
    return found


def train(run, seed, text) -> subprocess.Popen:
    """Start the training run, or resume it, and return its process."""
    begin = ["translate", "--preset", "multi30k", "--threads", "1", "--steps", str(STEPS), "--seed", str(seed),
             "--run", run, "--train", *files(text, "train"), "--valid", *files(text, "val")]
    with open(run.with_suffix(".log"), "a", encoding="utf-8") as log:
        return subprocess.Popen([*COMMAND, "train", *(["--resume", run] if run.exists() else begin)],
                                stdout=log, stderr=log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to put the runs and their logs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="default: 0 1")
    args = parser.parse_args()
    test = files(args.text, "test_2016_flickr")
    args.folder.mkdir(parents=True, exist_ok=True)
    runs = [args.folder / f"seed_{seed}" for seed in args.seeds]
    processes = [train(run, seed, args.text) for run, seed in zip(runs, args.seeds)]
    try:
        codes = [process.wait() for process in processes]
    except KeyboardInterrupt:
        codes = [process.wait() for process in processes]    # each saves a checkpoint first
    if code := max(codes, key=abs):    # below 0: killed
        complain(f"not finished: see the logs in {args.folder}; the same command resumes the runs", code)
    others = [word for run in runs[1:] for word in ("--ensemble", run)]
    sys.exit(subprocess.run([*COMMAND, "evaluate", runs[0], *others, "--tokenize", "none", "--test", *test]).returncode)


def complain(message, code=2) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
