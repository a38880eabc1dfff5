"""README and docs say what the code does: their Python runs, their commands exist, CI uses them."""

import re
import shlex
from pathlib import Path

import pytest

from minitransformer.cli import main

ROOT = Path(__file__).parent.parent
COMMANDS = (
    "data", "train", "evaluate", "translate", "compare", "export", "gradcheck", "attention", "plot", "info", "benchmark")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def a_copy_run(tmp_path, monkeypatch, capfd):
    """A current folder in which README's first command has (briefly) run."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", "copy", "--steps", "10"]) == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_run(page, a_copy_run):
    code = blocks(page, "python")
    assert code
    exec(compile("\n".join(code), str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_accepted(page, monkeypatch, capfd):
    """Each `minitransformer ...` line of a page parses; only the work behind it is left out."""
    commands = re.findall(r"\bminitransformer [^\n|&]*", "\n".join(blocks(page, "bash")).replace("\\\n", " "))
    for name in COMMANDS:
        monkeypatch.setattr(f"minitransformer.cli.{name}.execute", lambda args: 0)
    for command in commands:
        assert main(shlex.split(command, comments=True)[1:]) == 0, command
    assert commands or page.stem != "README"


def test_ci_runs_the_two_commands_of_the_readme():
    commands = blocks(ROOT / "README.md", "bash")[:2]
    ci = (ROOT / ".ci" / "run").read_text()
    for command in commands:
        assert command.strip() in ci
