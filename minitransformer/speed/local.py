"""Other processes on this machine that share the work of a training step, without a launcher: they
do not wait for our GIL.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from io import BytesIO
from mmap import mmap
from multiprocessing import Pipe
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import minitransformer
from minitransformer.backend import Array
from minitransformer.speed import kernels
from minitransformer.errors import InputError, counted
from minitransformer.layers.parameter import Parameter, bind
from minitransformer.memory import available_memory
from minitransformer.dispatch import TABLE, kernels_are_on
from minitransformer.stderr import stderr
from minitransformer.cores import available_cores
from minitransformer.layers.layer import Layer
from minitransformer.models.model import Model
from minitransformer.speed.threads import Threads, structure

WIDEST = 128  # the width d_model up to which they are faster than threads (docs/speed.md)
PATIENCE = 20  # seconds until a helper must have started
PAGE = 4096  # bytes: each vector begins on a page of its own
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


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
        self._helpers: list[_Helper] = []
        super().__init__(model, count)
        self._since, self._told = time.monotonic(), False
        weakref.finalize(self, _end, self._helpers)
        try:
            self._start(count)
        except (_Lost, OSError) as error:
            self._give_up(error)

    def _start(self, count: int) -> None:
        if self.models[0].xp is not np:
            raise _Lost("the model is on a GPU")
        if count == 1:
            raise _Lost("one worker needs no other process")
        if count > available_cores():
            raise _Lost(
                f"this process may use {counted(available_cores(), 'core')}, too few for {count} processes"
            )
        if not sys.executable:
            raise _Lost("sys.executable does not say which program Python is")
        layers = _described(self.models[0])
        (data, *gradients), memory = _shared(self.flat.data, count)
        with open(memory, "rb"):  # closes it; the vectors keep their memory
            for model in self.models:
                model._flat = bind(list(model.parameters().values()), data, model.flat.grad)
            self.flat, self._structure = self.models[0].flat, structure(self.models[0])
            for number, gradient in enumerate(gradients, 1):
                self._helpers.append(_Helper(memory, number, gradient, layers))

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
                    raise _Lost(f"a helper has not started within {PATIENCE} seconds")
                return []
            for helper, share in asked:
                helper.ask(work, share)
        except _Lost as error:
            self._give_up(error)
            return []
        return asked

    def _result(
        self, helper: "_Helper", work: Callable[..., Any], share: tuple, lost: "list[_Lost]"
    ) -> Any:
        """What a helper answers. If it is lost, we do its share; the error goes to the list `lost`."""
        try:
            return helper.answer()
        except _Lost as error:
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


class _Lost(Exception):
    """A helper cannot be started, or does not answer."""


class _Helper:
    """A process that runs helper.py, and our end of its pipe."""

    def __init__(self, memory: int, number: int, gradient: Array, layers: bytes):
        self.gradient = gradient
        self.replies = 0  # a greeting, one to a trial, then those that count
        self._pipe, theirs = Pipe()
        with theirs, open(os.memfd_create("layers"), "w+b") as file:
            file.write(layers)
            file.seek(0)
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "minitransformer.speed.helper",
                    *map(str, (theirs.fileno(), memory, number)),
                ],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), memory),
                cwd=Path(minitransformer.__file__).parents[1],
                start_new_session=True,  # Ctrl-C reaches only us
                env={
                    **os.environ,
                    **ONE_THREAD,
                    "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                },
            )

    def is_ready(self, work: Callable[..., Any], share: tuple) -> bool:
        """Whether it has started and tried a share, for which it loads the kernels."""
        if self.replies < 2 and self._pipe.poll():
            self.answer()
            if self.replies == 1:
                self.ask(work, share)
            else:
                self.gradient[...] = 0
        return self.replies >= 2

    def ask(self, work: Callable[..., Any], share: tuple) -> None:
        try:
            message = pickle.dumps((work, share[1:], kernels_are_on()))
        except Exception as error:  # whatever an object's own method raises
            raise _Lost(f"the work cannot be sent to another process ({error})") from None
        try:
            self._pipe.send_bytes(message)
        except OSError:
            raise _Lost(self._why_ended()) from None

    def answer(self) -> Any:
        try:
            result, problem, no_compiled_kernels = pickle.loads(self._pipe.recv_bytes())
        except (OSError, EOFError):
            raise _Lost(self._why_ended()) from None
        if problem:
            raise _Lost(f"a helper failed with {problem}")
        if kernels.state.problem == "" and no_compiled_kernels:  # its numbers would be others
            raise _Lost(
                f"a helper has no compiled kernels ({no_compiled_kernels}), and this process has"
            )
        self.replies += 1
        return result

    def _why_ended(self) -> str:
        code = self._process.wait()
        return "a helper has ended " + (
            f"({signal.strsignal(-code)})" if code < 0 else f"with exit code {code}"
        )

    def end(self) -> None:
        self._process.kill()  # it has nothing to lose
        self._process.wait()
        self._pipe.close()


def _end(helpers: "list[_Helper]") -> None:
    """End them, and forget them."""
    while helpers:
        helpers.pop().end()


class _Describing(pickle.Pickler):
    def persistent_id(self, item: Any) -> Any:
        """A Parameter is described by its shape, and by a number that tells it from the others."""
        return (id(item), item.shape) if isinstance(item, Parameter) else None

    def reducer_override(self, item: Any) -> Any:
        """A method assigned to a layer is that function: by its name alone, as pickle would send
        it, the helper would find the method of the layer's class.
        """
        if isinstance(item, MethodType):
            return _method, (item.__func__, item.__self__)
        return NotImplemented


def _method(function: Callable, layer: Layer) -> MethodType:
    return MethodType(function, layer)


def _described(model: Layer) -> bytes:
    """What a helper reads first: the model's dtype, and its layers without their weights."""
    described = BytesIO()
    try:
        pickle.dump(str(model.flat.data.dtype), described)
        _Describing(described).dump(model)
    except Exception as error:  # whatever an object's own method raises
        raise _Lost(f"the model cannot be sent to another process ({error})") from None
    return described.getvalue()


def _shared(data: Array, count: int) -> tuple[list, int]:
    """(`count` vectors like `data` in memory without a name, the first a copy of it; the memory's
    descriptor).
    """
    if not hasattr(os, "memfd_create"):
        raise _Lost("this system has no memory without a name, unlike Linux")
    size = count * -(-data.nbytes // PAGE) * PAGE
    if size > (available_memory() or size):
        raise _Lost(f"{size:,} bytes of shared memory are not available")
    memory = os.memfd_create("vectors")
    try:
        # all of it now: if there is none left, a later write would end the process
        os.posix_fallocate(memory, 0, size)
    except BaseException:
        os.close(memory)
        raise
    vectors = views(memory, data.size, data.dtype)
    vectors[0][...] = data
    return vectors, memory


def views(memory: int, size: int, dtype: DTypeLike) -> list:
    """The vectors of `size` numbers in the shared memory with this descriptor."""
    numbers = np.frombuffer(mmap(memory, 0), dtype)
    distance = -(-size * numbers.itemsize // PAGE) * PAGE // numbers.itemsize
    return [numbers[start : start + size] for start in range(0, len(numbers), distance)]
