"""One library, alone in its process.

    python -m research.benchmarks.worker torch Case '["toy", 64, 64, 16]' 2
    python -m research.benchmarks.worker marianmt:64 Sentences '["runs/multi30k", ["test.en",
    "test.de"], 5]' 2

A setting of the library follows a colon. Each input line is a number of steps to make; each output
line is a JSON object: the `seconds` per step, the `peak` memory so far and whatever the case
reports, or why it `failed`. The worker ends when its input does.
"""

import json
import os
import sys
import textwrap
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from research.benchmarks.cases import Case
from research.benchmarks.sentences import Sentences
from minitransformer.speed.kernels import kernels_run

# for each kind of case and each library: the module in contestants/ with make_step(case, threads,
# *setting)
MODULES = {
    Case: {
        "minitransformer": "our_step",
        "torch": "torch_eager",
        "torch.compile": "torch_compiled",
        "jax": "jax_jit",
        "matmul": "matmul",
    },
    Sentences: {
        "minitransformer": "our_search",
        "marianmt": "marian",
        "ctranslate2": "ctranslate2_float32",
    },
}


def serve(contestant, case, threads, orders) -> Iterator[dict[str, Any]]:
    """Yield a dict for each line of `orders`."""
    try:
        name, *setting = contestant.split(":")
        module = import_module(f"research.benchmarks.contestants.{MODULES[type(case)][name]}")
        imported = peak_memory()
        step = module.make_step(case, threads, *setting)
        for order in orders:
            steps = int(order)
            start = time.perf_counter()
            results = [step() for _ in range(steps)]
            seconds = (time.perf_counter() - start) / steps
            yield {"seconds": seconds, "peak": peak_memory() - imported, **case.report(results)}
    except Exception as error:  # whatever a library raises, the other libraries continue
        yield {"failed": textwrap.shorten(f"{type(error).__name__}: {error}", 200)}


def peak_memory() -> int:
    """The peak memory of this process so far, in bytes, and the memory that its helpers have for
    themselves.

    Linux's ru_maxrss starts with the memory of the parent when it started this process, so on Linux
    the process's own high-water mark (VmHWM) is read.
    """
    if Path("/proc/self/status").exists():
        children = Path(f"/proc/self/task/{os.getpid()}/children")  # some kernels do not have it
        helpers = children.read_text(encoding="ascii").split() if children.exists() else []
        return _status("self", "VmHWM") + sum(_status(helper, "RssAnon") for helper in helpers)
    import resource  # here: Windows lacks it

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(process, name) -> int:
    """Bytes."""
    return 1024 * int(
        Path(f"/proc/{process}/status")
        .read_text(encoding="utf-8")
        .partition(f"{name}:")[2]
        .split()[0]
    )


def main(contestant, name, case, threads) -> None:
    kind = next(kind for kind in MODULES if kind.__name__ == name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps what the libraries print out of the answers
    with kernels_run():
        for answer in serve(contestant, kind(*json.loads(case)), int(threads), sys.stdin):
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
