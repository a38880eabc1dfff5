"""minitransformer's own training step, as `minitransformer train --threads N` makes it."""

from itertools import count

from threadpoolctl import threadpool_limits

from minitransformer.benchmarking.cases import BETA1, BETA2, CLIP, EPSILON, RATE, SMOOTHING
from minitransformer.layers import Transformer
from minitransformer.optim import Adam
from minitransformer.training.team import Team


def make_step(case, threads):
    """A function that makes one training step on the case's batch and returns the loss per token."""
    threadpool_limits(1, user_api="blas")    # the team's threads share the batch
    model, batch, steps = Transformer(case.config()), case.batch(), count()
    team, adam = Team(model, threads), Adam(model, BETA1, BETA2, EPSILON)

    def step():
        return float(team.training_step(adam, [batch], RATE, (0, next(steps)), SMOOTHING, CLIP).loss) / batch.tokens

    return step
