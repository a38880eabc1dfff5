"""Processes that share the work, as threads of this one."""

import threading

import numpy as np

from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.speed.threads import Threads
from minitransformer.tasks import TASKS
from minitransformer.tasks.evaluation import pair_batches

RNG = np.random.default_rng(0)
PAIRS = [
    (RNG.integers(3, 12, m).tolist(), RNG.integers(3, 12, n).tolist())
    for m, n in [(2, 3), (5, 1), (4, 4), (7, 6), (1, 2)]
]


def assert_same_weights(found, expected, bound=1e-12):
    """Up to rounding. A key's bias has a gradient of 0 (softmax ignores a shift): there Adam steps
    by roundings alone.
    """
    others = expected.parameters()
    for name, parameter in found.parameters().items():
        np.testing.assert_allclose(
            parameter.data,
            others[name].data,
            rtol=0,
            atol=1e-8 if name.endswith("key.bias") else bound,
            err_msg=name,
        )


class Process(Threads):
    """One of several processes, which here are threads of this one; each has a model of its own."""

    def __init__(self, model, count, meeting, rank):
        super().__init__(model, count)
        self.meeting, self.rank, self.processes = meeting, rank, len(meeting.brought)

    def sum(self, vector):
        vector[...] = sum(self.meeting.exchange(self.rank, vector.copy()))

    def gather(self, value):
        return self.meeting.exchange(self.rank, value)


def in_processes(count, work):
    """[work(meeting, rank)] of `count` simulated processes; the first of them is the calling
    thread.
    """
    meeting, found, errors = Meeting(count), [None] * count, []

    def member(rank):
        try:
            found[rank] = work(meeting, rank)
        except BaseException as error:
            errors.append(error)
            meeting.barrier.abort()  # or the others would wait

    others = [threading.Thread(target=member, args=(rank,)) for rank in range(1, count)]
    for thread in others:
        thread.start()
    member(0)
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return found


def same_batches():
    """Those of `start`, once more."""
    task = TASKS["copy"]()
    return DrawnBatches(task, 8, 0), pair_batches(draw_held_out(task, 20))


class Meeting:
    """Where the members of one simulated job meet: a barrier, and what each has brought."""

    def __init__(self, members):
        self.barrier = threading.Barrier(members, timeout=60)
        self.brought = [None] * members

    def exchange(self, rank, value):
        """What all members brought, in the order of their ranks."""
        self.brought[rank] = value
        self.barrier.wait()
        found = list(self.brought)
        self.barrier.wait()  # all have read
        return found
