"""One contestant, alone in its process.

    python -m minitransformer.benchmarks.worker torch Case '["toy", 64, 64, 16, {}]' 2
    python -m minitransformer.benchmarks.worker marianmt:64 Sentences '["runs/multi30k", ["test.en", "test.de"], 5]' 2

Behind a colon stands a setting of the contestant. Each line it reads is a number of steps to make; each line it answers
is a JSON object: the `seconds` of one step, the `peak` of memory so far and what the case reports, or how it `failed`.
It ends when its input does.
"""

import json
import os
import re
import resource
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path

from minitransformer.benchmarks.cases import Case
from minitransformer.benchmarks.decoding.sentences import Sentences

KINDS = {kind.__name__: kind for kind in (Case, Sentences)}


def serve(contestant, case, threads, orders):
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


def peak_memory():
    """The most memory this process has held so far, in bytes.

    Linux's ru_maxrss begins with what the parent held when it started this process, so there the process's own mark
    (VmHWM) is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(contestant, kind, case, threads):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)    # what the libraries print is no answer
    for answer in serve(contestant, KINDS[kind](*json.loads(case)), int(threads), sys.stdin):
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
