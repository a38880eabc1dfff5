"""The libraries take turns, so that other work on the machine affects them equally."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tqdm import tqdm

from minitransformer.errors import InputError

WARM_UP = 2  # rounds: compilers run in the first one
TURN = 0.5  # minimum length of a turn in seconds: after a pause, the first steps are slower
# seconds between turns: idle threads spin for a while, waiting for more work (OpenBLAS: 26 ms)
PAUSE = 0.1
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)  # the last is XLA's


class Measurement(NamedTuple):
    seconds: list  # seconds per step, one for each round
    peak: int  # bytes: the peak memory, beyond that after the imports
    failed: str | None  # why there is no measurement
    outputs: list | None = None  # for decoding: the ids of each sentence's output


def succeeded(measurement, what) -> Measurement:
    """The measurement; raises InputError if it failed."""
    if measurement.failed:
        raise InputError(f"{what} failed: {measurement.failed}")
    return measurement


def measure(case, contestants, threads, rounds, warm_up=WARM_UP) -> dict[str, Measurement]:
    """{library: Measurement}: in every round, each one makes steps for a moment while the others
    wait.
    """
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, threads)) for name in contestants}
        for _ in tqdm(
            range(warm_up + rounds), "rounds", file=sys.stderr, disable=None, leave=False
        ):
            for worker in workers.values():
                worker.take_turn()
                time.sleep(PAUSE)
        return {
            name: Measurement(worker.seconds[warm_up:], worker.peak, worker.failed, worker.outputs)
            for name, worker in workers.items()
        }


def against_peers(measured, numbers) -> dict[str, Any]:
    """minitransformer's numbers, and each peer's under "peers"; numbers(Measurement) -> {name:
    number}.

    Each ratio is minitransformer's number / the peer's; that of the speeds is the median of the
    rounds' ratios. For a peer that failed, there is only the reason. Raises InputError if
    minitransformer itself failed.
    """
    ours = succeeded(measured["minitransformer"], "minitransformer")

    def peer_numbers(peer) -> dict[str, Any]:
        if peer.failed:
            return {"failed": peer.failed}
        return {
            **numbers(peer),
            "peak_memory_bytes": peer.peak,
            "ratio": median(map(truediv, peer.seconds, ours.seconds)),
            "peak_memory_ratio": ours.peak / peer.peak,
        }

    return {
        **numbers(ours),
        "peak_memory_bytes": ours.peak,
        "peers": {
            name: peer_numbers(peer) for name, peer in measured.items() if name != "minitransformer"
        },
    }


class Worker:
    """A process that runs worker.py; it always ends with the `with` block."""

    def __init__(self, contestant, case, threads):
        self.seconds, self.peak, self.failed, self.outputs = [], 0, None, None
        self._process: Any = subprocess.Popen(  # with pipes
            [
                sys.executable,
                "-m",
                "research.benchmarks.worker",
                contestant,
                type(case).__name__,
                json.dumps(case),
                str(threads),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(THREADS, str(threads))},
            start_new_session=True,
        )  # Ctrl-C reaches only us, and __exit__ also reaches what the worker has started

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        with suppress(
            ProcessLookupError, PermissionError
        ):  # it has already ended; macOS raises the latter
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def take_turn(self) -> None:
        """Make steps for at least TURN seconds, estimated from the fastest turn so far; at first,
        make one.
        """
        if self.failed:
            return
        with suppress(BrokenPipeError):
            print(
                math.ceil(TURN / min(self.seconds, default=TURN)),
                file=self._process.stdin,
                flush=True,
            )
        line = self._process.stdout.readline()
        answer: dict[str, Any] = (
            json.loads(line) if line else {"failed": f"its process ended ({self._process.wait()})"}
        )
        self.failed = answer.get("failed")
        if not self.failed:
            self.seconds.append(answer["seconds"])
            self.peak, self.outputs = answer["peak"], answer.get("outputs")


class OtherWork:
    """From its creation on, measures the work of all processes that we did not start.

    Other programs do not slow all libraries equally: threads that share an operation wait at its
    end for the slowest of them. On a machine with one busy core, PyTorch's steps of the copy task
    took a hundred times as long, and ours twice as long.
    """

    def __init__(self):
        self._start, self._others = time.perf_counter(), others_seconds()

    def cores(self) -> float | None:
        """The number of cores they have kept busy on average; None without /proc."""
        others = others_seconds()
        if others is None or self._others is None:
            return None
        return max(0.0, others - self._others) / (time.perf_counter() - self._start)


def others_seconds() -> float | None:
    """Seconds of CPU time since the machine started, without ours and our finished children's; None
    without /proc.
    """
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _waiting, irq, softirq, steal = map(
        int, stat.read_text(encoding="utf-8").split()[1:9]
    )
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])
