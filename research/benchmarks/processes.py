"""Compare two processes with one thread each and two threads of one process: the same training
step, in turns.

Each contestant makes steps for a
moment while the other waits. Prints tokens per second of both, the median of the rounds' own ratios
(processes / threads), and the memory that a local helper takes for itself.
"""

import json
import math
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

from research.benchmarks.cases import CASES
from research.benchmarks.measure import PAUSE, THREADS, TURN, WARM_UP
from research.benchmarks.report import add_rounds, chosen_names

COUNT = 2  # threads, or processes


def contestant(name, kind) -> None:
    """Reads how many steps to make, answers with the seconds of one and a helper's memory; all
    processes make them.
    """
    from minitransformer import Adam, Threads, Transformer, training_step
    from research.benchmarks.cases import BETA1, BETA2, CLIP, EPSILON, LEARNING_RATE, SMOOTHING
    from minitransformer.speed.kernels import kernels_run
    from minitransformer.cores import one_blas_thread
    from minitransformer.speed.host import keep_freed_memory
    from minitransformer.speed.local import LocalProcesses
    from minitransformer.speed.processes import Processes

    keep_freed_memory()
    case = CASES[name]
    batch, model = case.batches()[0], Transformer(case.config())
    make: dict[str, Any] = {"threads": Threads, "local": LocalProcesses, "mpi": Processes}
    workers = make[kind](model, 1 if kind == "mpi" else COUNT)
    adam = Adam(model, BETA1, BETA2, EPSILON)
    steps = count(1)

    def step() -> None:
        training_step(model, adam, batch, LEARNING_RATE, (0, next(steps)), SMOOTHING, CLIP, workers)

    with kernels_run(), one_blas_thread:
        while kind == "local" and not workers.helped:
            step()
        while orders := _order(workers):
            since = time.perf_counter()
            for _ in range(orders):
                step()
            if workers.is_main:
                print(
                    json.dumps(((time.perf_counter() - since) / orders, _helpers_memory())),
                    flush=True,
                )


def _helpers_memory() -> int:
    """Megabytes that the child process, a local helper, does not share with us; 0 without one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return (
        sum(
            int(line.split()[1])
            for child in children
            for line in Path(f"/proc/{child}/status").read_text(encoding="ascii").splitlines()
            if line.startswith("RssAnon")
        )
        // 1024
    )


def _order(workers) -> int:
    """The next line of the main process's input, in all processes; the others sleep until then, and
    do not spin.
    """
    if workers.processes == 1:
        return int(sys.stdin.readline() or 0)
    from mpi4py import MPI

    if workers.is_main:
        order = int(sys.stdin.readline() or 0)
        for rank in range(1, workers.processes):
            MPI.COMM_WORLD.send(order, rank)
        return order
    while not MPI.COMM_WORLD.iprobe(0):
        time.sleep(0.001)
    return MPI.COMM_WORLD.recv(source=0)


def measure(case, rounds, kind) -> tuple[list, list, int]:
    """Seconds of a step, one for each round, with threads and with processes; and a helper's
    megabytes.
    """
    programs = [
        [
            *(["mpiexec", "-n", str(COUNT)] if one == "mpi" else []),
            sys.executable,
            "-m",
            "research.benchmarks.processes",
            case,
            one,
        ]
        for one in ("threads", kind)
    ]
    workers: list[Any] = [
        subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(THREADS, "1")},
        )
        for program in programs
    ]
    seconds = [[], []]
    for _ in range(WARM_UP + rounds):
        for worker, found in zip(workers, seconds):
            print(math.ceil(TURN / min(found, default=TURN)), file=worker.stdin, flush=True)
            turn, memory = json.loads(worker.stdout.readline())
            found.append(turn)
            time.sleep(PAUSE)
    for worker in workers:
        with suppress(BrokenPipeError):
            worker.communicate()
    return seconds[0][WARM_UP:], seconds[1][WARM_UP:], memory


def add_arguments(parser) -> None:
    add_rounds(parser, 15)
    parser.add_argument(
        "--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)"
    )
    parser.add_argument(
        "--kind",
        choices=("local", "mpi"),
        default="local",
        help="local processes, or those of mpiexec, which needs mpi4py and mpich (default: local)",
    )


def execute(args) -> None:
    names = chosen_names("--config", args.config, CASES)
    print(
        f"{'config':6} {f'{COUNT} threads':>12} {f'{COUNT} processes':>12}  ratio   helper   "
        f"(tokens/s; {args.kind}, {args.rounds} rounds)"
    )
    for name in names:
        threads, processes, memory = measure(name, args.rounds, args.kind)
        tokens = CASES[name].sentences * CASES[name].length
        ratio = median(map(truediv, threads, processes))
        print(
            f"{name:6} {tokens / median(threads):12,.0f} {tokens / median(processes):12,.0f} {ratio:6.2f} {memory:5} MB",
            flush=True,
        )


if __name__ == "__main__":
    contestant(*sys.argv[1:])
