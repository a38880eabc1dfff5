"""The documents: their code blocks, their prose, and the commands in them."""

import re
import shlex

from tests import ROOT

PAGES = [
    ROOT / "README.md",
    *(
        page
        for folder in "docs docs/api docs/live research/benchmarks research/experiments".split()
        for page in sorted((ROOT / folder).glob("*.md"))
    ),
]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


OTHER_PROGRAMS = {
    "git",
    "pip",
    "python",
    "jupytext",
    "ruff",
    "mypy",
    "pre-commit",
}  # that pages call beside minitransformer


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def prose(page):
    """A page without its code blocks."""
    return re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def program(page):
    """All Python blocks of a page, at their original lines: a traceback shows the right one."""
    lines, keep = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        keep = line == "```python" or (keep and line != "```")
        lines.append(line if keep and line != "```python" else "")
    return "\n".join(lines)


def commands(page):
    """Each command of a page's bash blocks, as words, without settings and mpiexec before it."""
    found = []
    for line in "\n".join(blocks(page, "bash")).replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command = []
        for word in (*words, "&&"):
            if word in ("&&", "||", "|", ";"):
                found.append(command)
                command = []
            elif command or not re.match(r"\w+=", word):
                command.append(word)
    return [
        command[command.index("minitransformer") :] if command[0] == "mpiexec" else command
        for command in found
        if command
    ]


def typed(page):
    """The arguments of every minitransformer command on a page: in bash blocks, and in running
    text.
    """
    in_blocks = [
        words[1 : words.index("<") if "<" in words else None]  # without what it reads from a file
        for words in commands(page)
        if words[0] == "minitransformer"
    ]
    return in_blocks + [
        shlex.split(text) for text in re.findall(r"`minitransformer ([^`]+)`", prose(page))
    ]


def new_files(page):
    """{path: code} of the files that a page tells its reader to write: the first line names it."""
    return {
        code.split("\n")[0][2:]: code
        for code in blocks(page, "python")
        if re.match(r"# \S+\.py\n", code)
    }
