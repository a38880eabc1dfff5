"""What test_processes.py starts with mpiexec: python -m tests.library.training.processes_program
FOLDER.

Trains three times, in float64; process 0 prints as JSON the losses of the log, checksums of each
process's weights, and those of sums to which the processes come in any order.
"""

import json
import random
import sys
import time
from pathlib import Path
from zlib import crc32

import numpy as np

from minitransformer import Run, TrainingConfig, Transformer, TransformerConfig, train
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.tasks.evaluation import exact_match, pair_batches
from minitransformer.layers import Linear
from minitransformer.speed.processes import Job
from minitransformer.tasks import TASKS
from tests.helpers.runs import losses

CONFIG = TrainingConfig(
    steps=12, warmup=4, validate_every=5, average=2, accumulate=2, seed=3, threads=1
)


def trained(folder, dropout, job):
    """(the run, the float64 weights that it ends with); `folder` is the main process's."""
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(
        TransformerConfig.named("toy", vocabulary.size, dropout=dropout, d_model=16, d_ff=16), 1
    )
    job.together(lambda: job.is_main and Run.create(folder, task, model, vocabulary))
    run, held_out = Run.open(folder), draw_held_out(task, 150)
    run.model = run.model.astype(np.float64)
    train(
        run,
        CONFIG,
        DrawnBatches(task, 7, 0),
        pair_batches(held_out),
        lambda model: {"exact": exact_match(model, held_out, threads=1)},
        make_workers=job.workers,
    )
    return run, run.model.flat.data


def sums(job, size):
    """Checksums of the same sum, made again and again."""
    workers = job.workers(Linear(2, 2, np.random.default_rng(0)))
    found = []
    for _ in range(5):
        vector = np.random.default_rng(job.rank).standard_normal(size, np.float32)
        time.sleep(random.uniform(0, 0.01))  # another in each process
        workers.sum(vector)
        found.append(crc32(vector.data))
    return found


if __name__ == "__main__":
    job, folder = Job(), Path(sys.argv[1])
    runs = [trained(folder / f"dropout {dropout}", dropout, job) for dropout in (0.0, 0.3)]
    _, again = trained(folder / "again", 0.3, job)
    checksums = job.gather([crc32(weights.data) for weights in (runs[0][1], runs[1][1], again)])
    added = job.gather([sums(job, size) for size in (1, 1000, 300_007)])
    if job.is_main:
        np.save(folder / "weights.npy", runs[0][1])
        print(json.dumps({"losses": losses(runs[0][0]), "checksums": checksums, "sums": added}))
