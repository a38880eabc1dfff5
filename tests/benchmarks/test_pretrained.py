"""benchmarks/pretrained.py: a part of it that fails ends it, and no number comes of it."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "pretrained.py"


def ask(expression):
    """What a function of the script returns or says, in a process of its own: the script sets numbers of threads."""
    code = f"import runpy; names = runpy.run_path({str(SCRIPT)!r}); print(eval({expression!r}, names))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_a_command_that_fails_is_named():
    done = ask("process('generate', 'no/such/run', 'Why?')")
    assert done.returncode == 1 and not done.stdout
    line, = done.stderr.splitlines()
    assert line.startswith("pretrained.py: `minitransformer generate no/such/run Why?` failed: ") and line.count("no/such/run") > 1


def test_nothing_is_faster_than_the_bound():
    rounds = "[(4.0, 1.0, 100e6), (5.0, 1.0, 100e6), (6.0, 1.0, 100e6)]"    # tokens/s of both, bytes/s
    assert ask(f"share_of_bound({rounds}, 10e6)").stdout == "0.5\n"
    done = ask(f"share_of_bound({rounds}, 28e6)")
    assert done.returncode == 1 and "the model wrote 1.40 times as fast as its 28 MB were read" in done.stderr
