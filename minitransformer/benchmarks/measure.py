"""Contestants take turns: whatever else the machine does hits them alike."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from tqdm import tqdm

WARM_UP = 2     # rounds: compilers compile in the first
TURN = 0.5      # seconds that a turn lasts at least: after a pause the first steps are slower
PAUSE = 0.1     # seconds between turns: for so long idle threads spin, waiting for more work (OpenBLAS: 26 ms)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
           "NPROC")    # the last is XLA's


class Measurement(NamedTuple):
    seconds: list                  # of a step, one for each round
    peak: int                      # bytes: the most memory held, above that after the imports
    failed: str | None             # why there is nothing else
    outputs: list | None = None    # of decoding: the ids of each sentence's output


def measure(case, contestants, threads, rounds, warm_up=WARM_UP) -> dict[str, Measurement]:
    """{contestant: Measurement}: in every round each makes steps for a moment, while the others wait."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, threads)) for name in contestants}
        for _ in tqdm(range(warm_up + rounds), "rounds", file=sys.stderr, disable=None, leave=False):
            for worker in workers.values():
                worker.take_turn()
                time.sleep(PAUSE)
        return {name: Measurement(worker.seconds[warm_up:], worker.peak, worker.failed, worker.outputs)
                for name, worker in workers.items()}


class Worker:
    """A process of worker.py, which ends with the `with` block, whatever happens in there."""

    def __init__(self, contestant, case, threads):
        self.seconds, self.peak, self.failed, self.outputs = [], 0, None, None
        self._process: Any = subprocess.Popen(    # with pipes
            [sys.executable, "-m", "minitransformer.benchmarks.worker", contestant, type(case).__name__,
             json.dumps(case), str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
            env={**os.environ, **dict.fromkeys(THREADS, str(threads))},
            start_new_session=True)    # Ctrl-C reaches us alone, and __exit__ what the worker has started, too

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        with suppress(ProcessLookupError, PermissionError):    # it has ended already; macOS says the latter
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def take_turn(self) -> None:
        """Make steps for at least TURN seconds, as the fastest turn so far lets expect; one at first."""
        if self.failed:
            return
        answer = self._ask(math.ceil(TURN / min(self.seconds, default=TURN)))
        self.failed = answer.get("failed")
        if not self.failed:
            self.seconds.append(answer["seconds"])
            self.peak, self.outputs = answer["peak"], answer.get("outputs")

    def _ask(self, steps) -> dict[str, Any]:
        with suppress(BrokenPipeError):
            print(steps, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer else {"failed": f"its process ended ({self._process.wait()})"}
