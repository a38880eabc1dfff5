"""mpiexec -n 2 minitransformer train: one run, the numbers of one process, one voice, and nobody left waiting."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.cli import one_voice
from minitransformer.data.drawn import DrawnBatches
from minitransformer.evaluation import mean_loss
from minitransformer.launcher import Place, launched
from minitransformer.layers import Linear
from minitransformer.parallel import in_threads
from minitransformer.processes import Job
from minitransformer.tasks import TASKS
from minitransformer.training import checkpoint
from minitransformer.training.config import default_threads
from minitransformer.training.files import replace_listed
from tests.training.processes_program import trained
from tests.training.test_parallel import Process, assert_same_weights, in_processes, same_batches
from tests.training.test_resume import losses
from tests.training.test_training import start

ROOT = Path(__file__).parents[2]
with_mpi = pytest.mark.skipif(not (importlib.util.find_spec("mpi4py") and shutil.which("mpiexec")),
                              reason="needs mpi4py and mpiexec: pip install mpi4py mpich")
COMMAND = [sys.executable, "-m", "minitransformer", "train"]
COPY = ["copy", "--batch", "8", "--threads", "1", "--d-model", "16", "--d-ff", "16", "--dropout", "0.1", "--validate-every", "10"]
TIMEOUT = 60      # seconds: nothing here takes long, and nothing may wait forever


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def mpiexec(number, *command, **settings):
    """The CompletedProcess of `command` in so many processes."""
    return subprocess.run(["mpiexec", "-n", str(number), *map(str, command)], capture_output=True, text=True, timeout=TIMEOUT,
                          **{"env": environment(), **settings})


def refused(done):
    """The one line of an error, in one voice."""
    assert done.returncode == 2 and not done.stdout, done
    line, = done.stderr.splitlines()
    return line


# What the launcher says

@pytest.mark.parametrize("variables, expected", [
    ({}, Place(1, 0, 1, 0)),
    ({"PMI_SIZE": "4", "PMI_RANK": "3", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "1"}, Place(4, 3, 2, 1)),
    ({"PMI_SIZE": "4", "PMI_RANK": "3"}, Place(4, 3, 1, 3)),
    ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
      "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, Place(4, 2, 4, 2)),
    ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "7", "SLURM_LOCALID": "0"}, Place(8, 7, 1, 0)),
    ({"PMI_SIZE": "two", "PMI_RANK": "0"}, Place(1, 0, 1, 0)),
])
def test_the_variables_of_launchers(variables, expected):
    assert launched(variables) == expected


def test_processes_of_a_machine_share_its_cores(monkeypatch):
    monkeypatch.setattr("minitransformer.training.config.available_cores", lambda: 8)
    for processes, threads in (1, 4), (2, 4), (4, 2), (16, 1):
        monkeypatch.setattr("minitransformer.training.config.launched", lambda: Place(16, 0, processes, 0))
        assert default_threads() == threads


def test_one_process_imports_no_mpi():
    code = ("import sys; from minitransformer.cli import main; main(sys.argv[1:]); "
            "assert 'minitransformer.processes' in sys.modules; "
            "assert not {'mpi4py', 'minitransformer.cli.one_voice'} & set(sys.modules)")
    done = subprocess.run([sys.executable, "-c", code, "train", "--resume", "nothing"], capture_output=True, text=True,
                          env=environment())
    assert done.returncode == 0 and "nothing: no run here" in done.stderr, done.stderr


# What the processes share and agree on (simulated)

class SimulatedJob(Job):
    """A Job of several processes, which here are threads of this one."""

    def __init__(self, meeting, rank):
        super().__init__()
        self.meeting, self.processes, self.rank = meeting, len(meeting.brought), rank

    def gather(self, value):
        return self.meeting.exchange(self.rank, value)


def errors_of(count, work):
    """What InputError says in each of `count` simulated processes; None where there is none."""
    def member(meeting, rank):
        try:
            work(SimulatedJob(meeting, rank))
        except InputError as error:
            return str(error)

    return in_processes(count, member)


@pytest.mark.parametrize("count", [2, 3])
def test_processes_share_what_in_threads_computes(count):
    """Each item is one process's, and all have all results, in order; within an item nothing is shared."""
    done = [[] for _ in range(count)]

    def member(meeting, rank):
        def work(item):
            done[rank].append(item)
            return item * sum(in_threads(lambda x: x, [(1,), (2,)], 1))

        with Process(Linear(2, 2, np.random.default_rng(0)), 1, meeting, rank).sharing():
            shared = in_threads(work, [(i,) for i in range(7)], 2)
        assert in_threads(lambda x: x, [(rank,)], 1) == [rank]    # after it, each computes alone
        return shared

    assert in_processes(count, member) == [[0, 3, 6, 9, 12, 15, 18]] * count
    assert sorted(chain(*done)) == list(range(7)) and all(done)


def test_a_shared_validation_has_the_bits_of_one_process(tmp_path):
    """More batches than processes, of different lengths."""
    run, batches, valid = start(tmp_path / "run")
    valid = [*valid, *(next(batches) for _ in range(4))]
    expected = mean_loss(run.model, valid, 1)

    def member(meeting, rank):
        workers = Process(Run.open(tmp_path / "run").model, 1, meeting, rank)
        with workers.sharing():
            return mean_loss(workers.models[0], valid, 1)

    assert in_processes(3, member) == [expected] * 3


def test_what_fails_in_one_process_fails_in_all():
    def work(rank):
        if rank == 1:
            raise OSError(2, "No such file or directory", "text.en")
        return rank

    assert errors_of(3, lambda job: job.together(lambda: work(job.rank))) == [
        "process 1: text.en: No such file or directory"] * 3
    with pytest.raises(OSError, match="No such file"):    # alone, the error itself
        Job().together(lambda: work(1))


def test_settings_that_differ_are_refused():
    found = errors_of(3, lambda job: job.check_alike({"seed": 0 if job.rank < 2 else 5, "steps": 3}))
    assert found == ["the processes differ: seed is 0 in process 0 and 5 in process 2"] * 3
    assert errors_of(2, lambda job: job.check_alike({"seed": 0})) == [None] * 2


def test_versions_that_differ_are_refused(monkeypatch):
    main = threading.current_thread()    # process 0
    monkeypatch.setattr("minitransformer.processes.version",
                        lambda name: "1.0" if threading.current_thread() is main or name != "numpy" else "2.0")
    found = errors_of(2, lambda job: job.check_alike({}))
    assert found == ["the processes differ: numpy is 1.0 in process 0 and 2.0 in process 1"] * 2


def test_more_processes_than_sentences_are_refused():
    """And the batches are where they were."""
    batches = [DrawnBatches(TASKS["copy"](), 2, 0) for _ in range(3)]
    found = errors_of(3, lambda job: job.check_sentences(batches[job.rank]))
    assert found == ["3 processes share each batch, but no batch has so many sentences (the largest: 2); start at most 2, "
                     "or choose a larger --batch"] * 3
    assert errors_of(2, lambda job: job.check_sentences(batches[job.rank])) == [None] * 2
    assert [each.position for each in batches] == [0, 0, 0]


def test_processes_that_have_drifted_apart_are_refused(tmp_path):
    """At the next checkpoint, which is not written."""
    start(tmp_path / "run")

    def member(meeting, rank):
        run = Run.open(tmp_path / "run")
        batches, valid = same_batches()

        def drift(model):
            model.flat.data[5] += rank * 1e-3    # after the check at step 4
            return {}

        try:
            train(run, TrainingConfig(steps=9, warmup=4, validate_every=4, threads=1), batches, valid, drift,
                  make_workers=lambda model, count: Process(model, count, meeting, rank))
        except InputError as error:
            return str(error)

    for error in in_processes(2, member):
        assert error.startswith("the weights of process 1 (step 4) are not those of process 0 (step 4); ")
    assert not checkpoint.steps(tmp_path / "run")


# How a process ends (its parts)

@pytest.mark.parametrize("written, expected", [
    ("one\ntwo\n", "two"), ("", ""), ("one\nTraceback (most recent call last):\n  File\nTypeError: a\n",
                                    "Traceback (most recent call last):\n  File\nTypeError: a")])
def test_the_last_words_of_a_process(tmp_path, written, expected):
    with open(tmp_path / "heard", "wb+") as heard:
        heard.write(written.encode())
        assert one_voice._last_words(heard) == expected


def test_the_exit_code_of_a_process(capsys):
    def ends(error):
        raise error

    assert one_voice._exit_code(lambda: 130) == 130
    assert [one_voice._exit_code(lambda: ends(SystemExit(code))) for code in (None, 2)] == [0, 2]
    assert one_voice._exit_code(lambda: ends(TypeError("a bug"))) == 1
    assert capsys.readouterr().err.endswith("TypeError: a bug\n")


def test_the_others_are_waited_for():
    """For so many seconds, or until they come."""
    class Request:
        looks = 0

        def Test(self):
            self.looks += 1
            return self.looks > 3

    request = Request()
    assert one_voice._all_came(request, None) and request.looks == 4
    assert not one_voice._all_came(Request(), 0)


# The real thing

@with_mpi
@pytest.mark.parametrize("number", [2, 3])
def test_several_processes_compute_what_one_computes(tmp_path, number):
    """Losses to 1e-10 in float64 and without dropout; with dropout the same bits for the same number; in all processes."""
    done = mpiexec(number, sys.executable, "-m", "tests.training.processes_program", tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    run, weights = trained(tmp_path / "one", 0.0, Job())
    for one, several in zip(losses(run), found["losses"], strict=True):
        assert several == pytest.approx(one, rel=1e-10, abs=1e-10)
    several = Run.open(tmp_path / "one").model.astype(np.float64)
    several.flat.data[...] = np.load(tmp_path / "weights.npy")
    assert_same_weights(several, run.model, 1e-9)
    assert found["checksums"] == [found["checksums"][0]] * number
    _, dropout, again = found["checksums"][0]
    assert dropout == again
    for size in range(3):
        assert len({checksum for process in found["sums"] for checksum in process[size]}) == 1


@with_mpi
def test_the_command_speaks_with_one_voice(tmp_path):
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
    """A Popen of a long run in two processes that has made its first steps; `folder` is their MARKER, too. The block ends it."""
    process = subprocess.Popen(["mpiexec", "-n", "2", *COMMAND, *COPY, "--steps", "4000", "--validate-every", "5000", "--run",
                                str(folder / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(MARKER=str(folder)))
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
        except OSError:    # it has ended
            continue
        if f"MARKER={marker}".encode() in variables and any(
                f"{name}={rank}".encode() in variables for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK")):
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
    """Ctrl-C reaches the launcher, and so all processes; SIGTERM may reach one of them. Any number of processes resumes."""
    with begun(tmp_path) as process:
        os.kill(rank_of(tmp_path, 1), signal.SIGTERM) if one else process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130 and error.count("stopped after") == 1, error
    assert f"resume: minitransformer train --resume {tmp_path / 'run'}" in error and "Traceback" not in error
    step, = checkpoint.steps(tmp_path / "run")
    if one:
        return
    config = tmp_path / "run" / "config.json"
    for steps, number in (step + 5, 3), (step + 10, 1):    # a run that ends soon
        settings = json.loads(config.read_text())
        settings["training"]["steps"] = steps
        replace_listed(tmp_path / "run", "config.json", json.dumps(settings).encode())
        done = mpiexec(number, *COMMAND, "--resume", tmp_path / "run")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("resuming after step") == 1 and max(checkpoint.steps(tmp_path / "run")) == steps


PATCHED = """
import os, sys
import minitransformer.training.step as step
from minitransformer.launcher import launched
from minitransformer.cli import main
usual, calls = step.add_gradients, []

def add_gradients(model, batches, *more):
    calls.append(1)
    sums = usual(model, batches, *more)
    if launched().rank == int(sys.argv[1]) and len(calls) > 12:
        {what}
    return sums

step.add_gradients = add_gradients
sys.exit(main(sys.argv[2:]))
"""


def patched(what, rank, folder):
    """A run in two processes of which one does `what` from its 13th step on."""
    return mpiexec(2, sys.executable, "-c", PATCHED.format(what=what), rank, "train", *COPY, "--steps", "40", "--run", folder)


@with_mpi
@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_in_one_process_ends_all(tmp_path, rank):
    done = patched("raise InputError('wrong')".replace("InputError", "step.InputError"), rank, tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == ("process 1: " if rank else "") + "minitransformer: wrong"
    assert len(checkpoint.steps(tmp_path / "run")) == 1    # that of step 10


@with_mpi
def test_a_bug_in_one_process_ends_all_with_its_traceback(tmp_path):
    done = patched("raise TypeError('a bug')", 1, tmp_path / "run")
    assert done.returncode == 1 and "process 1: Traceback" in done.stderr
    assert done.stderr.splitlines()[-1] == "TypeError: a bug"


@with_mpi
def test_all_agree_on_nan(tmp_path):
    """One of them makes it, and finds the block; process 0 says it."""
    done = patched("model.flat.data[:] = float('inf'); usual(model, batches, *more)", 1, tmp_path / "run")
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and re.match("minitransformer: step 13: NaN or infinity in .*, forward; the weights of step 10 "
                                             "are kept", line), done.stderr
    assert "process" not in line


@with_mpi
def test_a_file_that_cannot_be_written_ends_all(tmp_path):
    """Only process 0 knows."""
    folder = tmp_path / "run"
    done = mpiexec(2, sys.executable, "-c", f"""
import sys
from pathlib import Path
from minitransformer.cli import main
from minitransformer.training import checkpoint
checkpoint.make_folder = lambda folder: Path({str(tmp_path / 'file')!r}, "x").mkdir()
sys.exit(main(sys.argv[1:]))
""", "train", *COPY, "--steps", "20", "--run", folder)
    assert done.returncode == 2 and "the checkpoint of step 10 cannot be saved" in done.stderr.splitlines()[-1]


@with_mpi
@pytest.mark.parametrize("arguments, expected", [
    (["copy", "--stps", "3"], "minitransformer train copy: unrecognized arguments: --stps 3; did you mean --steps?"),
    (["translate", "--train", "a", "b", "--valid", "a", "b"], "a: No such file or directory"),
    (["copy", "--batch", "1"], "2 processes share each batch, but no batch has so many sentences (the largest: 1)"),
    (["--resume", "nothing"], "nothing: no run here"),
])
def test_a_mistake_is_one_line(tmp_path, arguments, expected):
    assert expected in refused(mpiexec(2, *COMMAND, *arguments, cwd=tmp_path))
    assert not list(tmp_path.iterdir())


@with_mpi
def test_processes_started_differently_are_refused(tmp_path):
    """Other settings; a run folder that only process 0 sees; a mistake of one of them alone."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    expected = {
        ("a", "0", "a", "1"): "minitransformer: the processes differ: seed is 0 in process 0 and 1 in process 1",
        ("a", "0", "b", "0"): "minitransformer: process 1: run: no run here (no config.json)",
        ("a", "0", "a", "x"): "process 1: minitransformer train copy: argument --seed: invalid int value: 'x'"}
    for (folder, seed, other_folder, other_seed), line in expected.items():
        done = mpiexec(1, "-wdir", tmp_path / folder, *COMMAND, *COPY, "--run", "run", "--seed", seed, ":",
                       "-n", "1", "-wdir", tmp_path / other_folder, *COMMAND, *COPY, "--run", "run", "--seed", other_seed)
        assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(line), done.stderr
        shutil.rmtree(tmp_path / folder / "run", ignore_errors=True)


@with_mpi
@pytest.mark.parametrize("lacking", ["all", "1"])
def test_mpiexec_without_mpi4py(tmp_path, lacking):
    """Everywhere, or for one process alone, for which the others do not wait; MPICH's launcher ends them."""
    (tmp_path / "mpi4py.py").write_text("raise ModuleNotFoundError('mpi4py', name='mpi4py')")
    lacks, has = environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"), environment()
    if lacking == "all":
        assert refused(mpiexec(2, *COMMAND, *COPY, env=lacks, cwd=tmp_path)) == (
            "minitransformer: several processes need mpi4py: pip install mpi4py mpich")
    else:
        done = mpiexec(1, *COMMAND, *COPY, ":", "-n", "1", "-env", "PYTHONPATH", lacks["PYTHONPATH"], *COMMAND, *COPY,
                       env=has, cwd=tmp_path)
        assert done.returncode == 2
    assert not (tmp_path / "runs").exists()


@with_mpi
def test_processes_that_do_not_see_each_other_are_refused(tmp_path):
    """A launcher that says two, and an MPI that sees one: each process would train alone."""
    for rank in ("0", "1"):
        done = subprocess.run([*COMMAND, *COPY], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path,
                              env=environment(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK=rank))
        assert done.returncode == 2
        lines = done.stderr.splitlines()
        assert len(lines) == (rank == "0") and not done.stdout
        assert not lines or "the launcher has started 2 processes, but MPI sees 1" in lines[0]
    assert not list(tmp_path.iterdir())
