"""mpiexec -n 2 minitransformer train: one run, one process that prints, and none left waiting."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from minitransformer import Run
from minitransformer.runs import checkpoint
from tests.helpers.command import rewrite
from tests.helpers.mpi import ROOT, TIMEOUT, environment, mpiexec, with_mpi

pytestmark = pytest.mark.campaign

COMMAND = [sys.executable, "-m", "minitransformer", "train"]
COPY = (
    "copy --batch 8 --threads 1 --d-model 16 --d-ff 16 --dropout 0.1 --validate-every 10"
).split()


def refused(done):
    """The one line of an error, which one process prints."""
    assert done.returncode == 2 and not done.stdout, done
    (line,) = done.stderr.splitlines()
    return line


@with_mpi
def test_only_process_0_prints(tmp_path):
    """It trains one run. Resumed from a checkpoint in the middle, that ends with the same bits."""
    done = mpiexec(2, *COMMAND, *COPY, "--steps", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert len(lines) == len(set(lines)) and "saved in runs/copy" in lines
    assert sum(line.startswith("copy: toy Transformer") for line in lines) == 1
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["copy"]
    run = tmp_path / "runs" / "copy"
    assert (run / "report.html").exists() and Run.load(run).finished, done.stderr
    weights = (run / "weights.safetensors").read_bytes()
    (run / "weights.safetensors").unlink()
    shutil.rmtree(run / "checkpoints" / "step-00000020")
    done = mpiexec(2, *COMMAND, "--resume", run)
    assert done.returncode == 0 and "resuming after step 10" in done.stderr
    assert (run / "weights.safetensors").read_bytes() == weights


@contextmanager
def begun(folder):
    """A Popen of a long run in two processes that has made its first steps; `folder` is their
    MARKER, too. The block ends it.
    """
    process = subprocess.Popen(
        [
            "mpiexec",
            "-n",
            "2",
            *COMMAND,
            *COPY,
            "--steps",
            "4000",
            "--validate-every",
            "5000",
            "--run",
            str(folder / "run"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(MARKER=str(folder)),
    )
    try:
        assert any(re.search("^step [1-9][0-9]* of", line) for line in process.stderr)
        yield process
    finally:
        process.kill()


def rank_of(marker, rank):
    """The process id of this rank of the run with that marker in its environment."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if f"MARKER={marker}".encode() in variables and any(
            f"{name}={rank}".encode() in variables for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
        ):
            return int(path.parent.name)
    raise AssertionError("no such process")


@with_mpi
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_process_that_is_killed_ends_the_run(tmp_path):
    """Within ten seconds, without the others waiting for it."""
    with begun(tmp_path) as process:
        since = time.monotonic()
        os.kill(rank_of(tmp_path, 1), signal.SIGKILL)
        process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0 and time.monotonic() - since < 10


@with_mpi
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("one", [False, True], ids=["Ctrl-C", "SIGTERM of one process"])
def test_all_stop_after_the_same_step(tmp_path, one):
    """Ctrl-C reaches the launcher, and so all processes; SIGTERM may reach one of them. Any number
    of processes resumes.
    """
    with begun(tmp_path) as process:
        os.kill(rank_of(tmp_path, 1), signal.SIGTERM) if one else process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130 and error.count("stopped after") == 1, error
    assert (
        f"resume: minitransformer train --resume {tmp_path / 'run'}" in error
        and "Traceback" not in error
    )
    (step,) = checkpoint.steps(tmp_path / "run")
    if one:
        return
    config = tmp_path / "run" / "config.json"
    for steps, number in (step + 5, 3), (step + 10, 1):  # a run that ends soon
        settings = json.loads(config.read_text())
        settings["training"]["steps"] = steps
        rewrite(tmp_path / "run", settings)
        done = mpiexec(number, *COMMAND, "--resume", tmp_path / "run")
        assert done.returncode == 0, done.stderr
        assert (
            done.stderr.count("resuming after step") == 1
            and max(checkpoint.steps(tmp_path / "run")) == steps
        )


PATCHED = """
import os, sys
import minitransformer.training.step as step
from minitransformer.cli import main
from minitransformer.speed.launcher import launched
usual, calls = step.add_gradients, []

def add_gradients(model, batches, *more, **settings):
    calls.append(1)
    sums = usual(model, batches, *more, **settings)
    if launched().rank == int(sys.argv[1]) and len(calls) > 12:
        {what}
    return sums

step.add_gradients = add_gradients
sys.exit(main(sys.argv[2:]))
"""


def patched(what, rank, folder):
    """A run in two processes of which one does `what` from its 13th step on."""
    return mpiexec(
        2,
        sys.executable,
        "-c",
        PATCHED.format(what=what),
        rank,
        "train",
        *COPY,
        "--steps",
        "40",
        "--run",
        folder,
    )


@with_mpi
@pytest.mark.parametrize(
    "what, rank, code, line",
    [
        ("raise step.InputError('wrong')", 0, 2, "minitransformer: wrong"),
        ("raise step.InputError('wrong')", 1, 2, "process 1: minitransformer: wrong"),
        (
            "raise TypeError('a bug')",
            1,
            1,
            "process 1: minitransformer: unexpected TypeError: a bug; please report it with the traceback in (.+)",
        ),
        (
            "model.flat.data[:] = float('inf'); usual(model, batches, *more, **settings)",
            1,
            2,  # both find it; process 0 says it
            "minitransformer: step 13: NaN or infinity in .*, forward; the weights of step 10 are kept.*",
        ),
    ],
)
def test_an_error_in_one_process_ends_all(tmp_path, what, rank, code, line):
    """At worst after the checkpoint of step 10."""
    done = patched(what, rank, tmp_path / "run")
    found = re.fullmatch(line, done.stderr.splitlines()[-1])
    assert done.returncode == code and found, done.stderr
    assert len(checkpoint.steps(tmp_path / "run")) == 1
    assert not found.groups() or Path(found[1]).read_text().endswith("TypeError: a bug\n")


@with_mpi
def test_a_file_that_cannot_be_written_ends_all(tmp_path):
    """Only process 0 knows."""
    folder = tmp_path / "run"
    done = mpiexec(
        2,
        sys.executable,
        "-c",
        f"""
import sys
from pathlib import Path
from minitransformer.cli import main
from minitransformer.runs import checkpoint
checkpoint.make_folder = lambda folder: Path({str(tmp_path / "file")!r}, "x").mkdir()
sys.exit(main(sys.argv[1:]))
""",
        "train",
        *COPY,
        "--steps",
        "20",
        "--run",
        folder,
    )
    assert (
        done.returncode == 2
        and "the checkpoint of step 10 cannot be saved" in done.stderr.splitlines()[-1]
    )


@with_mpi
@pytest.mark.parametrize(
    "arguments, expected",
    [
        (
            ["copy", "--stps", "3"],
            "minitransformer train copy: unrecognized arguments: --stps 3; did you mean --steps?",
        ),
        ("translate --train a b --valid a b".split(), "a: No such file or directory"),
        (
            ["copy", "--batch", "1"],
            "2 processes share each batch, but no batch has so many sentences (the largest: 1)",
        ),
        (["--resume", "nothing"], "nothing: no run here"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, arguments, expected):
    assert expected in refused(mpiexec(2, *COMMAND, *arguments, cwd=tmp_path))
    assert not list(tmp_path.iterdir())


@with_mpi
def test_processes_started_differently_are_refused(tmp_path):
    """Other settings; a run folder that only process 0 sees; a mistake of one of them alone."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    expected = {
        (
            "a",
            "0",
            "a",
            "1",
        ): "minitransformer: the processes differ: seed is 0 in process 0 and 1 in process 1",
        ("a", "0", "b", "0"): "minitransformer: process 1: run: no run here (no config.json)",
        (
            "a",
            "0",
            "a",
            "x",
        ): "process 1: minitransformer train copy: argument --seed: invalid int value: 'x'",
    }
    for (folder, seed, other_folder, other_seed), line in expected.items():
        done = mpiexec(
            1,
            "-wdir",
            tmp_path / folder,
            *COMMAND,
            *COPY,
            "--run",
            "run",
            "--seed",
            seed,
            ":",
            "-n",
            "1",
            "-wdir",
            tmp_path / other_folder,
            *COMMAND,
            *COPY,
            "--run",
            "run",
            "--seed",
            other_seed,
        )
        assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(line), done.stderr
        shutil.rmtree(tmp_path / folder / "run", ignore_errors=True)


@with_mpi
@pytest.mark.parametrize("lacking", ["all", "1"])
def test_mpiexec_without_mpi4py(tmp_path, lacking):
    """Everywhere, or for one process alone, for which the others do not wait; MPICH's launcher ends
    them.
    """
    (tmp_path / "mpi4py.py").write_text("raise ModuleNotFoundError('mpi4py', name='mpi4py')")
    lacks, has = environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"), environment()
    if lacking == "all":
        assert refused(mpiexec(2, *COMMAND, *COPY, env=lacks, cwd=tmp_path)) == (
            'minitransformer: several processes need mpi4py: pip install ".[distributed]" in the folder of the clone, '
            "or pip install mpi4py mpich"
        )
    else:
        done = mpiexec(
            1,
            *COMMAND,
            *COPY,
            ":",
            "-n",
            "1",
            "-env",
            "PYTHONPATH",
            lacks["PYTHONPATH"],
            *COMMAND,
            *COPY,
            env=has,
            cwd=tmp_path,
        )
        assert done.returncode == 2
    assert not (tmp_path / "runs").exists()


@with_mpi
def test_processes_that_do_not_see_each_other_are_refused(tmp_path):
    """A launcher that says two, and an MPI that sees one: each process would train alone."""
    for rank in ("0", "1"):
        done = subprocess.run(
            [*COMMAND, *COPY],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            cwd=tmp_path,
            env=environment(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK=rank),
        )
        assert done.returncode == 2
        lines = done.stderr.splitlines()
        assert len(lines) == (rank == "0") and not done.stdout
        assert not lines or "the launcher has started 2 processes, but MPI sees 1" in lines[0]
    assert not list(tmp_path.iterdir())
