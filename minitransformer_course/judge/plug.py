"""The reader's functions inside the real model, and a model that trains with them on a toy task."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from minitransformer import Adam, Transformer, TransformerConfig, plugged, schedule, training_step
from minitransformer.data.drawn import DrawnBatches
from minitransformer.tasks import TASKS
from minitransformer.cores import one_blas_thread
from minitransformer_course.judge.course import exercises, find_exercise

STEPS = 200
COPY = TASKS["copy"]()


class Training(NamedTuple):
    losses: list  # for each token, a number for each step
    model: Any


def in_the_paper() -> list[str]:
    """The exercises whose functions the paper's model calls."""
    return [
        name
        for name, one in exercises().items()
        if one.plug and not one.plug.replaced.__module__.startswith("minitransformer.zoo.")
    ]


@contextmanager
def plugs(own) -> Iterator[None]:
    """Within the block, the reader's functions {name of an exercise: function} run in their places
    in the library.
    """
    with ExitStack() as stack:
        for name, function in own.items():
            if plug := find_exercise(name).plug:
                stack.enter_context(plugged(plug.replaced, plug.adapt(function)))
        yield


def train(within=None, steps=STEPS, task=COPY, seed=0, **sizes) -> Training:
    """The Training of a small model on a toy task; `sizes` change its TransformerConfig.

    within: `plugged(...)` of a function of yours, to run in place of one of the library's. seed: of
    the initial weights and of the letters.
    """
    with within or nullcontext(), one_blas_thread, np.errstate(all="ignore"):
        model = Transformer(
            TransformerConfig.named("toy", task.make_vocabulary().size, num_layers=1, **sizes),
            seed=seed,
        )
        adam, losses = Adam(model), []
        for step, batch in zip(range(1, steps + 1), DrawnBatches(task, 24, seed)):
            sums = training_step(model, adam, batch, schedule(step, 64, warmup=50, factor=0.3))
            losses.append(float(sums.loss) / batch.terms)
    return Training(losses, model)
