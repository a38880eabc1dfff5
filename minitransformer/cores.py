"""The cores that this process may use, and threads that share them: each with one BLAS thread."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from threading import Lock
from typing import Any

from minitransformer.memory import container_limits


def available_cores() -> int:
    """The number of cores that this process may use. In a container with a quota of 1.5 cores, it
    is two.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min([cores, *map(math.ceil, quotas())])


def quotas() -> Iterator[float]:
    """The CPU quotas, in cores, that bind this process."""
    for text in container_limits("cpu.max"):
        limit, _, period = text.partition(" ")
        if limit.isdecimal() and period.isdecimal() and int(limit) * int(period):  # or "max"
            yield int(limit) / int(period)


class Shared:
    """A context that can be entered repeatedly, even from several threads: the last to leave undoes
    what the first one did.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[None]]):
        self._make, self._lock, self._inside = make, Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._context = self._make()
                self._context.__enter__()
            self._inside += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._context.__exit__(None, None, None)


@contextmanager
def _limit_blas() -> Iterator[None]:
    # here: it is slow, and the command must be ready earlier
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=1):
        try:
            yield
        finally:
            # newer versions let only the thread that did this undo it, and another may be the last
            # to leave
            for library in blas.lib_controllers:
                if hasattr(library, "clear_controlling_thread"):
                    library.clear_controlling_thread(force=True)


one_blas_thread = Shared(_limit_blas)  # `with one_blas_thread:`


def in_threads(work: Callable, items: Iterable[tuple], count: int) -> list:
    """[work(*item) for item in items], shared by `count` threads with one BLAS thread each. A single
    one is the calling thread.
    """
    items = list(items)
    if count == 1:
        with one_blas_thread:
            return [work(*item) for item in items]
    with one_blas_thread, ThreadPoolExecutor(count) as pool:
        contexts = [copy_context() for _ in items]
        jobs = pool.map(lambda context, item: context.run(work, *item), contexts, items)
        return list(jobs)  # it cancels the rest if one fails
