"""Is your own training loop as fast as the command? training_step and README's five lines against
train(), in turns.

All train the copy task's model on the same batches: `train` as the command runs it, the others
inside `with fast():`. Each runs in its own process and makes steps for a moment while the others
wait; a ratio is the median over the rounds. First on an idle machine, then beside a process that
keeps one core busy. Prints steps per second, and the ratios to `train` with the same number of
threads, which should be at least 0.9.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from research.benchmarks.report import add_rounds

TURN = 1.0  # seconds
WARM_UP = 2  # rounds
MODES = ("alone", "beside other work")


def turns(batches) -> Iterator[Any]:
    """Yield `batches` for the length of a turn, then print the speed and wait for the next turn."""
    for _ in sys.stdin:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < TURN:
            yield next(batches)
            steps += 1
        print(json.dumps(steps / (time.perf_counter() - start)), flush=True)


def contestant(name, threads) -> None:
    from minitransformer import (
        PAD,
        Adam,
        Run,
        Threads,
        TrainingConfig,
        Transformer,
        TransformerConfig,
        cross_entropy_backward,
        cross_entropy_forward,
        fast,
        train,
        training_step,
    )
    from minitransformer.data.drawn import DrawnBatches
    from minitransformer.speed.host import keep_freed_memory
    from minitransformer.tasks import TASKS

    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(TransformerConfig.named("toy", vocabulary.size))
    batches = turns(DrawnBatches(task, task.batch, 0))
    if name == "train":
        keep_freed_memory()
        run = Run.create(Path(tempfile.mkdtemp()) / "run", task, model, vocabulary)
        with suppress(ValueError):  # InputError: the batches end with the last turn
            train(
                run,
                TrainingConfig(steps=10**6, warmup=50, validate_every=10**6, threads=threads),
                batches,
                [],
            )
        return
    adam = Adam(model)
    with fast():
        if name == "training_step":
            workers = Threads(model, threads)
            for step, batch in enumerate(batches):
                training_step(model, adam, batch, 1e-4, (0, step), 0.1, 1.0, workers)
        else:
            for batch in batches:
                model.zero_grad()
                logits, cache = model.forward(batch.source, batch.target)
                loss, loss_cache = cross_entropy_forward(
                    logits, batch.next_target, smoothing=0.1, padding=PAD
                )
                model.backward(cross_entropy_backward(1 / batch.terms, loss_cache), cache)
                adam.step(1e-4, clip=1.0)


def add_arguments(parser) -> None:
    add_rounds(parser, 15)


def execute(args) -> None:
    from minitransformer.runs.config import default_threads

    threads = default_threads()
    names = list(
        dict.fromkeys(
            [
                ("train", threads),
                ("training_step", threads),
                ("train", 1),
                ("training_step", 1),
                ("five lines", 1),
            ]
        )
    )
    workers: dict[tuple[str, int], Any] = {
        (name, count): subprocess.Popen(
            [sys.executable, "-m", "research.benchmarks.own_loop", name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        for name, count in names
    }
    for mode in MODES:
        busy = (
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            if mode != MODES[0]
            else None
        )
        speeds = {worker: [] for worker in workers}
        for _ in range(WARM_UP + args.rounds):
            for worker, process in workers.items():
                print(file=process.stdin, flush=True)
                speeds[worker].append(json.loads(process.stdout.readline()))
        if busy:
            busy.kill()
        print(f"{mode}, {args.rounds} rounds")
        for (name, count), found in speeds.items():
            found, reference = found[WARM_UP:], speeds["train", count][WARM_UP:]
            ratio = median(one / other for one, other in zip(found, reference))
            print(
                f"  {name:14} {count} threads {median(found):8.1f} steps/s {ratio:6.2f}", flush=True
            )
    for process in workers.values():
        process.communicate()


if __name__ == "__main__":
    contestant(sys.argv[1], int(sys.argv[2]))
