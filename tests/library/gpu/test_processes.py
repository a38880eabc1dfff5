"""Several processes, each with a GPU: NCCL adds up what stays on the GPUs. Here a stand-in for
cupyx.distributed does.
"""

import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from minitransformer import Adam, Transformer, TransformerConfig, make_batch, training_step
from minitransformer.backend import to_host
from minitransformer.speed import processes
from minitransformer.speed.launcher import Place
from minitransformer.speed.processes import Job, Processes
from tests.library.gpu import strict
from tests.helpers.processes import PAIRS, Process, in_processes

LOCAL = threading.local()  # which simulated process a thread is


class NCCLBackend:
    """The parts of CuPy's that are used, with its signatures."""

    def __init__(self, n_devices, rank, host="127.0.0.1", port=13333, use_mpi=False):
        assert use_mpi and (n_devices, rank) == (2, LOCAL.rank)

    def all_reduce(self, in_array, out_array, op="sum", stream=None):
        assert isinstance(in_array, strict.ndarray) and in_array is out_array and op == "sum"
        out_array._array[...] = sum(LOCAL.meeting.exchange(LOCAL.rank, in_array._array.copy()))


@pytest.fixture
def nccl(monkeypatch):
    distributed = ModuleType("cupyx.distributed")
    distributed.NCCLBackend = NCCLBackend
    monkeypatch.setitem(sys.modules, "cupy", strict.cupy)
    monkeypatch.setitem(sys.modules, "cupyx", ModuleType("cupyx"))
    monkeypatch.setitem(sys.modules, "cupyx.distributed", distributed)
    monkeypatch.setattr(processes, "world", lambda: SimpleNamespace(size=2, rank=LOCAL.rank))


def trained(backend, make_workers):
    model = Transformer(
        TransformerConfig.named("toy", 12, d_model=16, d_ff=24, dropout=0.3), seed=1
    ).to(backend)
    adam, workers = Adam(model), make_workers(model)
    sums = [
        training_step(model, adam, make_batch(PAIRS), 0.01, (7, step), 0.1, 0.5, workers)
        for step in range(3)
    ]
    return to_host(model.flat.data), [float(each.loss) for each in sums]


def test_nccl_adds_up_what_mpi_would(nccl):
    """The same bits as simulated processes on the CPU, whose textbook functions the stand-in runs;
    no step waits for the sum.
    """

    def member(meeting, rank):
        LOCAL.meeting, LOCAL.rank = meeting, rank
        expected = trained("numpy", lambda model: Process(model, 1, meeting, rank))
        return expected, trained("cupy", lambda model: Processes(model, 1))

    for (expected, losses), (found, found_losses) in in_processes(2, member):
        np.testing.assert_array_equal(found, expected)
        assert found_losses == losses


def test_each_process_of_a_machine_has_a_gpu(monkeypatch):
    """They take turns where there are fewer GPUs than processes; one process keeps what it has, and
    so does the CPU.
    """
    used = []
    cuda = SimpleNamespace(
        Device=lambda number: SimpleNamespace(use=lambda: used.append(number)),
        runtime=SimpleNamespace(getDeviceCount=lambda: 2),
    )
    for rank_here in range(3):
        monkeypatch.setattr(processes, "launched", lambda: Place(6, 3 + rank_here, 3, rank_here))
        Job().choose_gpu(SimpleNamespace(cuda=cuda))
    assert used == [0, 1, 0]
    Job().choose_gpu(np)
    monkeypatch.setattr(processes, "launched", lambda: Place(1, 0, 1, 0))
    Job().choose_gpu(SimpleNamespace(cuda=cuda))
    assert used == [0, 1, 0]
