"""Threads that share a batch (NumPy lets go of Python's lock while it computes)."""

from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context

from minitransformer.backend import generator, keep_freed_memory
from minitransformer.data.batches import split
from minitransformer.optim import clip_factor
from minitransformer.training.step import StepLoss, add_gradient


class Team:
    """Makes training steps of `model` with `threads` threads.

    Each takes its part of the sentences and adds up the gradient in vectors of its own: the model's,
    or a replica's, which shares the weights. Then each takes its piece of the vectors, sums the
    gradients in the same order every time, and moves the parameters. So the same seed gives the same
    bits for the same number of threads. BLAS should have one thread for each of ours.
    """

    def __init__(self, model, threads=1):
        keep_freed_memory()
        self.model = model
        self.replicas = [model.replica() for _ in range(threads - 1)]
        self._pool = ThreadPoolExecutor(threads)
        ends = [model.flat.data.size * i // threads for i in range(threads + 1)]
        self._pieces = list(map(slice, ends, ends[1:]))

    def training_step(self, optimizer, batches, rate, entropy, smoothing=0.0, clip=1.0):
        """As step.training_step for several Batches, with dropout drawn from the integers `entropy`, such as (seed, step).

        The gradients of the Batches are added up: together they are one update. Returns StepLoss.
        """
        tokens = sum(batch.tokens for batch in batches)
        own, *others = self.parts(batches, entropy)
        jobs = [self._pool.submit(copy_context().run, _add_gradients, replica, *part, tokens, smoothing)
                for replica, part in zip(self.replicas, others)]
        try:
            losses, log_likelihoods = zip(_add_gradients(self.model, *own, tokens, smoothing),
                                          *(job.result() for job in jobs))
        except BaseException:    # what the other threads have added must not enter a later step
            wait(jobs)
            for model in (self.model, *self.replicas):
                model.flat.grad[...] = 0
            raise
        square = sum(self._each_piece(self._sum_gradients))
        optimizer.count(square)
        scale = clip_factor(square, clip)
        self._each_piece(lambda piece: optimizer.move(piece, rate, scale))
        return StepLoss(sum(losses), sum(log_likelihoods))

    def _each_piece(self, work):
        jobs = [self._pool.submit(copy_context().run, work, piece) for piece in self._pieces[1:]]
        return [work(self._pieces[0]), *(job.result() for job in jobs)]

    def _sum_gradients(self, piece):
        """Sum the replicas' gradients into the model's, in one piece; returns the sum of squares."""
        grad = self.model.flat.grad[piece]
        for replica in self.replicas:
            grad += replica.flat.grad[piece]
            replica.flat.grad[piece] = 0
        return grad @ grad

    def parts(self, batches, entropy):
        """What each thread gets: [(its part of each of the Batches, its generator)]; a thread without any is left out."""
        threads = 1 + len(self.replicas)
        shares = [[] for _ in range(threads)]
        for batch in batches:
            for share, part in zip(shares, split(batch, threads)):
                share.append(part)
        return [(share, generator(self.model.xp, *entropy, i)) for i, share in enumerate(shares) if share]


def _add_gradients(model, batches, rng, tokens, smoothing):
    losses, log_likelihoods = zip(*(add_gradient(model, batch, tokens, rng, smoothing) for batch in batches))
    return StepLoss(sum(losses), sum(log_likelihoods))
