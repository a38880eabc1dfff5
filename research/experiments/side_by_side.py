"""Training runs, two side by side with one thread each, whose results are collected in one JSON
file.

Whatever stops the script, the same command resumes it: finished runs are not repeated, unfinished
ones resume from their newest checkpoint.
"""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

COMMAND = [sys.executable, "-m", "minitransformer"]
SIDE_BY_SIDE = 2


class Job(NamedTuple):
    """One training run: `minitransformer train TASK OPTIONS --seed SEED`, and `evaluate` with
    `measure`.
    """

    name: str  # of its result, without the seed
    seed: int
    train: list[str]
    measure: list[str]

    @property
    def key(self) -> str:
        return f"{self.name} / {self.seed}"


def train_all(jobs, folder, results_file) -> dict[str, Any]:
    """{key: result} of all jobs, begun in the order of the list. Each has a run folder and a log in
    `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results, lock = read(results_file), Lock()

    def work(job) -> None:
        result = _train(job, folder / re.sub(r"\W+", "_", job.key))
        with lock:
            results[job.key] = result
            write(results_file, results)
            print(job.key, result, flush=True)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for done in [pool.submit(work, job) for job in jobs if job.key not in results]:
            done.result()
    return results


def read(results_file) -> dict[str, Any]:
    return json.loads(results_file.read_text(encoding="utf-8")) if results_file.exists() else {}


def write(results_file, results) -> None:
    """One line for each result; a script that is killed meanwhile leaves the old file or the new
    one.
    """
    text = ",\n".join(f" {json.dumps(key)}: {json.dumps(results[key])}" for key in sorted(results))
    new = results_file.with_suffix(".new")
    new.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    new.replace(results_file)


def _train(job, run) -> dict[str, Any]:
    """What `evaluate` measures of the finished run, and how the training ended."""
    begin = [*job.train, "--threads", "1", "--seed", str(job.seed), "--run", run]
    with open(run.with_suffix(".log"), "a", encoding="utf-8") as log:
        subprocess.run(
            [*COMMAND, "train", *(["--resume", run] if run.exists() else begin)],
            stdout=log,
            stderr=log,
            check=True,
        )
        measured = subprocess.run(
            [*COMMAND, "evaluate", run, "--json", *job.measure],
            stdout=subprocess.PIPE,
            stderr=log,
            check=True,
            encoding="utf-8",
        )
    *_, last = (
        (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    )  # of the last validation
    last = json.loads(last)
    return {
        **json.loads(measured.stdout),
        "valid_perplexity": last["valid_perplexity"],
        "training_seconds": last["seconds"],
        "parameters": _parameters(run),
    }


def _parameters(run) -> int:
    from minitransformer.runs.run import Run

    return Run.load(run).model.num_parameters()


def files(text, part) -> list[str]:
    """The English and the German file of a part of the tokenised Multi30K in the folder `text`,
    plain or .gz.
    """
    found = []
    for language in ("en", "de"):
        name = f"{part}.lc.norm.tok.{language}"
        path = next(Path(text).glob(f"{name}*"), None)
        if path is None:
            print(
                f"{text} has no {name}; `minitransformer data multi30k` writes it to data/multi30k/tok",
                file=sys.stderr,
            )
            sys.exit(2)
        found.append(str(path))
    return found


def multi30k(text) -> list[str]:
    return ["--train", *files(text, "train"), "--valid", *files(text, "val")]
