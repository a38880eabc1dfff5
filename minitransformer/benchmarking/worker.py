"""One contestant, alone in its process.

    python -m minitransformer.benchmarking.worker torch '["toy", 64, 64, 16, {}]' 2

Each line it reads is a number of training steps to make; each line it answers is a JSON object: the `seconds` of one
step and the `peak` of memory so far, or how it `failed`. It ends when its input does.
"""

import json
import math
import os
import re
import resource
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path

from minitransformer.benchmarking.cases import Case

# Each has a module here whose make_step(case, threads) gives a function that makes one step.
CONTESTANTS = {"minitransformer": "ours", "torch": "torch_eager", "torch.compile": "torch_compiled", "jax": "jax_jit",
               "matmul": "matmul"}


def serve(contestant, case, threads, orders):
    """Answers the lines of `orders`: a generator of dicts."""
    try:
        module = import_module(f"minitransformer.benchmarking.{CONTESTANTS[contestant]}")
        imported = peak_memory()
        step = module.make_step(case, threads)
        for order in orders:
            steps = int(order)
            start = time.perf_counter()
            losses = [step() for _ in range(steps)]
            seconds = (time.perf_counter() - start) / steps
            if not all(map(math.isfinite, losses)):
                raise FloatingPointError("the loss is not a number")
            yield {"seconds": seconds, "peak": peak_memory() - imported}
    except Exception as error:    # whatever a library raises, the other contestants go on
        yield {"failed": textwrap.shorten(f"{type(error).__name__}: {error}", 200)}


def peak_memory():
    """The most memory this process has held so far, in bytes.

    Linux's ru_maxrss begins with what the parent held when it started this process, so there the process's own mark
    (VmHWM) is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(contestant, case, threads):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)    # what the libraries print is no answer
    for answer in serve(contestant, Case(*json.loads(case)), int(threads), sys.stdin):
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
