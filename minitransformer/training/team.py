"""Threads that share a batch (NumPy lets go of Python's lock while it computes)."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from minitransformer.backend import generator, keep_freed_memory
from minitransformer.data.batches import split
from minitransformer.optim import clip_gradient_norm
from minitransformer.training.step import StepLoss, add_gradient


class Team:
    """Makes training steps of `model` with `threads` threads.

    Each takes its part of the sentences and adds up the gradient in vectors of its own: the model's,
    or a replica's, which shares the weights. The vectors are then summed in the same order every
    time, so the same seed gives the same bits for the same number of threads. BLAS should have one
    thread for each of ours.
    """

    def __init__(self, model, threads=1):
        keep_freed_memory()
        self.model = model
        self.replicas = [model.replica() for _ in range(threads - 1)]
        self._pool = ThreadPoolExecutor(threads)

    def training_step(self, optimizer, batch, rate, entropy, smoothing=0.0, clip=1.0):
        """As step.training_step; dropout is drawn from the integers `entropy`, such as (seed, step). Returns StepLoss."""
        (part, rng), *others = self.parts(batch, entropy)
        jobs = [self._pool.submit(copy_context().run, add_gradient, replica, part, batch.tokens, rng, smoothing)
                for replica, (part, rng) in zip(self.replicas, others)]
        own = add_gradient(self.model, part, batch.tokens, rng, smoothing)
        losses, log_likelihoods = zip(own, *(job.result() for job in jobs))
        for replica in self.replicas:
            optimizer.grad += replica.flat.grad
            replica.flat.grad[...] = 0
        clip_gradient_norm(optimizer.grad, clip)
        optimizer.step(rate)
        return StepLoss(sum(losses), sum(log_likelihoods))

    def parts(self, batch, entropy):
        """What each thread gets: [(Batch, its generator)]."""
        parts = split(batch, 1 + len(self.replicas))
        return [(part, generator(self.model.xp, *entropy, i)) for i, part in enumerate(parts)]
