"""A command in several processes: one of them speaks, and none is left waiting for one that has failed."""

import os
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress

from minitransformer.errors import InputError
from minitransformer.workers.launcher import launched, world

PATIENCE = 2.0    # seconds in which all must have failed, or one has failed alone
LOOK = 0.01       # seconds between two looks: meanwhile another process may need the core


def one_voice(command) -> int:
    """command() in each process of a launcher; returns the exit code.

    What the others than process 0 write goes nowhere. Where one fails, and the others do not within PATIENCE, its last
    words are shown and all processes are ended: they would wait for it forever.
    """
    place = launched()
    voice, heard = os.dup(2), tempfile.TemporaryFile()    # noqa: SIM115 - open to the end
    if place.rank:
        for stream, number in (sys.stdout, 1), (sys.stderr, 2):
            stream.flush()
            os.dup2(heard.fileno(), number)
    try:
        processes = world()
    except InputError as error:
        return _not_joined(place, voice, error)
    meeting = processes.Dup()    # messages of its own: those of a step under way are not mixed up with it
    code = _exit_code(command)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # nothing is left to interrupt
    if not _all_came(meeting.Ibarrier(), PATIENCE if code else None):
        if place.rank:
            _say(voice, f"process {place.rank}: {_last_words(heard)}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)    # MPI has nothing to add
        processes.Abort(code)
    return code


def _exit_code(command) -> int:
    try:
        return command()
    except SystemExit as stop:    # argparse
        return int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1


def _all_came(request, patience) -> bool:
    """Whether all processes come to the same place within `patience` seconds (None: whenever)."""
    since = time.monotonic()
    while not request.Test():
        if patience is not None and time.monotonic() - since > patience:
            return False
        time.sleep(LOOK)
    return True


def _not_joined(place, voice, error) -> int:
    """Of each machine one process says why; where others have joined, MPICH's launcher is told to end them."""
    if place.rank_here == 0:
        _say(voice, f"minitransformer: {error}")
    if pmi := os.environ.get("PMI_FD"):
        time.sleep(1)    # if all fail, each has said so by then
        with suppress(OSError):
            os.write(int(pmi), b"cmd=abort exitcode=2\n")
    return 2


def _last_words(heard) -> str:
    """The last line that was written, or the last traceback."""
    heard.seek(0)
    text = heard.read().decode("utf-8", "replace").rstrip()
    _, start, error = text.rpartition("Traceback (most recent call last)")
    return start + error if start else text.rpartition("\n")[2]


def _say(voice, text) -> None:
    with suppress(OSError):
        os.write(voice, f"{text}\n".encode())
