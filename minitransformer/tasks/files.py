"""The files a task reads, as a run remembers them: by absolute name and checksum."""

from pathlib import Path

from minitransformer.errors import InputError
from minitransformer.training.files import digest


def check_files(name, files):
    """Raise InputError unless a task's field `name` is a list of names of files."""
    if not (isinstance(files, list) and files and all(isinstance(file, str) for file in files)):
        raise InputError(f"{name} is {files!r}, expected the names of the files")


def checksums(task, *names):
    """{field: value} of a task whose lists of files, its fields `names`, have absolute names and a sha256 each."""
    lists = {}
    for name in names:
        for file in getattr(task, name):
            if Path(file).is_fifo():
                raise InputError(f"{file}: a pipe, expected a file, since a run that resumes reads it again")
        lists[name] = [str(Path(file).resolve()) for file in getattr(task, name)]
    return {**lists, "sha256": {file: digest(Path(file)) for files in lists.values() for file in files}}


def check_unchanged(sha256):
    """Raise InputError where a file of {name: sha256} is not what it was."""
    for file, expected in sha256.items():
        if Path(file).exists() and digest(Path(file)) != expected:
            raise InputError(f"{file} is not what it was when training began (its sha256 is another)")
