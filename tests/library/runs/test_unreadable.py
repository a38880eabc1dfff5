"""A run whose checkpoints cannot be read is never discarded: it is named, and nothing is deleted."""

import json
import os
import shutil

import numpy as np
import pytest

from minitransformer import InputError, Run, train
from minitransformer.files import FORMAT, MANIFEST, write_manifest
from minitransformer.runs import checkpoint
from tests.helpers.runs import Interrupted, start, trained

FILES = [*checkpoint.FILES, MANIFEST]


def folder_of(run, step):
    return run.path / "checkpoints" / f"step-{step:08d}"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewrite(folder, name, text):
    """With the right checksums, as another version or somebody's script would write it."""
    (folder / name).write_text(text)
    write_manifest(folder, checkpoint.FILES)


def without_state(folder):
    rewrite(folder, "state.json", "{}")


def without_log(folder):
    rewrite(folder, "metrics.jsonl", "[]\n")


def of_another_version(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["format"] = FORMAT + 1
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "spoil",
    [
        without_state,
        without_log,
        of_another_version,
        *(lambda folder, name=name: os.remove(folder / name) for name in FILES),
        *(lambda folder, name=name: (folder / name).write_bytes(b"") for name in FILES),
    ],
)
def test_a_run_with_unreadable_checkpoints_does_not_start_again(tmp_path, spoil):
    run, config, batches, valid = trained(tmp_path / "run", 6, steps=20, validate_every=4)
    for step in checkpoint.steps(run.path):
        spoil(folder_of(run, step))
    before = contents(run.path)
    words = r"step-00000006.*; none of the run's 2 checkpoints can be read, and nothing was changed"
    for use in (
        lambda: train(Run.open(run.path), config, batches, valid, resume=True),
        lambda: Run.load(run.path),
    ):
        with pytest.raises(InputError, match=words):
            use()
        assert contents(run.path) == before


def test_the_advice_to_start_again_works(tmp_path, capsys):
    run, config, _, valid = trained(tmp_path / "run", 6, steps=8, validate_every=4)
    for step in checkpoint.steps(run.path):
        without_state(folder_of(run, step))
    os.rename(run.path / "checkpoints", run.path / "old")
    kept = contents(run.path / "old")
    again, batches, _ = start(tmp_path / "again")
    again.folder = run.folder
    assert train(again, config, batches, valid, resume=True) == 8
    assert "no checkpoint: starting at step 1" in capsys.readouterr().err
    assert contents(run.path / "old") == kept


def test_what_was_skipped_is_never_deleted(tmp_path, capsys):
    """The run resumes from an older checkpoint, passes the step of the newer one, and is stopped
    and resumed again.
    """
    run, config, *_ = trained(tmp_path / "run", 6, steps=20, validate_every=2)
    without_state(folder_of(run, 6))
    before = sorted(contents(folder_of(run, 6)).values())
    capsys.readouterr()
    for steps in (5, 9):
        again, batches, valid = start(tmp_path / f"to-{steps}")
        again.folder = run.folder
        train(again, config, Interrupted(batches, steps), valid, resume=True)
    said = capsys.readouterr().err
    assert "step-00000006/state.json: position is not that of a training run; skipped\n" in said
    assert "step-00000006 is kept as step-00000006.unreadable\n" in said
    assert "resuming after step 4\n" in said and "resuming after step 9\n" in said
    kept = run.path / "checkpoints" / "step-00000006.unreadable"
    assert sorted(contents(kept).values()) == before


def test_the_step_is_in_the_checkpoint_not_in_its_name(tmp_path):
    run, config, batches, valid = trained(tmp_path / "run", 6, steps=20, validate_every=4)
    os.rename(folder_of(run, 6), folder_of(run, 20))
    (run.path / "checkpoints" / "step-²").mkdir()  # nothing of ours
    with pytest.raises(InputError, match=r"step-00000020: the checkpoint of step 6, renamed"):
        checkpoint.load(run.path, 20)
    shutil.rmtree(folder_of(run, 4))
    with pytest.raises(
        InputError, match="the checkpoint of step 6, renamed; none of the run's 1 c"
    ):
        train(Run.open(run.path), config, batches, valid, resume=True)


def test_a_checkpoint_of_before_resumes(tmp_path):
    """Those that were saved after their validation do not say their step."""
    run, config, batches, valid = trained(tmp_path / "run", steps=8, validate_every=4)
    shutil.rmtree(folder_of(run, 8))
    state = json.loads((folder_of(run, 4) / "state.json").read_text())
    assert state.pop("step") == 4 and state.pop("validate")
    rewrite(folder_of(run, 4), "state.json", json.dumps(state))
    (run.path / "weights.safetensors").unlink()
    run.folder.invalidate_weights()
    expected = run.model.flat.data.copy()
    again, batches, _ = start(tmp_path / "again")
    again.folder = run.folder
    assert train(again, config, batches, valid, resume=True) == 8
    np.testing.assert_array_equal(again.model.flat.data, expected)
