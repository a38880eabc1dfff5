"""Measure all that needs a GPU, in one call: the parity tests, a run of the copy task, and a
training step beside PyTorch.

Prints tables of tokens per second and writes them to gpu.txt. Ratios are ours / theirs, the medians
of the rounds' own. All read the loss after each step, in float32 without TF32. The second table is
ours alone, with larger batches; its last line is the base model with the paper's batch and
vocabulary (28 GB). Exit code 1 if a parity test or the copy run fails, 2 without a GPU. Needs the
extras gpu, test and bench, and a PyTorch that was built for the GPU.
"""

import subprocess
import sys
import tempfile
import time
from operator import truediv
from pathlib import Path
from statistics import median

from research.benchmarks.cases import CASES, Case
from research.benchmarks.measure import measure
from research.benchmarks.report import add_rounds
from minitransformer.backend import get_module
from minitransformer.errors import InputError

ROOT = Path(__file__).parents[1]
OURS, PEERS = "minitransformer:cupy", ("torch:cuda", "torch.compile:cuda")
ALONE = {
    **{
        f"tiny, {24 * sentences:,}": CASES["tiny"]._replace(sentences=sentences)
        for sentences in (42, 170, 680, 2720)
    },
    "paper": Case("base", 37_000, 780, 32),
}  # 24,960 tokens in the sources, as many in the targets


def add_arguments(parser) -> None:
    add_rounds(parser, 7)


def execute(args) -> int:
    try:
        cupy = get_module("cupy")
    except InputError as error:
        raise InputError(f"no GPU to measure on. {error}".partition(". Use --backend")[0]) from None
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "gpu", "tests/library/gpu", "-q"], cwd=ROOT
    ).returncode
    since = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = subprocess.run(
            [
                sys.executable,
                "-m",
                "minitransformer",
                "train",
                "copy",
                "--backend",
                "cupy",
                "--run",
                f"{folder}/run",
            ]
        )
    text = "\n".join(
        [
            cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
            f"parity tests: {'failed' if tests else 'passed'}",
            f"copy run: {'failed' if copy.returncode else f'{time.perf_counter() - since:.1f} s'}",
            *table(CASES, OURS, PEERS, args.rounds),
            *table(ALONE, OURS, (), args.rounds),
        ]
    )
    print(text)
    Path("gpu.txt").write_text(f"{text}\n", encoding="utf-8")
    return int(bool(tests or copy.returncode))


def table(cases, ours, peers, rounds) -> list[str]:
    """Lines of tokens per second and ratios, for contestants such as "torch:cuda" in turns."""
    lines = [f"{'config':12} {'':20} {'tokens/s':>12} {'ratio':>6}"]
    for name, case in cases.items():
        measured = measure(case, (ours, *peers), 1, rounds)
        for contestant, found in measured.items():
            if found.failed:
                lines.append(f"{name:12} {contestant:20} failed: {found.failed}")
                continue
            speed = case.sentences * case.length / median(found.seconds)
            both = contestant != ours and not measured[ours].failed
            ratio = (
                f"{median(map(truediv, found.seconds, measured[ours].seconds)):6.2f}"
                if both
                else ""
            )
            lines.append(f"{name:12} {contestant:20} {speed:12,.0f} {ratio}".rstrip())
    return lines
