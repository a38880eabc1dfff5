"""The real process: Ctrl-C, closed streams and broken pipes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types

import pytest

import minitransformer
from minitransformer import Run
from minitransformer.cli import gradcheck as gradcheck_command
from tests.helpers.command import one_line

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def textbook(monkeypatch):
    """To load the compiled kernels takes these processes longer than what they do."""
    monkeypatch.setenv("MINITRANSFORMER_FAST", "0")


def long_training(run, **streams):
    """A run without a checkpoint before its end."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "minitransformer",
            "train",
            "copy",
            "--run",
            run,
            "--batch",
            "4",
            "--steps",
            "5000",
            "--validate-every",
            "5000",
        ],
        **streams,
    )


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.campaign), signal.SIGTERM]
)
def test_a_signal_saves_and_says_how_to_resume(tmp_path, number):
    """The real command, interrupted the way a terminal does, or ended the way a job scheduler does."""
    process = long_training(
        tmp_path / "run", stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if re.search("^step [1-9][0-9]* of 5000: ", line):
            break
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number and "Traceback" not in error
    assert f"resume: minitransformer train --resume {tmp_path / 'run'}" in error
    assert f"minitransformer evaluate {tmp_path / 'run'}" in error
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1 and Run.load(
        tmp_path / "run"
    )


def test_ctrl_c_saves_though_nobody_reads_on(tmp_path):
    """`train ... 2>&1 | tee log`: Ctrl-C ends both."""
    reader, writer = os.pipe()
    process = long_training(tmp_path / "run", stderr=writer, stdout=writer)
    os.close(writer)
    seen = b""
    while not re.search(b"[0-9] of 5000", seen):
        more = os.read(reader, 1000)
        assert more, seen  # it ended
        seen += more
    os.close(reader)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1 and Run.load(
        tmp_path / "run"
    )


def test_ctrl_c_in_a_command_that_does_not_train(run_cli, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gradcheck_command, "execute", interrupt)
    code, _, error = run_cli("gradcheck")
    assert code == 130 and error == "minitransformer: interrupted\n"
    assert (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # the caller's own Ctrl-C still works


def test_ctrl_c_while_numpy_loads(run_cli, monkeypatch):
    class Interrupted(types.ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "minitransformer.cli.parser", Interrupted("parser"))
    code, _, error = run_cli("--version")
    assert code == 130 and error == "minitransformer: interrupted\n"
    assert (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # the caller's own Ctrl-C still works


@pytest.mark.campaign
def test_closed_streams_are_no_crash(trained):
    for redirected in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            f"{sys.executable} -m minitransformer translate {trained} 'a b' {redirected}",
            shell=True,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and not done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments, unbuffered", [("--help", ""), ("--version", "1"), ("train copy --help", "1")]
)
def test_a_full_disk_behind_standard_output(arguments, unbuffered):
    done = subprocess.run(
        f"{sys.executable} -m minitransformer {arguments} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert done.returncode == 2
    assert done.stderr == "minitransformer: standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", ["gradcheck linear", "--help"])
def test_a_closed_pipe_is_quiet(arguments):
    command = f"{sys.executable} -m minitransformer {arguments} | true"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert not done.stderr


def test_a_clone_that_is_not_installed_runs():
    """There, importlib knows no version of it."""
    code = (
        "import importlib.metadata as m, runpy, sys; found = m.version\n"
        "def version(name):\n    if name == 'minitransformer': raise m.PackageNotFoundError(name)\n    return found(name)\n"
        "m.version = version; sys.argv = ['minitransformer', {!r}]; runpy.run_module('minitransformer', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.format("--version")], capture_output=True, text=True
    )
    assert done.returncode == 0 and minitransformer.__version__ in done.stdout and not done.stderr


def test_what_escapes_is_one_line_that_names_its_traceback(run_cli, monkeypatch, tmp_path):
    def fail(_):
        raise TypeError("a bug\nof two lines")

    monkeypatch.setattr(gradcheck_command, "execute", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, out, error = run_cli("gradcheck")
    (file,) = tmp_path.iterdir()
    assert (code, out) == (1, "") and one_line(error)
    assert (
        error
        == f"minitransformer: unexpected TypeError: a bug; please report it with the traceback in {file}\n"
    )
    assert "in fail" in file.read_text() and "TypeError: a bug" in file.read_text()


def test_huge_weights_are_one_line(trained, tmp_path):
    run = Run.load(shutil.copytree(trained, tmp_path / "run"))
    run.model.flat.data[...] = 3e38
    run.save_weights()
    done = subprocess.run(
        [sys.executable, "-m", "minitransformer", "translate", run.path, "a b"],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 2 and "its weights are unusable" in done.stderr and one_line(done.stderr)
    )
