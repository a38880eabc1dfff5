"""Tasks that learn from files: each is read once, and the run remembers it by its absolute name and
checksum.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from minitransformer.checks import check_kind
from minitransformer.data.text_files import as_text, read_bytes
from minitransformer.errors import InputError, counted
from minitransformer.tasks.task import Task

Same = TypeVar("Same", bound="FromFiles")  # `begin` returns an object of the same class


def only_file(files, name, what) -> str:
    """The file in `files`. Raises InputError, which calls them `name` and says `what` is expected,
    unless there is one.
    """
    if len(files) != 1:
        raise InputError(f"{name} names {counted(len(files), 'file')}, expected {what}")
    return files[0]


@dataclass(frozen=True, kw_only=True)
class FromFiles(Task):
    """A task with files to train on and to validate by. A subclass has `read_files`."""

    files_option: ClassVar[
        dict
    ]  # what is special about the options --train and --valid: nargs, metavar, help

    train: list  # names of files; [] for an imported model
    valid: list
    sha256: dict = field(default_factory=dict)  # {file: hexadecimal digits}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train", "valid"):
            files = getattr(self, name)
            if not (isinstance(files, list) and all(isinstance(file, str) for file in files)):
                raise InputError(f"{name} is {files!r}, expected a list of file names")
        check_kind(
            isinstance(self.sha256, dict),
            "sha256",
            self.sha256,
            "a dict of files and their checksums",
        )

    @classmethod
    def add_arguments(cls, parser) -> None:
        parser.add_argument("--train", required=True, **cls.files_option)
        parser.add_argument(
            "--valid", required=True, **{**cls.files_option, "help": "the same for validation"}
        )

    def read_files(self, files, name, read) -> Any:
        """What is in `files`, each read by `read(path)`. Raises InputError, which calls them
        `name`, if one cannot be used.
        """
        raise NotImplementedError

    def remarks(self, vocabulary) -> list[str]:
        asked, found = (
            getattr(self, "vocab_size", vocabulary.size),
            counted(vocabulary.size, "token"),
        )
        return (
            []
            if vocabulary.size <= asked
            else [f"--vocab-size {asked} is too small: the characters alone make {found}"]
        )

    def begin(self: Same, **found) -> Same:
        """The task with absolute paths, checksums, and the fields `found` in the files, which are
        not read again.
        """
        names = {file: str(Path(file).resolve()) for file in self._found[1]}
        begun = replace(
            self,
            train=[names[file] for file in self.train],
            valid=[names[file] for file in self.valid],
            sha256={names[file]: digits for file, digits in self._found[1].items()},
            **found,
        )
        vars(begun)["_found"] = self._found
        return begun

    @property
    def texts(self) -> dict[str, Any]:
        """{"train", "valid": what `read_files` returned}. Raises InputError if a file has changed
        since training began.
        """
        return self._found[0]

    @cached_property
    def _found(self) -> tuple[dict[str, Any], dict[str, str]]:
        """(texts, {file: sha256})."""
        found = {}

        def read(path) -> str:
            if Path(path).is_fifo():
                raise InputError(
                    f"{path}: a pipe, expected a file, because a resumed run reads it again"
                )
            raw = read_bytes(path)
            digits = found[path] = sha256(raw).hexdigest()
            if self.sha256.get(path, digits) != digits:
                raise InputError(
                    f"{path} has changed since training began; put back the file that the run was started with"
                )
            return as_text(raw, path)

        return {
            name: self.read_files(getattr(self, name), f"--{name}", read)
            for name in ("train", "valid")
        }, found
