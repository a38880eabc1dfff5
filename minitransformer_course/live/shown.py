"""An error as a page shows it: from the reader's own code on."""

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager

from minitransformer_course.limits import LimitedOutput, limited_output

MOST = 20_000  # characters that a page shows of what one run printed


def shown_output() -> AbstractContextManager[LimitedOutput]:
    return limited_output(MOST)


def together(*texts: str) -> str:
    """The texts below one another, without the empty ones."""
    return "\n".join(text.rstrip("\n") for text in texts if text)


class Shown:
    """text: the traceback; said: its last line; line: the last one in the reader's code, or 0;
    stopped: by the page, not by an error.
    """

    def __init__(self, error: BaseException, is_the_readers: Callable[[str], bool]):
        trace = traceback.TracebackException.from_exception(error)
        own = [i for i, frame in enumerate(trace.stack) if is_the_readers(frame.filename)]
        line = trace.stack[own[-1]].lineno if own else getattr(trace, "lineno", 0)
        del trace.stack[: own[0] if own else None]
        *_, last = trace.format_exception_only()
        self.text, self.said = "".join(trace.format()), last.strip()
        self.line = int(line or 0)
        self.stopped = isinstance(error, KeyboardInterrupt)
