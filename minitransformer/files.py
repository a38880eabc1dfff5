"""Files that are either complete or absent, no matter what stops the process, and checks that they
are unchanged.
"""

import errno
import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from minitransformer.errors import InputError

MANIFEST = "manifest.json"
# what reading JSON of another form than expected may raise
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)
PIECE = 2**20  # bytes of a file that are in memory at a time
FORMAT = 2  # format version of run folders
# of a file system that cannot flush a folder
NO_SYNC = {errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.ENOTSUP}


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """An OSError within the block names the file `path`, if it does not name another."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def reason(error: BaseException) -> str:
    """What to say of an error: of the system's, the file and what is wrong, not a number."""
    if not isinstance(error, OSError):
        return str(error)
    said = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {said}" if error.filename else said


@contextmanager
def no_empty_folders(path: Path) -> Iterator[None]:
    """If the block fails, the folders that it made for the file `path` are removed, if they are
    empty.
    """
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def write_durably(path: Path, data: Any) -> None:
    """Write the bytes `data`, or pieces of them, to the file `path`: the old file stays until all
    of them are on disk.
    """
    new = path.with_name(path.name + ".new")
    try:
        with naming(path), new.open("wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)  # it still exists only if the disk is full
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in the folder `path` are on disk, if its file system can say so; some
    network drives cannot.

    (On Windows, this is neither possible nor necessary.)
    """
    if os.name != "nt":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in NO_SYNC:
                raise
        finally:
            os.close(descriptor)


def as_path(name: str | Path) -> Path:
    """`name` as a Path. Raises InputError for what is not the name of a file or a folder; an empty
    one would be taken for the current folder.
    """
    if not isinstance(name, (str, os.PathLike)) or not os.fspath(name):
        raise InputError(f"the path is {name!r:.60}, expected the name of a file or a folder")
    return Path(name)


def make_folder(path: Path) -> None:
    """Make the folder `path` and its parents, and wait until their names are on disk."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def free_name(path: str | Path) -> Path:
    """`path`, or the first of its names with -2, -3, ... appended that does not exist yet."""
    path = Path(path)
    names = (
        path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        for number in count(1)
    )
    return next(name for name in names if not name.exists())


def write_manifest(folder: Path, names: Iterable[str]) -> None:
    """The manifest.json of `folder`: the sha256 of each of its files `names`, and of itself."""
    files = {name: digest(folder / name) for name in names}
    manifest = {"sha256": _seal(FORMAT, files), "format": FORMAT, "files": files}
    write_durably(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def check_manifest(folder: Path, unchecked: Collection[str] = ()) -> dict[str, str]:
    """{name: sha256} of the files in manifest.json. Raises InputError, naming the file, if one is
    not as it was written.

    Files named in `unchecked` are not checked. Raises OSError if one cannot be read now: it may be
    intact.
    """
    path = folder / MANIFEST
    with open_regular(path) as file:
        text = file.read()
    try:
        manifest = json.loads(text)
        version, files = manifest["format"], manifest["files"]
        intact = manifest["sha256"] == _seal(version, files)
    except (ValueError, LookupError, TypeError, RecursionError):
        intact = False
    if not intact:
        raise InputError(f"{path}: damaged")
    if version != FORMAT:
        raise InputError(
            f"{folder} has format {version}, this version of minitransformer reads format {FORMAT}; "
            f"use a version that reads {version}"
        )
    if not isinstance(files, dict) or not all(map(_is_name, files)):
        raise InputError(f"{path}: damaged, expected the names of files in this folder")
    for name, expected in files.items():
        if name in unchecked:
            continue
        if digest(folder / name) != expected:
            raise InputError(f"{folder / name}: damaged, its sha256 does not match {MANIFEST}")
    return files


def as_json(value: Any, **layout: Any) -> str:
    """`value` as JSON text; a NumPy number is written as the equal Python number."""
    return json.dumps(value, default=lambda number: number.item(), **layout)


def digest(path: Path) -> str:
    """The sha256 of a file, as hexadecimal digits."""
    found = sha256()
    with open_regular(path) as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading. Raises InputError if it is missing, or could keep its reader
    waiting, such as a FIFO.
    """
    check_regular(path)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def check_regular(path: Path, expected: str = "a file that minitransformer train wrote") -> None:
    """Raise InputError if something other than a file or a folder is at `path`."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: neither a file nor a folder, expected {expected}")


def _is_name(text: str) -> bool:
    """Whether it names a file, and not one in another folder."""
    return text.isprintable() and text not in ("", "..") and Path(text).name == text


def _seal(version: int, files: dict[str, str]) -> str:
    return sha256(json.dumps([version, files]).encode()).hexdigest()
