"""One contestant, alone in its process.

    python -m minitransformer.benchmarks.worker torch Case '["toy", 64, 64, 16, {}]' 2
    python -m minitransformer.benchmarks.worker marianmt:64 Sentences '["runs/multi30k", ["test.en", "test.de"], 5]' 2

Behind a colon stands a setting of the contestant. Each line it reads is a number of steps to make; each line it answers
is a JSON object: the `seconds` of one step, the `peak` of memory so far and what the case reports, or how it `failed`.
It ends when its input does.
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

from minitransformer.benchmarks.cases import Case
from minitransformer.benchmarks.decoding.sentences import Sentences

KINDS = {kind.__name__: kind for kind in (Case, Sentences)}


def serve(contestant, case, threads, orders) -> Iterator[dict[str, Any]]:
    """Answers the lines of `orders`: a generator of dicts."""
    try:
        name, *setting = contestant.split(":")
        module = import_module(f"minitransformer.benchmarks.{case.modules()[name]}")
        imported = peak_memory()
        step = module.make_step(case, threads, *setting)
        for order in orders:
            steps = int(order)
            start = time.perf_counter()
            results = [step() for _ in range(steps)]
            seconds = (time.perf_counter() - start) / steps
            yield {"seconds": seconds, "peak": peak_memory() - imported, **case.report(results)}
    except Exception as error:    # whatever a library raises, the other contestants go on
        yield {"failed": textwrap.shorten(f"{type(error).__name__}: {error}", 200)}


def peak_memory() -> int:
    """The most memory this process has held so far, in bytes.

    Linux's ru_maxrss begins with what the parent held when it started this process, so there the process's own mark
    (VmHWM) is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0])
    import resource    # here: Windows has none

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(contestant, kind, case, threads) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)    # what the libraries print is no answer
    for answer in serve(contestant, KINDS[kind](*json.loads(case)), int(threads), sys.stdin):
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
