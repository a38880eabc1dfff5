"""Ctrl-C at any moment ends a command with exit code 130 and one line, and is never lost."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from minitransformer.cli.interrupts import interruptible

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def usual():
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_somebody_catches_is_raised_again():
    with pytest.raises(KeyboardInterrupt), interruptible(), suppress(BaseException):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)  # at the exit it does nothing
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_what_the_parent_ignores_is_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGINT)


EARLY = """
import runpy, signal, sys
class AtAnImport:
    def find_spec(self, name, *_):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, AtAnImport())
sys.argv = ["minitransformer", "--version"]
runpy.run_module("minitransformer", run_name="__main__")
"""


@pytest.mark.parametrize(
    "name", ["minitransformer.cli", "minitransformer.speed.launcher", "minitransformer.cli.parser"]
)
def test_while_the_command_is_imported(name):
    code = EARLY.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "minitransformer: interrupted\n"


@pytest.mark.campaign
@pytest.mark.parametrize("arguments", ["evaluate {}", "gradcheck", "translate {} a", "--help"])
def test_at_any_moment(trained, arguments):
    """As a terminal sends it: to the command and to the processes that it has started. Python itself
    needs the first moment.
    """
    words = arguments.format(trained).split()
    command = [sys.executable, "-m", "minitransformer", *words]
    since = time.monotonic()
    subprocess.run(command, capture_output=True)
    longest = min(time.monotonic() - since, 6)
    draw = random.Random(0)
    for _ in range(int(os.environ.get("MINITRANSFORMER_KILLS", "5"))):
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(draw.uniform(0.15, longest))
        interrupted = process.poll() is None
        if interrupted:
            os.killpg(process.pid, signal.SIGINT)
        # what a library catches is raised again at the command's end, far away on a busy machine
        _, error = process.communicate(timeout=300)
        assert "Traceback" not in error
        assert process.returncode == 0 or (interrupted and process.returncode == 130), error
