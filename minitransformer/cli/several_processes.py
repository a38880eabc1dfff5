"""A command in several processes: only process 0 prints, and a process that fails does not leave
the others waiting.
"""

import math
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from minitransformer.errors import InputError
from minitransformer.speed.launcher import Place, completes, launched, world

GRACE_PERIOD = 2.0  # seconds: if one process fails, the others have this long to fail as well
# seconds for the launcher to print an error: an abort loses what it has not read yet
FORWARDING = 1.0


def run_in_each_process(command: Callable[[], int]) -> int:
    """Run command() in each process that the launcher started; returns this process's exit code.

    Only process 0 prints; the output of the other processes is captured. If a process fails and the
    others do not fail within GRACE_PERIOD, its error is printed and all processes are aborted,
    because they would wait for it forever.
    """
    place = launched()
    stderr, captured = os.dup(2), tempfile.TemporaryFile()  # noqa: SIM115 - open to the end
    if place.rank:
        for stream, number in (sys.stdout, 1), (sys.stderr, 2):
            stream.flush()
            os.dup2(captured.fileno(), number)
    try:
        processes = world()
    except InputError as error:
        return _without_mpi(place, stderr, error)
    # for the barrier alone, whose messages must not mix with those of an unfinished step
    communicator = processes.Dup()
    code = _exit_code(command)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt
    if not completes(communicator.Ibarrier(), GRACE_PERIOD if code else math.inf):
        if place.rank:
            _write(stderr, f"process {place.rank}: {_last_error(captured)}")
        time.sleep(FORWARDING)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # hides what MPI would print about the abort
        processes.Abort(code)
    return code


def _exit_code(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1


def _without_mpi(place: Place, stderr: int, error: BaseException) -> int:
    """One process of each machine prints the error; if other processes did start MPI, MPICH's
    launcher is told to end them.
    """
    if place.rank_here == 0:
        _write(stderr, f"minitransformer: {error}")
    if pmi := os.environ.get("PMI_FD"):
        time.sleep(FORWARDING)  # if all processes fail, each machine has printed its error by then
        with suppress(OSError):
            os.write(int(pmi), b"cmd=abort exitcode=2\n")
    return 2


def _last_error(captured: BinaryIO) -> str:
    """The last line of the captured output, or the last traceback."""
    captured.seek(0)
    text = captured.read().decode("utf-8", "replace").rstrip()
    _, start, error = text.rpartition("Traceback (most recent call last)")
    return start + error if start else text.rpartition("\n")[2]


def _write(descriptor: int, text: str) -> None:
    with suppress(OSError):
        os.write(descriptor, f"{text}\n".encode())
