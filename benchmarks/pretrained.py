"""An imported model that writes, beside transformers on the same threads and the bandwidth of this machine's memory.

    python benchmarks/pretrained.py runs/smollm2 [ROUNDS [THREADS [MODEL.gguf]]]

Batch 1, float32, greedy, in turns: TOKENS tokens after a prompt, without the prompt's own time. Every token reads every weight
once, so no program can write faster than bandwidth / size; the bandwidth is that of finding the largest number of an array of that
size (NumPy's sum is slower than the memory), measured in the same turns. Prints medians. The last lines are of processes of their
own: the seconds and the peak memory of writing, and of importing MODEL.gguf, above a process that loads the package and all
kernels, but no model (`minitransformer info`). If one of them fails, its message ends the script.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

THREADS = sys.argv[3] if len(sys.argv) > 3 else "2"
os.environ.update(OMP_NUM_THREADS=THREADS, OPENBLAS_NUM_THREADS=THREADS, OMP_WAIT_POLICY="PASSIVE")    # no spinning
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "experiments")]

import numpy as np  # noqa: E402 - the numbers of threads come first

from minitransformer import Run, generate  # noqa: E402
from minitransformer.workers.threads import in_threads  # noqa: E402

TOKENS, PROMPT = 24, "Why is the sky blue? Because"


def ours(run, prompt) -> float:
    """Tokens per second."""
    ids = generate(run.model, prompt, TOKENS + 1, np.random.default_rng(0), top_k=1)
    next(ids)    # has read the prompt
    since = time.perf_counter()
    assert len(list(ids)) == TOKENS
    return TOKENS / (time.perf_counter() - since)


def theirs(model, prompt) -> float:
    import torch

    with torch.inference_mode():
        found = model(torch.tensor([prompt]), use_cache=True)
        since = time.perf_counter()
        for _ in range(TOKENS):
            found = model(found.logits[:, -1:].argmax(-1), past_key_values=found.past_key_values, use_cache=True)
    return TOKENS / (time.perf_counter() - since)


def bandwidth(array) -> float:
    """Bytes per second."""
    pieces = [(piece,) for piece in np.array_split(array, int(THREADS))]
    since = time.perf_counter()
    in_threads(np.max, pieces, int(THREADS))
    return array.nbytes / (time.perf_counter() - since)


def share_of_bound(rounds, size) -> float:
    """Our speed as a share of bandwidth / size, the median of the rounds' own: above 1, what was measured is no bound."""
    share = median(ours * size / read for ours, _, read in rounds)
    if share > 1:
        sys.exit(f"pretrained.py: the model wrote {share:.2f} times as fast as its {size / 1e6:.0f} MB were read: they fit into a "
                 "cache, or another program disturbed the reading")
    return share


def process(*command) -> tuple[float, float]:
    """(seconds, peak memory in MB) of a command of minitransformer in a process of its own."""
    code = ("import sys; from minitransformer.cli import main; code = main(sys.argv[1:]); code and sys.exit(code); "
            "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1], file=sys.stderr)")
    since = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *map(str, command)], cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"pretrained.py: `minitransformer {' '.join(map(str, command))}` failed: {done.stderr.strip()}")
    return time.perf_counter() - since, float(done.stderr.splitlines()[-1]) / 1024


def main(folder, rounds=7, threads=THREADS, gguf=None) -> None:
    import torch
    from pretrained import as_transformers

    run = Run.load(folder)
    model, prompt = as_transformers(run), run.vocabulary.encode(PROMPT)
    torch.set_num_threads(int(threads))
    size = sum(parameter.data.nbytes for parameter in run.model.parameters().values())
    array = np.ones(size // 4, np.float32)
    found = []
    for _ in range(int(rounds) + 1):    # the first one warms up
        found.append((ours(run, prompt), theirs(model, prompt), bandwidth(array)))
    speeds = [median(column) for column in zip(*found[1:])]
    bound, ratio = share_of_bound(found[1:], size), median(a / b for a, b, _ in found[1:])
    print(f"weights: {size / 1e6:.0f} MB; {threads} threads; medians of {rounds} rounds\n"
          f"minitransformer {speeds[0]:6.1f} tokens/s\ntransformers    {speeds[1]:6.1f} tokens/s\n"
          f"bandwidth       {speeds[2] / size:6.1f} tokens/s ({speeds[2] / 1e9:.1f} GB/s)\n"
          f"of the bandwidth's bound {bound:.2f}; of transformers' speed {ratio:.2f}")
    del run, model, array
    _, empty = process("info")
    with tempfile.TemporaryDirectory() as new:
        commands = {"write": ("generate", folder, PROMPT, "--tokens", TOKENS)}
        if gguf:
            commands["import"] = ("import", gguf, "--run", f"{new}/run")
        for name, command in commands.items():
            seconds, memory = process(*command)
            print(f"{name}: {seconds:.1f} s, {memory - empty:.0f} MB above a process without a model: "
                  f"{(memory - empty) * 2**20 / size:.2f} of the weights")


if __name__ == "__main__":
    main(*sys.argv[1:])
