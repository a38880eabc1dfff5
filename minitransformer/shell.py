"""Words of a command to type, for messages that say which one helps."""

import sys
from pathlib import Path


def quote(word: str) -> str:
    """A word of a command to type, quoted for the system's shell: ' does not quote in the Windows
    Command Prompt.
    """
    # here: a command must handle Ctrl-C before slow imports
    import shlex
    import subprocess

    if sys.platform != "win32":
        return shlex.quote(word)
    quoted = subprocess.list2cmdline([word])  # which leaves &, | and others to the shell
    return quoted if quoted[:1] == '"' or not set(quoted) & set("&|<>^()%") else f'"{quoted}"'


def as_argument(text: str) -> str:
    """`quote` of a text as the last argument: one that begins with - needs -- before it."""
    return f"-- {quote(text)}" if text.startswith("-") else quote(text)


def quote_path(path: str | Path) -> str:
    """`quote` of a file's name, which is taken for one even if it begins with -."""
    name = str(path)
    return quote(f"./{name}" if name.startswith("-") else name)
