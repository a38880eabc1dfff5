"""The run folder: what is never overwritten, and the messages about a damaged one."""

import errno
import json
import os
import shutil
import stat
import threading
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minitransformer import InputError, Run, TrainingConfig, Transformer, TransformerConfig, train
from minitransformer import files
from minitransformer.data.drawn import DrawnBatches, draw_held_out
from minitransformer.files import MANIFEST, write_manifest
from minitransformer.tasks import TASKS
from minitransformer.runs import folder as folders
from minitransformer.tasks.evaluation import pair_batches
from minitransformer.runs.lock import only_trainer
from tests.helpers.runs import Interrupted, start


def parts():
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    return {
        "task": task,
        "model": Transformer(TransformerConfig.named("toy", vocabulary.size)),
        "vocabulary": vocabulary,
    }


def test_an_empty_folder_is_given_to_one_run_only(tmp_path, monkeypatch):
    """Each of several looks at the folder while it is still empty; all but one are refused, and
    that one's run is intact.
    """
    given, taken, together, usual = parts(), [], threading.Barrier(6, timeout=5), folders.check_free

    def look(path):
        usual(path)
        together.wait()  # only those that found it free get here, at their first look

    def create(seed):
        try:
            Run.create(tmp_path, **given, training=TrainingConfig(steps=5, warmup=1, seed=seed))
        except InputError as error:
            taken.append(str(error))

    threads = [threading.Thread(target=create, args=(seed,)) for seed in range(6)]
    monkeypatch.setattr(folders, "check_free", look)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 5 and all("already exists and holds a run" in words for words in taken)
    Run.open(tmp_path)


def test_what_create_is_given_load_gives_back(tmp_path):
    config = TrainingConfig(steps=7, warmup=3, seed=5, clip=0.5)
    made = Run.create(tmp_path / "run", **parts(), training=config)
    assert made.resume_command == f"minitransformer train --resume {tmp_path / 'run'}"
    made.save_weights()
    loaded = Run.load(tmp_path / "run")
    assert (
        loaded.settings == made.settings
        and loaded.settings.training == config
        and loaded.settings.seed == 5
    )
    assert loaded.task == made.task and type(loaded.model) is Transformer
    assert loaded.answer(["a b", "c"]) == made.answer(["a b", "c"])
    assert json.loads((tmp_path / "run" / MANIFEST).read_text())["format"] == 2
    without = Run.create(tmp_path / "other", **parts())
    assert without.settings.training is None and without.resume_command == "train(..., resume=True)"


def test_numpy_numbers_are_settings_too(tmp_path):
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    model = Transformer(TransformerConfig.named("toy", vocabulary.size, d_ff=np.int64(16)))
    config = TrainingConfig(steps=np.int64(3), warmup=1, clip=np.float32(1))
    run = Run.create(tmp_path / "run", task, model, vocabulary, config)
    train(run, config, DrawnBatches(task, 8, 0), pair_batches(draw_held_out(task, 9)))
    assert Run.load(run.path).model.config.d_ff == 16


def test_a_failed_save_leaves_no_half_file(tmp_path, monkeypatch):
    run, _, _ = start(tmp_path / "run")
    run.save_weights()
    before = (run.path / "weights.safetensors").read_bytes()
    run.model.flat.data[...] = 0
    usual = os.replace

    def replace(new, old):
        if old.name == "weights.safetensors":
            raise OSError(28, "No space left on device")
        usual(new, old)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError):
        run.save_weights()
    assert (run.path / "weights.safetensors").read_bytes() == before
    assert not list(run.path.glob("*.new"))


def test_weights_that_the_manifest_does_not_know_are_not_used(tmp_path):
    """Killed between the two files: the weights exist, but are not marked as complete."""
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=4, warmup=1), batches, valid)
    run.model.flat.data[...] = 0
    run.folder.invalidate_weights()
    (run.path / "weights.safetensors").write_bytes(b"half")
    loaded = Run.load(run.path)
    assert not loaded.finished and loaded.model.flat.data.any()


def test_an_empty_folder_is_used_as_it_is(tmp_path, monkeypatch):
    """Its permissions stay; a link to it is accepted, and so is the current folder."""
    for name in ("mine", "here", "full"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    start(tmp_path / "link")
    assert Run.open(tmp_path / "mine") and (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    monkeypatch.chdir(tmp_path / "here")
    start(".")
    assert (tmp_path / "here" / "config.json").exists()
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(InputError, match="No space left"):
        start(tmp_path / "full")
    assert not list((tmp_path / "full").iterdir())


def test_ctrl_c_leaves_no_half_of_a_run(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    usual, names = os.replace, []

    def replace(new, old):
        names.append(old.name)
        if names[-1] == "vocabulary.json":
            raise KeyboardInterrupt
        usual(new, old)

    monkeypatch.setattr(os, "replace", replace)
    for folder in ("mine", "new"):
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path / folder)
    assert names == ["config.json", "vocabulary.json"] * 2
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_a_run_in_double_precision_stays_one(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    run.model = run.model.astype(np.float64)
    config = TrainingConfig(steps=4, warmup=1, validate_every=2)
    train(run, config, Interrupted(batches, 3), valid)
    stopped = Run.load(run.path)
    np.testing.assert_array_equal(stopped.model.flat.data, run.model.flat.data, strict=True)
    with pytest.raises(
        InputError, match=r"is float64, but the layer's is float32; convert the layer with astype"
    ):
        train(Run.open(run.path), config, batches, valid, resume=True)
    train(stopped, config, batches, valid, resume=True)
    np.testing.assert_array_equal(
        Run.load(run.path).model.flat.data, stopped.model.flat.data, strict=True
    )


@pytest.mark.skipif(os.name == "nt", reason="folders are not flushed there")
@pytest.mark.parametrize(
    ("number", "flushed"),
    [(errno.EINVAL, True), (errno.EBADF, True), (errno.ENOTSUP, True), (errno.EIO, False)],
)
def test_a_folder_that_cannot_be_flushed(tmp_path, monkeypatch, number, flushed):
    """Some network drives flush files only: its name is not made durable, that is all. A failing
    disk is an error.
    """
    usual = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if flushed:
        run, batches, valid = start(tmp_path / "run")
        assert train(run, TrainingConfig(steps=2, warmup=1), batches, valid) == 2
        assert Run.load(run.path).finished
    else:
        with pytest.raises(InputError, match=f"{os.strerror(number)}; choose a writable folder"):
            start(tmp_path / "run")


def test_two_processes_do_not_make_one_run(tmp_path, monkeypatch):
    """The second one starts while the first writes: each uses its own temporary folder, and the
    slower one gets an error.
    """
    usual = os.fsync

    def interrupted(descriptor):
        monkeypatch.setattr(os, "fsync", usual)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        start(tmp_path / "run", seed=2)
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(InputError, match="run already exists and holds a run"):
        start(tmp_path / "run", seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["run"] and Run.open(tmp_path / "run")


def test_two_processes_do_not_train_one_run(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    with (
        only_trainer(run.path),
        pytest.raises(InputError, match="another process is training this run"),
    ):
        train(run, TrainingConfig(steps=1, warmup=1), batches, valid)
    assert train(run, TrainingConfig(steps=1, warmup=1), batches, valid) == 1


def test_a_trained_run_is_not_trained_over(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    train(run, TrainingConfig(steps=1, warmup=1), batches, valid)
    for _ in range(2):
        with pytest.raises(
            InputError, match="this run has already been trained; resume it with resume=True"
        ):
            train(run, TrainingConfig(steps=1, warmup=1), batches, valid)
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)  # deleted to save space


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/run: Not a directory"):
        start(tmp_path / "file" / "run")


def load_rewritten(folder, name, rewrite):
    """Load a run one of whose files was rewritten on purpose: the checksums are right."""
    run, _, _ = start(folder)
    run.save_weights()
    rewrite(run.path / name)
    write_manifest(
        run.path,
        [path.name for path in run.path.iterdir() if path.is_file() and path.name != MANIFEST],
    )
    Run.load(run.path)


@pytest.mark.parametrize(
    "part, values, words",
    [
        ("task", dict(name="sing"), "unknown task 'sing'"),
        ("task", dict(name="translate"), "the run cannot be read.*train"),
        ("task", dict(max_length="9"), "max_length is '9'"),
        ("task", dict(batch=True), "batch is True"),
        ("task", dict(speed=9), "the run cannot be read.*speed"),
        ("model", dict(name="gpt"), "unknown model 'gpt'"),
        ("model", dict(colour="red"), "the run cannot be read"),
        ("model", dict(d_ff=24), r"feed_forward.inner.bias: found \(16,\), expected \(24,\)"),
        ("model", dict(share_output=False), "output.weight: found no such array, expected"),
        (None, dict(task="copy"), "the run cannot be read"),
        (None, dict(vocabulary="words"), "unknown vocabulary 'words'"),
        (None, dict(training={"steps": 0}), "the run cannot be read"),
        (None, dict(training={"steps": 0, "warmup": 1}), "steps is 0"),
    ],
)
def test_settings_that_do_not_fit_the_rest_are_explained(tmp_path, part, values, words):
    def rewrite(path):
        settings = json.loads(path.read_text())
        (settings[part] if part else settings).update(values)
        path.write_text(json.dumps(settings))

    with pytest.raises(InputError, match=words):
        load_rewritten(tmp_path / "run", "config.json", rewrite)


def with_weights(change):
    return lambda path: save_file({**load_file(path), **change}, path)


@pytest.mark.parametrize(
    "name, rewrite, words",
    [
        (
            "weights.safetensors",
            with_weights({"target_embedding.weight": np.full((29, 16), np.nan, np.float32)}),
            "target_embedding.weight contains something other",
        ),
        (
            "weights.safetensors",
            with_weights({"more": np.ones(2)}),
            r"more: found \(2,\), expected no such array",
        ),
        (
            "weights.safetensors",
            lambda path: path.write_bytes(path.read_bytes()[:100]),
            "weights.safetensors: not a safetensors file",
        ),
        ("weights.safetensors", os.remove, "no trained model"),
        ("vocabulary.json", '{"symbols": ["a"], "joint": " "}', "they are not from the same run"),
        ("vocabulary.json", '{"symbols": [1], "joint": 3}', "the run cannot be read"),
        ("vocabulary.json", "[]", "the run cannot be read"),
        ("vocabulary.json", os.remove, "the run cannot be read"),
        ("config.json", "[" * 100_000, "the run cannot be read"),
        ("config.json", "{", "the run cannot be read"),
        ("config.json", "{}", "the run cannot be read.*'task'"),
        ("config.json", os.remove, "no run here"),
    ],
)
def test_a_file_that_does_not_fit_the_rest_is_explained(tmp_path, name, rewrite, words):
    with pytest.raises(InputError, match=words):
        load_rewritten(
            tmp_path / "run",
            name,
            rewrite if callable(rewrite) else lambda path: path.write_text(rewrite),
        )


@pytest.mark.parametrize(
    "name", ["config.json", "vocabulary.json", "weights.safetensors", MANIFEST]
)
def test_a_flipped_bit_is_explained(tmp_path, name):
    run, _, _ = start(tmp_path / "run")
    run.save_weights()
    data = bytearray((run.path / name).read_bytes())
    data[-3] ^= 4
    (run.path / name).write_bytes(data)
    with pytest.raises(InputError, match=f"{name}: damaged"):
        Run.load(run.path)


def test_created_twice_it_says_what_a_notebook_can_do(tmp_path):
    """And its advice works."""
    run, batches, valid = start(tmp_path / "run")
    config = TrainingConfig(steps=4, warmup=2)
    train(run, config, batches, valid)
    with pytest.raises(InputError) as caught:
        start(tmp_path / "run")
    path = tmp_path / "run"
    assert str(caught.value) == (
        f"{path} already exists and holds a run; choose another folder, or resume it: minitransformer "
        f"train --resume {path}, or in Python: train(Run.open({str(path)!r}), ..., resume=True)"
    )
    again = Run.open(str(tmp_path / "run"))
    assert train(again, replace(config, steps=6), batches, valid, resume=True) == 6


def test_a_file_of_several_pieces_is_checked_to_its_end(tmp_path):
    """The manifest's checksums are those of entire files."""
    data = bytes(2 * files.PIECE) + b"end"
    (tmp_path / "weights").write_bytes(data)
    assert files.digest(tmp_path / "weights") == sha256(data).hexdigest()


def test_a_run_says_what_it_is_and_how_far_it_has_come(tmp_path):
    run, batches, valid = start(tmp_path / "run")
    what = f"Run({str(tmp_path / 'run')!r}): copy, Transformer with {run.model.num_parameters():,} parameters, "
    assert repr(run) == what + "not trained yet"
    train(run, TrainingConfig(steps=4, warmup=2), batches, valid)
    assert repr(run) == repr(Run.load(run.path)) == what + "trained"
    run.folder.invalidate_weights()
    assert repr(run) == what + "4 steps saved"
    (run.path / "manifest.json").write_text("damaged")
    assert repr(run) == what + "its folder cannot be read"


def test_the_settings_of_a_run_are_read_line_by_line(tmp_path):
    run, _, _ = start(tmp_path / "run")
    assert repr(run.settings).startswith("RunSettings {\n") and '\n    "d_model": 16,\n' in repr(
        run.settings
    )
