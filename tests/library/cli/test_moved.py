"""A run, its project or its text can move: the checksum proves the text."""

import json
import os
import shutil

import pytest

from minitransformer.files import write_manifest
from tests.helpers.command import resumes_to_the_bit, train

QUICK = "--config toy --d-model 8 --num-heads 2 --d-ff 8 --threads 1 --warmup 2 --steps 4 --validate-every 2"
LINES = {
    "language": ("a b c " * 9 + "\n") * 9,
    "classify": "a film\tgood\na play\tbad\n" * 9,
    "translate": "a dog\tein hund\n" * 9,
}
SETTINGS = {
    "language": "--window 8 --batch 4",
    "classify": "--vocab-size 30 --batch 300",
    "translate": "--vocab-size 30 --batch 300",
}


@pytest.fixture(scope="module", params=LINES)
def finished(request, tmp_path_factory):
    """A project: a trained run in its folder runs, and its text in the folder data."""
    project = tmp_path_factory.mktemp("projects") / "project"
    (project / "data").mkdir(parents=True)
    for part in ("train", "valid"):
        (project / "data" / part).write_bytes(LINES[request.param].encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        words = f"{request.param} --train data/train --valid data/valid {SETTINGS[request.param]}"
        train(*words.split(), *QUICK.split(), "--run", "runs/one")
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy that is elsewhere; the original is gone for as long as the test runs."""
    hidden = finished.with_name("hidden")
    os.rename(finished, hidden)
    yield shutil.copytree(hidden, tmp_path / "elsewhere")
    os.rename(hidden, finished)


def test_a_project_that_has_moved(project, run_cli, tmp_path):
    run = project / "runs" / "one"
    assert resumes_to_the_bit(run_cli, run, project / "runs" / "again")
    code, out, error = run_cli("evaluate", run)
    assert code == 0 and out, error


def test_text_that_has_moved_is_given(project, run_cli, refused, tmp_path):
    run = project / "runs" / "one"
    shutil.move(project / "data", tmp_path / "texts")
    assert "/data/valid: no such file; if it has moved, say where it is: --test FILE" in refused(
        "evaluate", run
    )
    (run / "weights.safetensors").unlink()
    write_manifest(run, [path.name for path in run.glob("*.json") if path.name != "manifest.json"])
    words = "/data/train: no such file; if it has moved, say where it is: --train FILE"
    assert words in refused("train --resume", run)
    given = ["--train", tmp_path / "texts" / "train", "--valid", tmp_path / "texts" / "valid"]
    words = "--train names 2 files, but the run has 1"
    assert words in refused("train --train a b --resume", run)
    (tmp_path / "texts" / "train").write_text("changed")
    assert "texts/train has changed since" in refused("train --resume", run, *given)
    (tmp_path / "texts" / "train").write_bytes((tmp_path / "texts" / "valid").read_bytes())
    code, out, error = run_cli("train --resume", run, *given)
    assert code == 0 and "saved in" in out, error


def test_the_ends_of_lines_are_no_change(finished, run_cli, tmp_path):
    """Both ways: a run began with either, and its text now has the other."""
    texts = [finished / "data" / part for part in ("train", "valid")]
    usual = [path.read_bytes() for path in texts]
    try:
        for path, text in zip(texts, usual):
            path.write_bytes(text.replace(b"\n", b"\r\n"))
        assert resumes_to_the_bit(run_cli, finished / "runs" / "one", tmp_path / "one")
        code, out, error = run_cli("evaluate", tmp_path / "one")
        assert code == 0 and out, error
    finally:
        for path, text in zip(texts, usual):
            path.write_bytes(text)


def test_a_run_of_an_older_version_knows_its_files_by_their_names(finished, run_cli, tmp_path):
    run = shutil.copytree(finished / "runs" / "one", tmp_path / "one")
    settings = json.loads((run / "config.json").read_text())
    assert settings.pop("made_in") == str(finished / "runs" / "one")
    (run / "config.json").write_text(json.dumps(settings))
    write_manifest(run, json.loads((run / "manifest.json").read_text())["files"])
    code, out, error = run_cli("evaluate", run)
    assert code == 0 and out, error


def test_a_toy_task_has_no_files(refused, trained):
    words = "--train names 1 file, but the run has 0"
    assert words in refused("train --train text --resume", trained)
