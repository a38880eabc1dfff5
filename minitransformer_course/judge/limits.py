"""Limits of a learner's code: in what it prints, in time, in what the system gives it, and, for a teacher, bubblewrap."""

import contextlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from minitransformer_course.judge.messages import _

try:
    import resource
except ImportError:    # Windows
    resource = None    # type: ignore[assignment]    # what is not there

PRINTED = 2000    # characters
MEMORY, FILE, OPEN, THREADS = 4 * 2 ** 30, 64 * 2 ** 20, 256, 64    # bytes in all, bytes of a file, open files, threads more
WRAP = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent", "--new-session"]


def limit_this_process(seconds) -> None:
    """Limit its memory, its files, the processes of its user and its time, if the system can; it cannot raise them again."""
    if resource is None:
        return
    limits = {"AS": MEMORY, "FSIZE": FILE, "NOFILE": OPEN, "NPROC": _running() + THREADS, "CPU": int(seconds) + 1}
    for name, most in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):    # not every system has every limit
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def wrapped(command, folder) -> list[str]:
    """The command, within bubblewrap if that runs: without a network, able to write only into the folder."""
    return [*WRAP, "--bind", str(folder), str(folder), *command] if _bubblewrap_runs() else command


def not_contained() -> str:
    """What a submission can do to this machine, in one line."""
    open_to_it = [_("the files that you may read")] if _bubblewrap_runs() else [
        _("your files and the network (bubblewrap does not run here)")]
    if resource is None:
        open_to_it.append(_("memory, processes and the size of files"))
    return _("not contained: {what}").format(what="; ".join(open_to_it))


@cache
def _bubblewrap_runs() -> bool:
    """It may be missing, or the system may forbid it."""
    try:
        return subprocess.run([*WRAP, "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _running() -> int:
    """How many threads this user runs, or, if the system does not show them, how many are allowed."""
    def threads(process) -> int:
        try:
            return len(os.listdir(process / "task")) if process.stat().st_uid == os.getuid() else 0
        except OSError:    # it has ended
            return 0
    return sum(map(threads, Path("/proc").glob("[0-9]*"))) or 10_000


class LimitedOutput(io.TextIOBase):
    """A text stream that keeps the first PRINTED characters and counts the rest."""

    def __init__(self, text=""):
        self.kept, self.length = "", 0
        self.write(text)

    def writable(self) -> bool:
        return True

    def write(self, text) -> int:
        self.kept += text[:max(PRINTED - len(self.kept), 0)]
        self.length += len(text)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much more there was."""
        more = self.length - len(self.kept)
        return self.kept + (_("\n... {n:,} characters more").format(n=more) if more else "")


@contextmanager
def limited_output() -> Iterator[LimitedOutput]:
    """Within the block, print writes to the LimitedOutput that it yields."""
    with redirect_stdout(LimitedOutput()) as stream, redirect_stderr(stream):
        yield stream


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
