"""Ctrl-C, SIGTERM and a closed terminal: the current step is finished, and nothing is lost."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

from minitransformer.stderr import stderr

# Windows: no SIGHUP
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
# the process's: the last of SIGNALS that stopped a training run
state = SimpleNamespace(received=signal.SIGINT)


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Yields an Event that the first of SIGNALS sets; the second has its usual effect and ends the
    process at once.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may handle signals
        return
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    # the parent ignores the others
    handled = [number for number in SIGNALS if usual[number] not in (signal.SIG_IGN, None)]

    def restore() -> None:
        for number in handled:
            signal.signal(number, usual[number])

    def handle(number: int, _: Any) -> None:
        stop.set()
        state.received = signal.Signals(number)
        restore()
        again = (
            "Ctrl-C again" if number == signal.SIGINT else f"another {signal.Signals(number).name}"
        )
        with suppress(RuntimeError):  # a write was waiting for its reader
            print(f"\nstopping after this step; {again} stops at once, without saving", file=stderr)

    for number in handled:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        restore()
