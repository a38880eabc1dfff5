"""Ctrl-C: the step under way ends, and nothing is lost."""

import signal
import threading
from contextlib import contextmanager, suppress

from minitransformer.training.stderr import stderr


@contextmanager
def stop_on_interrupt():
    """Yields an Event that the first Ctrl-C sets; the second one interrupts at once, as usual."""
    stop = threading.Event()
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual in (signal.SIG_IGN, None):
        yield stop    # only the main thread may handle signals, and who started us may not want any
        return

    def handle(*_):
        stop.set()
        signal.signal(signal.SIGINT, usual)
        with suppress(RuntimeError):    # in the middle of a write that waits for its reader
            print("\nstopping after this step; Ctrl-C again stops at once, without saving", file=stderr)

    signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, usual)
