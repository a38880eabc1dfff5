"""Ctrl-C while a command works: it is raised where the work is, never lost, and leaves the exit in
peace.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block, Ctrl-C raises KeyboardInterrupt; after it, it does nothing.

    If somebody's code catches it there and goes on, it is raised again at the end: the block never
    ends as if it had not been interrupted.
    """
    received = threading.Event()

    def interrupt(*_: object) -> None:
        received.set()
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):  # as the parent wishes
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
        if received.is_set():
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits until the block ends. Processes that start in it never get it: it is ours."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
