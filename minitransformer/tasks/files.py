"""The files a task reads, as a run remembers them: by absolute name and checksum."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.training.files import digest


def check_files(name, files) -> None:
    """Raise InputError unless a task's field `name` is a list of names of files."""
    if not (isinstance(files, list) and files and all(isinstance(file, str) for file in files)):
        raise InputError(f"{name} is {files!r}, expected the names of the files")


def checksums(task, *names) -> dict[str, Any]:
    """{field: value} of a task whose lists of files, its fields `names`, have absolute names and a sha256 each."""
    lists = {}
    for name in names:
        for file in getattr(task, name):
            if Path(file).is_fifo():
                raise InputError(f"{file}: a pipe, expected a file, since a run that resumes reads it again")
        lists[name] = [str(Path(file).resolve()) for file in getattr(task, name)]
    return {**lists, "sha256": {file: _digest(file) for files in lists.values() for file in files}}


def check_unchanged(sha256) -> None:
    """Raise InputError where a file of {name: sha256} is not what it was."""
    for file, expected in sha256.items():
        if Path(file).exists() and _digest(file) != expected:
            raise InputError(f"{file} is not what it was when training began (its sha256 is another)")


def _digest(file) -> str:
    """The sha256 of a file, which is read once as long as it has the same size and time: a new run asks twice."""
    found = Path(file).stat()
    return _digest_of(file, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest_of(file, *version) -> str:
    return digest(Path(file))
