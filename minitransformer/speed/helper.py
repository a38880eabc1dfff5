"""A helper: a process that computes shares of a step for another one (helper_pipe.py), and ends
when its pipe does.
"""

import pickle
import sys
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.speed import kernels
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter, bind
from minitransformer.dispatch import kernels_are_on
from minitransformer.speed.kernels import kernels_run
from minitransformer.speed.host import keep_freed_memory
from minitransformer.speed.shared_vectors import views


class _Reader(pickle.Unpickler):
    """Makes the layers that helper_pipe.py describes, with Parameters in place of their
    descriptions.
    """

    def __init__(self, file: BinaryIO, dtype: DTypeLike):
        super().__init__(file)
        self._dtype, self._made = dtype, {}

    def persistent_load(self, description: tuple[int, tuple[int, ...]]) -> Parameter:
        if description not in self._made:
            self._made[description] = Parameter(np.zeros(description[1], self._dtype))
        return self._made[description]


def read_model(memory: int, number: int) -> Layer:
    """The model that standard input describes: its weights are vector 0 of the shared memory, its
    gradients vector `number`.
    """
    dtype = pickle.load(sys.stdin.buffer)
    model = _Reader(sys.stdin.buffer, dtype).load()
    vectors = views(memory, model.num_parameters(), dtype)
    model._flat = bind(list(model.parameters().values()), vectors[0], vectors[number])
    return model


def serve(pipe: Connection, memory: int, number: int) -> None:
    """Greet, then answer each (function, arguments, whether kernels run) with the result; the model
    is the first argument.
    """
    keep_freed_memory()
    np.seterr(all="ignore")  # the other process reports NaN and infinity
    model: Any = read_model(memory, number)
    pipe.send_bytes(pickle.dumps((None, None, None)))
    with ExitStack() as fast:
        while True:
            work, arguments, with_kernels = pickle.loads(pipe.recv_bytes())
            if not with_kernels:
                fast.close()
            elif not kernels_are_on():
                fast.enter_context(kernels_run())
            pipe.send_bytes(pickle.dumps((work(model, *arguments), None, kernels.state.problem)))


if __name__ == "__main__":
    descriptor, *numbers = map(int, sys.argv[1:])
    connection = Connection(descriptor)
    try:
        serve(connection, *numbers)
    except (EOFError, ConnectionError):  # the other process has ended
        pass
    except Exception as error:
        connection.send_bytes(pickle.dumps((None, f"{type(error).__name__}: {error}", None)))
