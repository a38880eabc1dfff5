"""Other processes on this machine that share the work of a training step, without a launcher: they
do not wait for our GIL.
"""

import os
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitransformer.errors import InputError, counted
from minitransformer.layers.parameter import bind
from minitransformer.dispatch import TABLE
from minitransformer.stderr import stderr
from minitransformer.cores import available_cores
from minitransformer.layers.layer import Layer
from minitransformer.models.model import Model
from minitransformer.speed.helper_pipe import Helper, Lost, described
from minitransformer.speed.shared_vectors import shared_vectors
from minitransformer.speed.threads import Threads, structure

WIDEST = 128  # the width d_model up to which they are faster than threads (docs/speed.md)
PATIENCE = 20  # seconds until a helper must have started


class LocalProcesses(Threads):
    """This process and `count` - 1 helpers that share each update of `model`: `train(...,
    make_workers=LocalProcesses)`.

    A helper (helper.py) has its own layers, but their weights, and the vector to which it adds its
    gradient, are in memory that it shares with us. It receives the name of a function and its part
    of a batch, and answers with the sums. Everything else is done here, by threads, as in Threads:
    the same number of workers gives the same bits.

    Until the helpers have started, and while anything is plugged in, threads do their work, too. A
    helper may be lost at any time. One line then says why, and threads do all the work from there
    on, beginning with the lost share. The same applies after a step that was interrupted, once the
    model has changed, on a GPU, and on a system other than Linux.

    A helper imports the classes from their files. It does not know a method that your program has
    replaced in a class, and runs the one in the file.

    The weights move into the shared memory, so a loop of your own makes its optimizer after the
    workers.
    """

    def __init__(self, model: Layer, count: int = 1):
        self._helpers: list[Helper] = []
        super().__init__(model, count)
        self._since, self._told = time.monotonic(), False
        weakref.finalize(self, _end, self._helpers)
        try:
            self._start(count)
        except (Lost, OSError) as error:
            self._give_up(error)

    def _start(self, count: int) -> None:
        if self.models[0].xp is not np:
            raise Lost("the model is on a GPU")
        if count == 1:
            raise Lost("one worker needs no other process")
        if count > available_cores():
            raise Lost(
                f"this process may use {counted(available_cores(), 'core')}, too few for {count} processes"
            )
        if not sys.executable:
            raise Lost("sys.executable does not say which program Python is")
        layers = described(self.models[0])
        (data, *gradients), memory = shared_vectors(self.flat.data, count)
        with open(memory, "rb"):  # closes it; the vectors keep their memory
            for model in self.models:
                model._flat = bind(list(model.parameters().values()), data, model.flat.grad)
            self.flat, self._structure = self.models[0].flat, structure(self.models[0])
            for number, gradient in enumerate(gradients, 1):
                self._helpers.append(Helper(memory, number, gradient, layers))

    def _make_replicas(self) -> None:
        super()._make_replicas()
        self._private = self._gradients
        if self._helpers:
            self._give_up("the model has changed since these LocalProcesses were made")

    @property
    def helped(self) -> bool:
        """Whether helpers share the work: they have started, and none is lost."""
        return bool(self._helpers) and all(helper.replies > 1 for helper in self._helpers)

    def close(self) -> None:
        super().close()
        _end(self._helpers)

    def run(self, work: Callable[..., Any], shares: Sequence[tuple]) -> list:
        """The first share is done here, each of the others by a helper, with its own model in place
        of the share's first item.

        Raises InputError in a forked process, which would train the weights of the one that made
        the workers.
        """
        if self._process != os.getpid():
            raise InputError(
                "these LocalProcesses, and the memory of the weights, belong to the process that made them; in a "
                "forked process, train copy.deepcopy(model) with workers of its own"
            )
        try:
            asked = self._ask(work, shares)
            if not asked:
                self._gradients = self._private
                return super().run(work, shares)
            # Not those of helpers that are not asked: they may hold a trial's. As many as with
            # threads: 0.0 + -0.0 is 0.0.
            self._gradients = [
                self.flat.grad,
                *(helper.gradient for helper, _ in asked),
                *self._private[1 + len(asked) :],
            ]
            lost = []
            results = [
                work(*shares[0]),
                *(self._result(helper, work, share, lost) for helper, share in asked),
            ]
        except BaseException:  # nothing that was added so far may enter a later step
            _end(self._helpers)
            for gradient in self._gradients:
                gradient[...] = 0
            raise
        if lost:
            self._give_up(lost[0])
        return results

    def _ask(self, work: Callable[..., Any], shares: Sequence[tuple]) -> list:
        """[(helper, its share)] once all of them are at work; []: threads have to do it."""
        asked = list(zip(self._helpers, shares[1:]))
        if asked and own_code_runs():
            if not self._told:
                print("threads do the work while something is plugged in", file=stderr)
            self._told, asked = True, []
        try:
            ready = [helper.is_ready(work, share) for helper, share in asked]
            if not all(ready):
                if time.monotonic() - self._since > PATIENCE and not all(
                    helper.replies for helper, _ in asked
                ):
                    raise Lost(f"a helper has not started within {PATIENCE} seconds")
                return []
            for helper, share in asked:
                helper.ask(work, share)
        except Lost as error:
            self._give_up(error)
            return []
        return asked

    def _result(
        self, helper: Helper, work: Callable[..., Any], share: tuple, lost: list[Lost]
    ) -> Any:
        """What a helper answers. If it is lost, we do its share; the error goes to the list `lost`."""
        try:
            return helper.answer()
        except Lost as error:
            lost.append(error)
            result, ours = work(*share), share[0].flat.grad
            helper.gradient[...] = ours
            ours[...] = 0
            return result

    def _give_up(self, why: Any) -> None:
        _end(self._helpers)
        print(
            f"threads do the work from here on: {getattr(why, 'strerror', None) or why}",
            file=stderr,
        )


def local_workers(model: Model, count: int, kind: str | None = None) -> Threads:
    """The LocalProcesses or the Threads, by name; None: the processes for a model of a width up to
    WIDEST, if they can run here.
    """
    if kind is None:
        possible = hasattr(os, "memfd_create") and model.xp is np and 1 < count <= available_cores()
        kind = "processes" if possible and model.config.d_model <= WIDEST else "threads"
    return WORKERS[kind](model, count)


WORKERS = {"threads": Threads, "processes": LocalProcesses}


def own_code_runs() -> bool:
    """Whether a reader has plugged in a function or registered a kernel, which another process does
    not have.
    """
    return any(
        entry.own or any(kernel.by_reader for kernel in entry.kernels) for entry in TABLE.values()
    )


def _end(helpers: list[Helper]) -> None:
    """End them, and forget them."""
    while helpers:
        helpers.pop().end()
