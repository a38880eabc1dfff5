"""The files a task reads, as a run records them: by absolute name and checksum."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.training.files import digest


def check_files(name, files) -> None:
    """Raise InputError unless a task's field `name` is a list of file names."""
    if not (isinstance(files, list) and files and all(isinstance(file, str) for file in files)):
        raise InputError(f"{name} is {files!r}, expected a list of file names")


def checksums(task, *names) -> dict[str, Any]:
    """{field: value} of a task: its file lists, the fields `names`, made absolute, and the sha256 of each file."""
    lists = {}
    for name in names:
        for file in getattr(task, name):
            if Path(file).is_fifo():
                raise InputError(f"{file}: a pipe, expected a file, because a resumed run reads it again")
        lists[name] = [str(Path(file).resolve()) for file in getattr(task, name)]
    return {**lists, "sha256": {file: _digest(file) for files in lists.values() for file in files}}


def check_unchanged(sha256) -> None:
    """Raise InputError if a file of {name: sha256} has changed."""
    for file, expected in sha256.items():
        if Path(file).exists() and _digest(file) != expected:
            raise InputError(f"{file} has changed since training began (its sha256 differs)")


def _digest(file) -> str:
    """The sha256 of a file, cached while its size and time stay the same: a new run needs it twice."""
    found = Path(file).stat()
    return _digest_of(file, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest_of(file, *version) -> str:
    return digest(Path(file))
