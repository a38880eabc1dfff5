"""The files of a task: read once at the start of a run, and refused when they have changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from minitransformer import InputError, TrainingConfig
from minitransformer.tasks import TASKS

LINES = {
    "language": ("a b c " * 9 + "\n") * 9,
    "classify": "a film\tgood\na play\tbad\n" * 9,
    "translate": "a dog\tein hund\n" * 9,
}
SETTINGS = {
    "language": dict(window=8),
    "classify": dict(vocab_size=30),
    "translate": dict(vocab_size=30),
}


@pytest.mark.parametrize("name", LINES)
def test_a_new_run_reads_each_file_once(tmp_path, monkeypatch, name):
    for part in ("train", "valid"):
        (tmp_path / part).write_text(LINES[name], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    read, usual = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or usual(path))
    task = TASKS[name](train=["train"], valid=["valid"], **SETTINGS[name]).begin()
    task.data(task.make_vocabulary(), TrainingConfig(steps=1, warmup=1))
    assert read == ["train", "valid"]
    assert (
        list(task.sha256) == [*task.train, *task.valid] == [str(tmp_path / part) for part in read]
    )
    again = replace(task, found=None)
    assert again == task and again.texts == task.texts and read == ["train", "valid"] * 2
    assert "found" not in task.settings()
    (tmp_path / "valid").write_text("", encoding="utf-8")  # that it has changed comes first
    with pytest.raises(InputError, match="valid has changed since training began"):
        replace(task, found=None).texts
    with pytest.raises(
        InputError, match="sha256 is a NoneType, expected a dict of files"
    ):  # of an edited config.json
        replace(task, sha256=None)
