"""Several processes: what their launcher says, what they share and agree on, and the numbers of one
process.
"""

import json
import subprocess
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.cli import several_processes
from minitransformer.data.drawn import DrawnBatches
from minitransformer.speed.launcher import Place, completes, launched
from minitransformer.speed.processes import Job
from minitransformer.tasks import TASKS
from minitransformer.runs import checkpoint
from minitransformer.runs.config import default_threads
from tests.helpers.mpi import environment, mpiexec, with_mpi
from tests.library.training.processes_program import trained
from tests.helpers.processes import Process, assert_same_weights, in_processes, same_batches
from tests.helpers.runs import losses, start

# What the launcher says


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, Place(1, 0, 1, 0)),
        (
            {"PMI_SIZE": "4", "PMI_RANK": "3", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "1"},
            Place(4, 3, 2, 1),
        ),
        ({"PMI_SIZE": "4", "PMI_RANK": "3"}, Place(4, 3, 1, 3)),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_RANK": "2",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
                "OMPI_COMM_WORLD_LOCAL_RANK": "2",
            },
            Place(4, 2, 4, 2),
        ),
        (
            {"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "7", "SLURM_LOCALID": "0"},
            Place(8, 7, 1, 0),
        ),
        ({"PMI_SIZE": "two", "PMI_RANK": "0"}, Place(1, 0, 1, 0)),
    ],
)
def test_the_variables_of_launchers(variables, expected):
    assert launched(variables) == expected


def test_processes_of_a_machine_share_its_cores(monkeypatch):
    monkeypatch.setattr("minitransformer.runs.config.available_cores", lambda: 8)
    for processes, threads in (1, 4), (2, 4), (4, 2), (16, 1):
        monkeypatch.setattr(
            "minitransformer.runs.config.launched", lambda: Place(16, 0, processes, 0)
        )
        assert default_threads() == threads


@pytest.mark.parametrize(
    "workers, processes, refused",
    [
        ("processes", 2, True),
        ("processes", 3, True),
        ("processes", 1, False),
        ("threads", 2, False),
        (None, 2, False),
    ],
)
def test_only_one_process_starts_others(workers, processes, refused, monkeypatch):
    monkeypatch.setattr(
        "minitransformer.speed.processes.launched", lambda: Place(processes, 0, processes, 0)
    )
    with (
        pytest.raises(
            InputError, match="workers is processes, but the launcher has already started several"
        )
        if refused
        else (nullcontext())
    ):
        assert Job(workers).processes == processes


def test_one_process_imports_no_mpi():
    code = (
        "import sys; from minitransformer.cli import main; main(sys.argv[1:]); "
        "assert 'minitransformer.speed.processes' in sys.modules; "
        "assert not {'mpi4py', 'minitransformer.cli.several_processes'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "train", "--resume", "nothing"],
        capture_output=True,
        text=True,
        env=environment(),
    )
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


def test_what_fails_in_one_process_fails_in_all():
    def work(rank):
        if rank == 1:
            raise OSError(2, "No such file or directory", "text.en")
        return rank

    assert (
        errors_of(3, lambda job: job.together(lambda: work(job.rank)))
        == ["process 1: text.en: No such file or directory"] * 3
    )
    with pytest.raises(OSError, match="No such file"):  # alone, the error itself
        Job().together(lambda: work(1))


def test_settings_that_differ_are_refused():
    found = errors_of(
        3, lambda job: job.check_alike({"seed": 0 if job.rank < 2 else 5, "steps": 3})
    )
    assert found == ["the processes differ: seed is 0 in process 0 and 5 in process 2"] * 3
    assert errors_of(2, lambda job: job.check_alike({"seed": 0})) == [None] * 2


def test_versions_that_differ_are_refused(monkeypatch):
    main = threading.current_thread()  # process 0
    monkeypatch.setattr(
        "minitransformer.speed.processes.version",
        lambda name: "1.0" if threading.current_thread() is main or name != "numpy" else "2.0",
    )
    found = errors_of(2, lambda job: job.check_alike({}))
    assert found == ["the processes differ: numpy is 1.0 in process 0 and 2.0 in process 1"] * 2


def test_more_processes_than_sentences_are_refused():
    """And the batches are where they were."""
    batches = [DrawnBatches(TASKS["copy"](), 2, 0) for _ in range(3)]
    found = errors_of(3, lambda job: job.check_sentences(batches[job.rank]))
    assert (
        found
        == [
            "3 processes share each batch, but no batch has so many sentences (the largest: 2); start at most 2, "
            "or choose a larger --batch"
        ]
        * 3
    )
    assert errors_of(2, lambda job: job.check_sentences(batches[job.rank])) == [None] * 2
    assert [each.position for each in batches] == [0, 0, 0]


def test_processes_that_have_drifted_apart_are_refused(tmp_path):
    """At the next checkpoint, which is not written."""
    start(tmp_path / "run")

    def member(meeting, rank):
        run = Run.open(tmp_path / "run")
        batches, valid = same_batches()

        def drifting():
            for step, batch in enumerate(batches, 1):
                run.model.flat.data[5] += rank * 1e-3 * (step == 5)  # after the check at step 4
                yield batch

        try:
            train(
                run,
                TrainingConfig(steps=9, warmup=4, validate_every=4, threads=1),
                drifting(),
                valid,
                make_workers=lambda model, count: Process(model, count, meeting, rank),
            )
        except InputError as error:
            return str(error)

    for error in in_processes(2, member):
        assert error.startswith(
            "the weights of process 1 (step 8) differ from those of process 0 (step 8); "
        )
    assert checkpoint.steps(tmp_path / "run") == [4]


# How a process ends (its parts)


@pytest.mark.parametrize(
    "written, expected",
    [
        ("one\ntwo\n", "two"),
        ("", ""),
        (
            "one\nTraceback (most recent call last):\n  File\nTypeError: a\n",
            "Traceback (most recent call last):\n  File\nTypeError: a",
        ),
    ],
)
def test_the_last_error_of_a_process(tmp_path, written, expected):
    with open(tmp_path / "captured", "wb+") as captured:
        captured.write(written.encode())
        assert several_processes._last_error(captured) == expected


def test_the_exit_code_of_a_process(capsys):
    def ends(error):
        raise error

    assert several_processes._exit_code(lambda: 130) == 130
    assert [several_processes._exit_code(lambda: ends(SystemExit(code))) for code in (None, 2)] == [
        0,
        2,
    ]
    assert several_processes._exit_code(lambda: ends(TypeError("a bug"))) == 1
    assert capsys.readouterr().err.endswith("TypeError: a bug\n")


def test_the_others_are_waited_for():
    """For so many seconds, or until they come."""

    class Request:
        looks = 0

        def Test(self):
            self.looks += 1
            return self.looks > 3

    request = Request()
    assert completes(request) and request.looks == 4
    assert not completes(Request(), 0)


# The real thing


@with_mpi
@pytest.mark.campaign
@pytest.mark.parametrize("number", [2, 3])
def test_several_processes_compute_what_one_computes(tmp_path, number):
    """Losses to 1e-10 in float64 and without dropout; with dropout the same bits for the same
    number; in all processes.
    """
    done = mpiexec(
        number, sys.executable, "-m", "tests.library.training.processes_program", tmp_path
    )
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
