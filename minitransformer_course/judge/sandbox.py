"""What contains a learner's process: limits of the system and, for a teacher, bubblewrap."""

import contextlib
import os
import subprocess
from functools import cache
from pathlib import Path

from minitransformer_course.judge.messages import _

try:
    import resource
except ImportError:    # Windows
    resource = None    # type: ignore[assignment]    # what is not there

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
