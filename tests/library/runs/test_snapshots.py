"""Snapshots for the explorer's time slider: nothing else notices them."""

import os
from threading import Timer

import numpy as np
import pytest
from safetensors.numpy import load_file

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.runs import checkpoint, snapshots
from tests.helpers.runs import Interrupted, of_task, start

SETTINGS = dict(steps=10, warmup=2, validate_every=4, average=2, seed=5, threads=1)


def test_they_do_not_count_for_averaging_or_resuming(tmp_path):
    """With them a run ends with the same bits, whether it is stopped or not; and they are the
    weights of their steps.
    """
    plain, _, valid = start(tmp_path / "plain", 5)
    train(plain, TrainingConfig(**SETTINGS), of_task(5), valid)
    kept, _, _ = start(tmp_path / "kept", 5)
    initial = {name: parameter.data.copy() for name, parameter in kept.model.parameters().items()}
    config = TrainingConfig(**SETTINGS, snapshot_every=3)
    train(kept, config, of_task(5), valid)
    stopped, _, _ = start(tmp_path / "stopped", 5)
    train(stopped, config, Interrupted(of_task(5), 5), valid)
    assert snapshots.snapshot_steps(stopped.path) == [0, 3]
    train(Run.open(stopped.path), config, of_task(5), valid, resume=True)

    expected = load_file(plain.path / "weights.safetensors")
    for run in (kept, stopped):
        found = load_file(run.path / "weights.safetensors")
        assert found.keys() == expected.keys() and all(
            np.array_equal(found[name], expected[name]) for name in found
        )
        assert snapshots.snapshot_steps(run.path) == [0, 3, 6, 9] and checkpoint.steps(
            run.path
        ) == checkpoint.steps(plain.path)
        first = snapshots.load_snapshot(run.path, 0)
        assert first.keys() == initial.keys() and all(
            np.array_equal(first[name], initial[name]) for name in first
        )
    for step in (3, 6, 9):
        one, other = (snapshots.load_snapshot(run.path, step) for run in (kept, stopped))
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not (plain.path / "snapshots").exists()


def test_a_damaged_one_is_named(tmp_path):
    run, _, _ = start(tmp_path / "run", 5)
    snapshots.save_snapshot(run.path, 3, run.model)
    path = tmp_path / "run" / "snapshots" / "step-00000003.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    (path.parent / "step-x.safetensors").touch()
    assert snapshots.snapshot_steps(run.path) == [3]
    with pytest.raises(
        InputError, match=r"step-00000003.safetensors: not a snapshot of weights \(.+\); delete it"
    ):
        snapshots.load_snapshot(run.path, 3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    run, _, _ = start(tmp_path / "run", 5)
    snapshots.save_snapshot(run.path, 3, run.model)
    path = tmp_path / "run" / "snapshots" / "step-00000003.safetensors"
    path.unlink()
    os.mkfifo(path)
    Timer(
        1, os.close, [os.open(path, os.O_RDWR | os.O_NONBLOCK)]
    ).start()  # a writer, for whom a reader would wait
    with pytest.raises(
        InputError,
        match="step-00000003.safetensors: neither a file nor a folder, expected a snapshot of weights",
    ):
        snapshots.load_snapshot(run.path, 3)
