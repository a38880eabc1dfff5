"""minitransformer's own training step, as `minitransformer train --threads N` makes it: with
processes where those are faster.
"""

from collections.abc import Callable
from itertools import count

from threadpoolctl import threadpool_limits

from research.benchmarks.cases import BETA1, BETA2, CLIP, EPSILON, LEARNING_RATE, SMOOTHING
from minitransformer.speed.kernels import load_all
from minitransformer.models import Transformer
from minitransformer.training.optim import Adam
from minitransformer.training.step import training_step
from minitransformer.speed.host import keep_freed_memory
from minitransformer.speed.local import local_workers

load_all()  # imports Numba, which counts as import, not as memory of the step


def make_step(case, threads, backend="numpy") -> Callable[[], float]:
    """A function that makes one training step on each of the case's batches and returns the last
    loss per token.
    """
    threadpool_limits(1, user_api="blas")  # our threads share the batch
    keep_freed_memory()
    model, batches, steps = Transformer(case.config()).to(backend), case.batches(), count()
    workers = local_workers(model, threads)  # may move the weights
    adam = Adam(model, BETA1, BETA2, EPSILON)

    def step() -> float:
        for batch in batches:
            sums = training_step(
                model, adam, batch, LEARNING_RATE, (0, next(steps)), SMOOTHING, CLIP, workers
            )
        return float(sums.loss) / batch.terms

    return step
