"""The files of a task: hashed once at the start of a run, and again when they have changed."""

import os

import pytest

from minitransformer import InputError
from minitransformer.tasks import TASKS, files


def test_a_new_run_hashes_each_file_once(tmp_path, monkeypatch):
    for name in ("train", "valid"):
        (tmp_path / name).write_text("a b c " * 200, encoding="utf-8")
    hashed = []
    usual = files.digest
    monkeypatch.setattr(files, "digest", lambda path: hashed.append(path.name) or usual(path))
    task = TASKS["language"](train=[str(tmp_path / "train")], valid=[str(tmp_path / "valid")], window=8).begin()
    files.check_unchanged(task.sha256)
    assert sorted(hashed) == ["train", "valid"]
    before = (tmp_path / "train").stat()
    (tmp_path / "train").write_text("a b d " * 200, encoding="utf-8")    # of the same size
    os.utime(tmp_path / "train", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(InputError, match="train has changed since training began"):
        files.check_unchanged(task.sha256)
