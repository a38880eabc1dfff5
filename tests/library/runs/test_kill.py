"""SIGKILL at random moments: the run always resumes, and ends with the same bits as an undisturbed
one.

`MINITRANSFORMER_KILLS=20 python -m pytest -m campaign -s tests/library/runs/test_kill.py` is
the long form; it takes minutes and prints how many of the kills hit a save, and what was killed.
"""

import os
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from minitransformer.runs import checkpoint

pytestmark = pytest.mark.campaign

TEXTBOOK = {
    **os.environ,
    "MINITRANSFORMER_FAST": "0",
}  # to load the compiled kernels takes longer than the run
SMALL = 32_000_000  # bytes: of two runs, the one with a checkpoint that is being written
KILLS = int(os.environ.get("MINITRANSFORMER_KILLS", "3"))


@contextmanager
def disk(tmp_path):
    """(a folder, what fills its disk, and what frees it again)."""
    yield tmp_path, lambda: None, lambda: None


@contextmanager
def memory(tmp_path):
    folder = Path("/dev/shm")
    if not folder.is_dir():
        pytest.skip("this system has no /dev/shm")
    with TemporaryDirectory(dir=folder) as own:
        yield Path(own), lambda: None, lambda: None


@contextmanager
def small(tmp_path):
    """A file system of its own, which only root may mount."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", folder]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no file system can be mounted here")
    filler = folder / "filler"

    def fill():
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(2**12))

    try:
        yield folder, fill, lambda: filler.unlink(missing_ok=True)
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("file_system", [disk, memory, small])
def test_killed_at_random_moments(tmp_path, file_system):
    """In a small file system, the disk is full before each other kill."""
    with file_system(tmp_path) as (folder, fill, free):
        kill_at_random_moments(folder, fill, free)


def kill_at_random_moments(folder, fill, free):
    options = [
        "copy",
        "--steps",
        str(30 + 8 * KILLS),
        "--batch",
        "8",
        "--threads",
        "1",
        "--validate-every",
        "1",
        "--average",
        "3",
        "--dropout",
        "0.1",
    ]
    command = [sys.executable, "-m", "minitransformer", "train"]
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=TEXTBOOK)
    whole, run = folder / "whole", folder / "run"
    subprocess.run([*command, *options, "--run", whole], check=True, **quiet)

    draw, ends, in_a_save = random.Random(0), Counter(), 0
    for kill in range(KILLS):
        rest = ["--resume", run] if run.exists() else [*options, "--run", run]
        process = subprocess.Popen([*command, *rest], **quiet)
        reached = last_step(run)
        while process.poll() is None and last_step(run) == reached:
            time.sleep(0.01)  # until it has begun to train
        if kill % 2:
            fill()
        time.sleep(draw.uniform(0, 2 if kill % 2 else 0.5))
        process.kill()
        said = process.communicate()[1]
        full = process.returncode == 2 and "cannot be saved (No space left on device)" in said
        assert process.returncode == -9 or full, said  # and not: finished, or failed otherwise
        ends["stopped by the full disk" if full else "killed"] += 1
        in_a_save += (run / "checkpoints" / "new").exists()
        free()
    subprocess.run([*command, "--resume", run], check=True, **quiet)
    assert (run / "weights.safetensors").read_bytes() == (
        whole / "weights.safetensors"
    ).read_bytes()
    last, expected = (checkpoint.newest(path) for path in (run, whole))
    assert last.state == expected.state
    assert all(
        (last.optimizer[name] == expected.optimizer[name]).all() for name in expected.optimizer
    )
    assert not [path.name for path in (run / "checkpoints").iterdir() if "unreadable" in path.name]
    print(f"\n{KILLS} kills in a run of {last.step} steps, {in_a_save} in a save: {dict(ends)}")


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has only the threads")
def test_killed_with_a_helper(tmp_path):
    """Of a run with a helper process, it or the main process is killed: no process stays, and
    nothing changes in the numbers.
    """
    options = (
        "copy --batch 8 --threads 2 --validate-every 10 --dropout 0.1 --d-model 16 "
        "--num-layers 1 --cooldown 0 --steps"
    ).split()
    command, mark = (
        [sys.executable, "-m", "minitransformer", "train", "--workers"],
        uuid.uuid4().hex,
    )
    quiet = dict(
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**TEXTBOOK, "OURS": mark}
    )
    whole, run = tmp_path / "whole", tmp_path / "run"
    draw, results = random.Random(0), Counter()
    for _ in range(KILLS):
        rest = ["--resume", run] if run.exists() else [*options, "1000000", "--run", run]
        process = subprocess.Popen([*command, "processes", *rest], **quiet)
        results[what_a_kill_does(process, run, mark, draw)] += 1
        wait_while(lambda: marked(mark), seconds=20)
        assert not marked(mark)
    last = checkpoint.newest(run)
    subprocess.run(
        [*command, "threads", *options, str(last.step), "--run", whole], check=True, **quiet
    )
    expected = checkpoint.newest(whole)
    assert last.step == expected.step
    for found, right in (last.weights, expected.weights), (last.optimizer, expected.optimizer):
        assert all(
            (found[name] == right[name]).all() for name in right if name not in ("loss", "nll")
        )
    print(f"\n{KILLS} kills in a run of {last.step} steps: {dict(results)}")


def what_a_kill_does(process, run, mark, draw):
    """Kill a process that trains `run`, or its helper; after it has killed the helper, end it, too."""
    reached = last_step(run)
    wait_while(
        lambda: process.poll() is None and not len(marked(mark)) > 1
    )  # until there is a helper
    helpers, victim = set(marked(mark)) - {process.pid}, draw.choice(["helper", "parent"])
    time.sleep(draw.choice([draw.uniform(0, 0.6), draw.uniform(0, 3)]))  # it starts, or works
    for target in helpers if victim == "helper" else [process.pid]:
        with suppress(ProcessLookupError):
            os.kill(target, 9)
    if victim == "helper":
        wait_while(lambda: process.poll() is None and last_step(run) <= reached)  # it goes on
        process.terminate()
    said = process.communicate()[1]
    lines = [line for line in said.splitlines() if line.startswith("threads do the work")]
    if victim == "parent":
        assert process.returncode == -9 and not lines, said
        return "the parent"
    assert process.returncode == 143, said
    assert lines in ([], ["threads do the work from here on: a helper has ended (Killed)"]), said
    return "the helper, and threads went on" if lines else "the helper, as the run ended"


def last_step(run):
    return max(checkpoint.steps(run), default=0)


def wait_while(waiting, seconds=60):
    until = time.monotonic() + seconds
    while waiting() and time.monotonic() < until:
        time.sleep(0.01)


def marked(mark):
    """The processes with this mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found
