"""SIGKILL at random moments: the run always resumes, and ends with the same bits as an undisturbed one.

`MINITRANSFORMER_KILLS=100 python -m pytest -s tests/training/test_kill.py` is the long form; it takes
minutes and prints how many of the kills hit a save.
"""

import os
import random
import subprocess
import sys
import time

from minitransformer.training import checkpoint

KILLS = int(os.environ.get("MINITRANSFORMER_KILLS", "3"))


def test_killed_at_random_moments(tmp_path):
    options = ["copy", "--steps", str(30 + 8 * KILLS), "--batch", "8", "--threads", "1", "--validate-every", "1",
               "--average", "3", "--dropout", "0.1"]
    command = [sys.executable, "-m", "minitransformer", "train"]
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    whole, run = tmp_path / "whole", tmp_path / "run"
    subprocess.run([*command, *options, "--run", whole], check=True, **quiet)

    draw, kills, in_a_save = random.Random(0), 0, 0
    while kills < KILLS:
        rest = ["--resume", run] if run.exists() else [*options, "--run", run]
        process = subprocess.Popen([*command, *rest], **quiet)
        reached = max(checkpoint.steps(run), default=0)
        while process.poll() is None and max(checkpoint.steps(run), default=0) == reached:
            time.sleep(0.01)    # until it has begun to train
        time.sleep(draw.uniform(0, 0.5))
        process.kill()
        assert process.wait() == -9    # and not: finished, or failed
        kills += 1
        in_a_save += (run / "checkpoints" / "new").exists()
    subprocess.run([*command, "--resume", run], check=True, **quiet)
    assert (run / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()
    last, expected = (checkpoint.newest(path) for path in (run, whole))
    assert last.state == expected.state
    assert all((last.optimizer[name] == expected.optimizer[name]).all() for name in expected.optimizer)
    print(f"\n{kills} kills in a run of {last.step} steps, {in_a_save} of them in a save")
