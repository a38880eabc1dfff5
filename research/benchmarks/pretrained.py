"""Measure an imported model that writes, beside transformers on the same threads and the bandwidth
of this machine's memory.

Batch 1, float32, greedy, in turns: TOKENS tokens after a prompt, without the prompt's own time.
Every token reads every weight once, so no program can write faster than bandwidth / size; the
bandwidth is that of finding the largest number of an array of that size (NumPy's sum is slower than
the memory), measured in the same turns. Prints medians. The last lines are of processes of their
own: the seconds and the peak memory of writing, and of importing the --gguf file, above a process
that loads the package and all kernels, but no model (`minitransformer gradcheck linear`). If one of
them fails, its message ends the script.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from research.benchmarks.report import add_rounds, add_threads
from minitransformer.errors import InputError
from minitransformer.extras import require

ROOT = Path(__file__).parents[1]
TOKENS, PROMPT = 24, "Why is the sky blue? Because"


def ours(run, prompt) -> float:
    """Tokens per second."""
    import numpy as np
    from minitransformer import generate

    ids = generate(run.model, prompt, TOKENS + 1, np.random.default_rng(0), top_k=1)
    next(ids)  # has read the prompt
    since = time.perf_counter()
    assert len(list(ids)) == TOKENS
    return TOKENS / (time.perf_counter() - since)


def theirs(model, prompt) -> float:
    import torch

    with torch.inference_mode():
        found = model(torch.tensor([prompt]), use_cache=True)
        since = time.perf_counter()
        for _ in range(TOKENS):
            found = model(
                found.logits[:, -1:].argmax(-1),
                past_key_values=found.past_key_values,
                use_cache=True,
            )
    return TOKENS / (time.perf_counter() - since)


def bandwidth(array, threads) -> float:
    """Bytes per second."""
    import numpy as np
    from minitransformer.cores import in_threads

    pieces = [(piece,) for piece in np.array_split(array, threads)]
    since = time.perf_counter()
    in_threads(np.max, pieces, threads)
    return array.nbytes / (time.perf_counter() - since)


def share_of_bound(rounds, size) -> float:
    """Our speed as a share of bandwidth / size, the median of the rounds' own: above 1, what was
    measured is no bound.
    """
    share = median(ours * size / read for ours, _, read in rounds)
    if share > 1:
        raise InputError(
            f"the model wrote {share:.2f} times as fast as its {size / 1e6:.0f} MB were read: they fit into "
            "a cache, or another program disturbed the reading"
        )
    return share


def process(*command) -> tuple[float, float]:
    """(seconds, peak memory in MB) of a command of minitransformer in a process of its own."""
    code = (
        "import sys; from minitransformer.cli import main; code = main(sys.argv[1:]); code and sys.exit(code); "
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1], file=sys.stderr)"
    )
    since = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise InputError(
            f"`minitransformer {' '.join(map(str, command))}` failed: {done.stderr.strip()}"
        )
    return time.perf_counter() - since, float(done.stderr.splitlines()[-1]) / 1024


def add_arguments(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer import wrote")
    parser.add_argument("--gguf", metavar="FILE.gguf", help="also measure the import of this file")
    add_rounds(parser, 7)
    add_threads(parser)


def execute(args) -> None:
    # Before NumPy is loaded; PASSIVE: no spinning.
    os.environ.update(
        OMP_NUM_THREADS=str(args.threads),
        OPENBLAS_NUM_THREADS=str(args.threads),
        OMP_WAIT_POLICY="PASSIVE",
    )
    import numpy as np
    from research.experiments.pretrained import as_transformers
    from minitransformer import Run

    torch = require("torch")
    run = Run.load(args.run)
    model, prompt = as_transformers(run), run.vocabulary.encode(PROMPT)
    torch.set_num_threads(args.threads)
    size = sum(parameter.data.nbytes for parameter in run.model.parameters().values())
    array = np.ones(size // 4, np.float32)
    found = []
    for _ in range(args.rounds + 1):  # the first one warms up
        found.append((ours(run, prompt), theirs(model, prompt), bandwidth(array, args.threads)))
    speeds = [median(column) for column in zip(*found[1:])]
    bound, ratio = share_of_bound(found[1:], size), median(a / b for a, b, _ in found[1:])
    print(
        f"weights: {size / 1e6:.0f} MB; {args.threads} threads; medians of {args.rounds} rounds\n"
        f"minitransformer {speeds[0]:6.1f} tokens/s\ntransformers    {speeds[1]:6.1f} tokens/s\n"
        f"bandwidth       {speeds[2] / size:6.1f} tokens/s ({speeds[2] / 1e9:.1f} GB/s)\n"
        f"of the bandwidth's bound {bound:.2f}; of transformers' speed {ratio:.2f}"
    )
    del run, model, array
    _, empty = process("gradcheck", "linear")
    with tempfile.TemporaryDirectory() as new:
        commands = {"write": ["generate", args.run, PROMPT, "--max-length", TOKENS]}
        if args.gguf:
            commands["import"] = ["import", args.gguf, "--run", f"{new}/run"]
        for name, command in commands.items():
            seconds, memory = process(*command)
            print(
                f"{name}: {seconds:.1f} s, {memory - empty:.0f} MB above a process without a model: "
                f"{(memory - empty) * 2**20 / size:.2f} of the weights"
            )
