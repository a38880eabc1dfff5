"""Damaged files are named and skipped, and a full disk loses nothing."""

import os
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from minitransformer import InputError, Run, TrainingConfig, train
from minitransformer.files import MANIFEST
from minitransformer.runs import checkpoint
from minitransformer.runs.folder import RunFolder
from tests.helpers.runs import Interrupted, losses, start, trained

pytestmark = pytest.mark.campaign


def resumed(folder, run, config, stopped=None):
    """(the run, resumed as another process would, in which step it ends), after Ctrl-C in its step
    `stopped` if there is one.
    """
    again, batches, valid = start(folder)
    again.folder = run.folder
    return again, train(
        again, config, Interrupted(batches, stopped) if stopped else batches, valid, resume=True
    )


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    "settings",
    [dict(average=3), dict(patience=2, cooldown=0.0, schedule="constant", peak_rate=0.3)],
)
def test_a_finished_run_stays_as_it_is(tmp_path, settings):
    """Whatever happened to its checkpoints: the newest, the oldest or all of them are removed or
    damaged.
    """
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(**{"steps": 40, "warmup": 1, "validate_every": 2, **settings})
    steps = train(run, config, batches, valid)
    for i, (damage, lost) in enumerate(
        product(
            (shutil.rmtree, lambda folder: flip(folder / "state.json")),
            (slice(0, 1), slice(-1, None), slice(None)),
        )
    ):
        path = shutil.copytree(run.path, tmp_path / str(i))
        for step in checkpoint.steps(path)[lost]:
            damage(path / "checkpoints" / f"step-{step:08d}")
        before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
        again = Run.open(path)
        assert train(again, config, batches, valid, resume=True) == steps
        assert {
            file.name: file.read_bytes() for file in path.iterdir() if file.is_file()
        } == before, (damage, lost)
        np.testing.assert_array_equal(again.model.flat.data, run.model.flat.data)


def test_without_the_best_checkpoint_the_next_best_is_taken(tmp_path, capsys):
    run, config, batches, valid = trained(
        tmp_path / "run",
        steps=60,
        warmup=1,
        schedule="constant",
        peak_rate=0.3,
        cooldown=0,
        validate_every=2,
        patience=3,
    )
    nll = {record["step"]: record["valid_nll"] for record in losses(run) if "valid_nll" in record}
    best, second = sorted(checkpoint.steps(run.path), key=nll.get)[:2]
    for path in (
        run.path / "weights.safetensors",
        run.path / "checkpoints" / f"step-{best:08d}" / "weights.safetensors",
    ):
        flip(path)
    train(Run.open(run.path), config, batches, valid, resume=True)
    assert f"step-{best:08d}/weights.safetensors: damaged" in capsys.readouterr().err
    whole = checkpoint.load(run.path, second).weights
    np.testing.assert_array_equal(
        Run.load(run.path).model.output.weight.data, whole["target_embedding.weight"]
    )


def test_a_run_that_is_trained_again_is_not_finished(tmp_path):
    """From its first checkpoint, since the second and the weights are damaged; and Ctrl-C comes."""
    run, config, *_ = trained(tmp_path / "run", steps=8, validate_every=4)
    flip(run.path / "weights.safetensors")
    flip(run.path / "checkpoints" / "step-00000008" / "state.json")
    again, step = resumed(tmp_path / "again", run, config, 2)
    assert step == 6
    assert not again.finished and checkpoint.steps(run.path) == [6, 4]


def test_a_checkpoint_that_is_removed_while_it_is_read_is_skipped(tmp_path, monkeypatch):
    run, *_ = trained(tmp_path / "run", steps=4, validate_every=2)
    shutil.rmtree(run.path / "checkpoints" / "step-00000004")
    monkeypatch.setattr(checkpoint, "steps", lambda _: [4, 2])
    monkeypatch.setattr(checkpoint, "check_manifest", lambda _: None)
    assert checkpoint.newest(run.path).step == 2


def test_checkpoints_that_cannot_be_listed_are_not_taken_for_none(tmp_path, monkeypatch):
    run, config, batches, valid = trained(tmp_path / "run", 6, steps=20, validate_every=4)
    log = (run.path / "metrics.jsonl").read_bytes()

    def listdir(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", listdir)
    with pytest.raises(PermissionError):
        train(Run.open(run.path), config, batches, valid, resume=True)
    assert (run.path / "metrics.jsonl").read_bytes() == log


def test_a_checkpoint_that_cannot_be_read_now_is_not_damaged(tmp_path, monkeypatch):
    run, config, batches, valid = trained(tmp_path / "run", 6, steps=20, validate_every=4)
    usual = Path.read_bytes

    def read_bytes(path):
        if path.parent.name == "step-00000006":
            raise OSError(24, "Too many open files", str(path))
        return usual(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with pytest.raises(OSError, match="Too many open files"):
        train(Run.open(run.path), config, batches, valid, resume=True)
    assert checkpoint.steps(run.path) == [6, 4]


FILES = ("weights.safetensors", "optimizer.safetensors", "state.json", "metrics.jsonl", MANIFEST)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_checkpoint_is_skipped(tmp_path, capsys, name):
    """And the run ends as if nothing had happened."""
    run, config, *_ = trained(tmp_path / "run", 10, steps=20, validate_every=4)
    for damage in (cut, os.remove, flip):
        path = shutil.copytree(run.path, tmp_path / damage.__name__)
        damage(path / "checkpoints" / "step-00000010" / name)
        with pytest.raises(InputError, match=f"step-00000010/{name}: "):
            checkpoint.load(path, 10)
        capsys.readouterr()
        Run.load(path)
        error = capsys.readouterr().err
        assert f"step-00000010/{name}: " in error and error.endswith("; skipped\n")

    whole, *_ = trained(tmp_path / "whole", steps=20, validate_every=4)
    run.folder = RunFolder(path)
    again, step = resumed(tmp_path / "again", run, config)
    assert step == 20
    assert losses(again) == losses(whole)
    np.testing.assert_array_equal(again.model.flat.data, whole.model.flat.data)


def test_a_full_disk_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=20, warmup=5, validate_every=4)
    usual = os.fsync

    def fill():
        for i, batch in enumerate(batches, 1):
            if i == 7:
                monkeypatch.setattr(
                    os,
                    "fsync",
                    lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")),
                )
            yield batch

    with pytest.raises(
        InputError,
        match=r"step 8 cannot be saved \(No space left on device\); the checkpoint of step 4 "
        r"is kept. Once that is fixed: train\(..., resume=True\)",
    ):
        train(run, config, fill(), valid)
    assert {path.name for path in (run.path / "checkpoints").iterdir()} == {"step-00000004"}
    monkeypatch.setattr(os, "fsync", usual)
    assert resumed(tmp_path / "again", run, config)[1] == 20


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_met_by_the_log(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    (run.path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(
        InputError,
        match=r"metrics.jsonl cannot be saved \(No space left on device\); no checkpoint was saved "
        r"before. Once that is fixed: train\(..., resume=True\)",
    ):
        train(run, TrainingConfig(steps=20, warmup=5, validate_every=4), batches, valid)


def test_a_full_disk_met_by_the_trained_weights(tmp_path, monkeypatch):
    run, batches, valid = start(tmp_path / "run")
    monkeypatch.setattr(
        run, "save_weights", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(
        InputError, match="the trained weights cannot be saved .* the checkpoint of step 4 is kept"
    ):
        train(run, TrainingConfig(steps=4, warmup=2, validate_every=2), batches, valid)
