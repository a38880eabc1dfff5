"""The settings of the process: made temporarily, and undone."""

import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from minitransformer import (
    Adam,
    InputError,
    Threads,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    fast,
    make_batch,
    train,
    training_step,
    translate,
)
from minitransformer import cores, memory
from minitransformer.speed import host
from tests.helpers.runs import start
from tests.helpers.overlapping import left_by_the_first


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def settings(monkeypatch):
    """What glibc's malloc is told while a test runs; BLAS begins with two threads."""
    told = []
    monkeypatch.setattr(host, "_mallopt", told.append)
    with threadpool_limits(2, user_api="blas"):
        yield told


def test_fast_is_undone_by_the_last_to_leave(settings):
    with fast():
        assert blas_threads() == {1} and settings == [host.KEEP]
        with fast():
            assert blas_threads() == {1}
        assert blas_threads() == {1} and settings == [host.KEEP]
    assert blas_threads() == {2} and settings == [host.KEEP, host.USUAL]
    assert host.USUAL.keys() > host.KEEP.keys()


def test_fast_is_undone_after_an_error(settings):
    with pytest.raises(KeyError), fast():
        raise KeyError
    assert blas_threads() == {2} and settings == [host.KEEP, host.USUAL]


def test_fast_of_two_threads_may_overlap(settings):
    """The first leaves, and the other one keeps its settings."""
    assert left_by_the_first(fast, blas_threads) == {1}
    assert blas_threads() == {2} and settings == [host.KEEP, host.USUAL]


MEMORY = """
import numpy as np
from minitransformer import fast

def pages():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1])

size = 100 * 2 ** 20
with fast():
    before = pages()
    np.ones(size, np.uint8)
    print((pages() - before) * 4096 / size)
print((pages() - before) * 4096 / size)
np.ones(size, np.uint8)
print((pages() - before) * 4096 / size)
"""


def test_memory_freed_within_fast_is_kept_and_returned_at_the_end():
    """Of the memory that glibc manages; with other C libraries there is nothing to check. In a
    process with a heap of its own.
    """
    if not hasattr(host.ctypes.pythonapi, "mallopt"):
        pytest.skip("no glibc: its malloc has no settings")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    inside, after, later = map(float, done.stdout.split())
    assert inside > 0.9 and after < 0.1 and later < 0.1


def test_a_library_call_leaves_no_setting_behind(settings, tmp_path):
    run, batches, valid = start(tmp_path / "run")
    seen = []

    def watched():
        for batch in batches:
            seen.append(blas_threads())
            yield batch

    train(run, TrainingConfig(steps=2, warmup=1, threads=2), watched(), valid)
    with pytest.raises(InputError, match="the batches ended"):
        train(
            start(tmp_path / "other")[0],
            TrainingConfig(steps=2, warmup=1, threads=2),
            iter([]),
            valid,
        )
    translate(run.model, run.vocabulary, ["a b"], 10)
    assert set.union(*seen) == {1} and blas_threads() == {2}
    assert settings == []


def test_the_threads_of_a_training_run_end_with_it(tmp_path):
    before = set(threading.enumerate())
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=2, warmup=1, threads=3), batches, valid)
    assert set(threading.enumerate()) <= before


def test_closed_threads_are_refused():
    model = Transformer(TransformerConfig.named("toy", 12))
    adam, batch = Adam(model), make_batch([([4, 5], [6])] * 2)
    for count in (1, 2):
        with Threads(model, count) as threads:
            training_step(model, adam, batch, 0.01, workers=threads)
        with pytest.raises(InputError, match="these Threads were closed"):
            training_step(model, adam, batch, 0.01, workers=threads)


@pytest.mark.parametrize(
    "own, files, expected",
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, [1.5]),  # a container
        ("0::/pod/one\n", {"pod/one/cpu.max": "max 100000", "pod/cpu.max": "50000 100000"}, [0.5]),
        ("0::/docker/3f\n", {"cpu.max": "400000 100000"}, [4]),  # its path is the host's
        ("0::/../x\n", {"cpu.max": "max"}, []),
        ("", {}, []),
        ("nonsense\n", {"cpu.max": "1 0\n"}, []),
        (None, {}, []),
    ],
)
def test_quotas_of_control_groups(own, files, expected, tmp_path, monkeypatch):
    if own is not None:
        (tmp_path / "own").write_text(own, encoding="utf-8", errors="surrogateescape")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(memory, "GROUP", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    found = list(cores.quotas())
    assert found == expected
    monkeypatch.setattr(cores, "quotas", lambda: found)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: range(3), raising=False)
    assert cores.available_cores() == {0.5: 1, 1.5: 2, 2: 2}.get(*expected or [4], 3)
