"""Limits of a learner's code: in what it prints, in time, in what the system gives it, and, for a
teacher, bubblewrap.
"""

import contextlib
import ctypes
import io
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

from minitransformer_course.messages import _

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]    # what is not there

PRINTED = 2000  # characters
MEMORY, FILE, OPEN = (
    4 * 2**30,
    64 * 2**20,
    256,
)  # bytes in all, with those of 8 MB stacks of threads; of a file; open files
WRAP = [
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
]


def limit_this_process(seconds) -> None:
    """Limit its memory, its files and its time, if the system can; it cannot raise them again."""
    if resource is None:
        return
    limits = {"AS": MEMORY, "FSIZE": FILE, "NOFILE": OPEN, "CPU": int(seconds) + 1}
    for name, most in limits.items():
        with contextlib.suppress(
            AttributeError, ValueError, OSError
        ):  # not every system has every limit
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


@contextmanager
def limited_memory() -> Iterator[None]:
    """Within it, an array that does not fit into MEMORY more bytes than now is a MemoryError, if
    the system can tell.
    """
    pages = Path("/proc/self/statm")
    if resource is None or not pages.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int(pages.read_bytes().split()[0]) * resource.getpagesize() + MEMORY
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def wrapped(command, folder) -> list[str]:
    """The command, within bubblewrap if that runs: without a network, able to write only into the
    folder.
    """
    return [*WRAP, "--bind", str(folder), str(folder), *command] if _bubblewrap_runs() else command


def not_contained() -> str:
    """What a submission can do to this machine, in one line."""
    open_to_it = (
        [_("the files that you may read")]
        if _bubblewrap_runs()
        else [_("your files and the network (bubblewrap does not run here)")]
    )
    if resource is None:
        open_to_it.append(_("memory and the size of files"))
    return _("not contained: {what}").format(what="; ".join(open_to_it))


@cache
def _bubblewrap_runs() -> bool:
    """It may be missing, or the system may forbid it."""
    try:
        return subprocess.run([*WRAP, "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class LimitedOutput(io.StringIO):
    """A text stream that keeps the first characters and counts the rest."""

    def __init__(self, most: int = PRINTED):
        super().__init__()
        self.most, self.length = most, 0

    def write(self, text) -> int:
        super().write(text[: max(self.most - self.length, 0)])
        self.length += len(text)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much more there was."""
        more = self.length - self.most
        return self.getvalue() + (
            _("\n... {n:,} characters more").format(n=more) if more > 0 else ""
        )


@contextmanager
def limited_output(most: int = PRINTED) -> Iterator[LimitedOutput]:
    """Within the block, print writes to the LimitedOutput that it yields."""
    with redirect_stdout(LimitedOutput(most)) as stream, redirect_stderr(stream):
        yield stream


class TimeUp(BaseException):
    """The time is up. This is not an Exception, so that `except Exception` in an endless loop does
    not catch it.
    """


@contextmanager
def time_limit(seconds) -> Iterator[None]:
    """Within the block, the Python code that is running after `seconds` raises TimeUp, at the line
    it has reached.

    A single call of NumPy that never returns is not stopped.
    """
    late = type("Late", (TimeUp,), {"__str__": lambda self: still_running(seconds)})
    timer = threading.Timer(
        seconds,
        ctypes.pythonapi.PyThreadState_SetAsyncExc,
        (ctypes.c_ulong(threading.get_ident()), ctypes.py_object(late)),
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def still_running(seconds) -> str:
    return _("still running after {n} s: an endless loop?").format(n=seconds)
