"""A time limit for a function that runs in this process: no signal, no thread, and so the same on every system."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from minitransformer_course.judge.messages import _


class TimeUp(BaseException):
    """The time is up. This is not an Exception, so that `except Exception` in an endless loop does not catch it."""


@contextmanager
def time_limit(seconds) -> Iterator[None]:
    """Within the block, the Python code that is running after `seconds` raises TimeUp, at the line it has reached.

    The clock is checked at every instruction, which slows Python down. A single call of NumPy that never returns is not stopped.
    """
    deadline = time.monotonic() + seconds

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if time.monotonic() > deadline:
            raise TimeUp(still_running(seconds))
        frame.f_trace_opcodes = True    # `while True: pass` is one line that never ends
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def still_running(seconds) -> str:
    return _("still running after {n} s: an endless loop?").format(n=seconds)
