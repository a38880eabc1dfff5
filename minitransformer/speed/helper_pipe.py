"""A helper as the process that asks it for work sees it: how it is started, asked and ended."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from multiprocessing import Pipe
from pathlib import Path
from types import MethodType
from typing import Any

import minitransformer
from minitransformer.backend import Array
from minitransformer.dispatch import kernels_are_on
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter
from minitransformer.speed import kernels

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class Lost(Exception):
    """A helper cannot be started, or does not answer."""


class Helper:
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
            raise Lost(f"the work cannot be sent to another process ({error})") from None
        try:
            self._pipe.send_bytes(message)
        except OSError:
            raise Lost(self._why_ended()) from None

    def answer(self) -> Any:
        try:
            result, problem, no_compiled_kernels = pickle.loads(self._pipe.recv_bytes())
        except (OSError, EOFError):
            raise Lost(self._why_ended()) from None
        if problem:
            raise Lost(f"a helper failed with {problem}")
        if kernels.state.problem == "" and no_compiled_kernels:  # its numbers would be others
            raise Lost(
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


def described(model: Layer) -> bytes:
    """What a helper reads first: the model's dtype, and its layers without their weights."""
    file = BytesIO()
    try:
        pickle.dump(str(model.flat.data.dtype), file)
        _Describing(file).dump(model)
    except Exception as error:  # whatever an object's own method raises
        raise Lost(f"the model cannot be sent to another process ({error})") from None
    return file.getvalue()
