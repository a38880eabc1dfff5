"""Tasks that learn from files: each is read once, and the run remembers it by its absolute name and
checksum.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from minitransformer.checks import check_kind
from minitransformer.data.text_files import Read, as_text, read_bytes, read_text
from minitransformer.errors import InputError, counted
from minitransformer.tables import setting
from minitransformer.tasks.task import Task

Same = TypeVar("Same", bound="FromFiles")  # `begin` and `read` return an object of the same class
PARTS = ("train", "valid")


def only_file(files: list[str], name: str, what: str) -> str:
    """The file in `files`. Raises InputError, which calls them `name` and says `what` is expected,
    unless there is one.
    """
    if len(files) != 1:
        raise InputError(f"{name} names {counted(len(files), 'file')}, expected {what}")
    return files[0]


class Places(NamedTuple):
    """Where the files of a run may be by now."""

    folder: Path  # of the run
    made_in: str  # the absolute name of that folder when the run began; "" if it is not known
    given: Mapping[str, str] = MappingProxyType({})  # {an old name: the file to read instead}

    def of(self, file: str) -> list[str]:
        """The names to try: the given one, or the old one, then the one at the same place seen from
        the run, if both have moved.
        """
        if file in self.given:
            return [self.given[file]]
        if not (self.made_in and os.path.isabs(file)):
            return [file]
        try:
            from_run = os.path.relpath(file, self.made_in)
        except ValueError:  # another drive of Windows
            return [file]
        return [file, os.path.normpath(self.folder.resolve() / from_run)]


@dataclass(frozen=True, kw_only=True)
class FromFiles(Task):
    """A task with files to train on and to validate by. A subclass has `read_files`."""

    # what is special about the options --train and --valid: nargs, metavar, help
    files_option: ClassVar[dict]

    train: list  # names of files; [] for an imported model
    valid: list
    sha256: dict = field(default_factory=dict)  # {file: hexadecimal digits}
    # {"train", "valid": what `read_files` returned}, once they are read; not a setting
    found: dict | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in PARTS:
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
    def add_arguments(cls, parser: Any) -> None:
        parser.add_argument("--train", required=True, **cls.files_option)
        parser.add_argument(
            "--valid", required=True, **{**cls.files_option, "help": "the same for validation"}
        )

    def read_files(self, files: list[str], name: str, read: Read) -> Any:
        """What is in `files`, each read by `read(path)`. Raises InputError, which calls them
        `name`, if one cannot be used.
        """
        raise NotImplementedError

    def remarks(self, vocabulary: Any) -> list[str]:
        asked = getattr(self, "vocab_size", vocabulary.size)
        if vocabulary.size <= asked:
            return []
        found = counted(vocabulary.size, "token")
        return [f"--vocab-size {asked} is too small: the characters alone make {found}"]

    def begin(self: Same) -> Same:
        """The task with absolute names of its files and their checksums; it has read them."""
        checksums: dict[str, str] = {}
        found = self._read(PARTS, checksums=checksums)
        names = {file: str(Path(file).resolve()) for file in checksums}
        return replace(
            self,
            train=[names[file] for file in self.train],
            valid=[names[file] for file in self.valid],
            sha256={names[file]: digits for file, digits in checksums.items()},
            found=found,
        )

    def read(self: Same, places: Places) -> Same:
        return replace(self, found=self._read(PARTS, places))

    @property
    def texts(self) -> dict[str, Any]:
        """{"train", "valid": what `read_files` returned}; read now if they were not read before.
        Raises InputError if a file has changed since training began.
        """
        return self.found or self._read(PARTS)

    def to_measure(self, run: Any, test: list[str] | None) -> tuple[list[str], Any]:
        """(the files to measure a run on, what is in them): `test` or, without, its own validation
        files, which must not have changed.
        """
        if test:
            return test, self.read_files(test, "--test", read_text)
        if not self.valid:
            raise InputError(
                f"{run.path} has no validation file of its own; give a text with --test FILE"
            )
        found = self._read(["valid"], run.places, name="validation file", option="--test")
        return self.valid, found["valid"]

    def _read(
        self,
        parts: Iterable[str],
        places: Places | None = None,
        checksums: dict[str, str] | None = None,
        name: str | None = None,
        option: str | None = None,
    ) -> dict[str, Any]:
        """{part: what is in its files}; the `checksums` of the files are noted. `name`: what to
        call them, `option`: what could name others; None: the part's own option.
        """

        def read_part(part: str) -> Any:
            own = f"--{part}"

            def read(path: str | Path) -> str:
                path = str(path)
                names = places.of(path) if places else [path]
                raw = self._read_file(path, names, option or own)
                if checksums is not None:
                    checksums[path] = sha256(raw).hexdigest()
                return as_text(raw, path)

            return self.read_files(getattr(self, part), name or own, read)

        return {part: read_part(part) for part in parts}

    def _read_file(self, path: str, names: list[str], option: str) -> bytes:
        """The first of the files `names` that holds what `path` held when training began."""
        digits, there = self.sha256.get(path), [name for name in names if os.path.exists(name)]
        if digits and not there:
            raise InputError(
                f"{path}: no such file; if it has moved, say where it is: {option} FILE"
            )
        for name in there or names:
            if Path(name).is_fifo():
                raise InputError(
                    f"{name}: a pipe, expected a file, because a resumed run reads it again"
                )
            raw = read_bytes(name)
            if digits is None or is_text_of(raw, digits):
                return raw
        raise InputError(
            f"{there[0]} has changed since training began; put back the file that the run was started with"
        )


@dataclass(frozen=True, kw_only=True)
class FromSentences(FromFiles):
    """A task whose files are sentences, each of which has to fit into a batch."""

    batch: int = setting("tokens in a batch, padding included", 2048)
    max_length: int = setting("longest sentence, in subwords", 256)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_length + 1 > self.batch:
            raise InputError(
                f"batch is {counted(self.batch, 'token')}, expected at least max_length + 1 = {self.max_length + 1}"
            )


def is_text_of(raw: bytes, digits: str) -> bool:
    """Whether a file with these bytes had this sha256, whatever ended its lines."""
    unix = raw.replace(b"\r\n", b"\n")
    return any(
        sha256(one).hexdigest() == digits for one in (raw, unix, unix.replace(b"\n", b"\r\n"))
    )
