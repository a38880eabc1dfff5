"""Files and pictures that commands write: a user's file is never overwritten.

If the user gave the name, one that exists is refused; if the command chooses the name, it takes the
next free number. Run folders follow the same rule.
"""

from pathlib import Path
from typing import Any, TextIO

from minitransformer.errors import InputError
from minitransformer.files import free_name, naming, reason


def check_new(output: str | Path, what: str = "a file") -> None:
    """Before any work is done, raise InputError if `output`, the user's choice, exists or if its
    folder does not.
    """
    path = Path(output)
    if path.is_dir():
        raise InputError(f"--output {output}: a folder, expected the name of {what}")
    if path.exists():
        raise InputError(
            f"--output {output}: already exists; choose another name, or delete it first"
        )
    if not path.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {path.parent}")


def write_new(output: str | Path, data: bytes) -> None:
    """Write the bytes `data` to a new file: all of them, or no file. Raises FileExistsError."""
    path = Path(output)
    file = path.open("xb")  # outside the try: a file that already existed is not ours
    try:
        with naming(path), file:
            file.write(data)
    except BaseException:
        path.unlink()
        raise


def picture_path(output: str | None, default: str | Path = "picture.png") -> Path:
    """The Path of a new picture: the user's `output`, a PNG unless its suffix says otherwise, or a
    free name like `default`.
    """
    if output is None:
        return free_name(default)
    path = Path(output)
    path = path if path.suffix or path.is_dir() else path.with_name(path.name + ".png")
    check_new(path, "a picture")
    return path


def write_picture(figure: Any, path: Path, said_on: TextIO | None = None) -> None:
    """Write a figure.Figure to a new file in the format of its suffix, and print one line about it
    (to `said_on`, or stdout).
    """
    try:
        write_new(path, figure.as_bytes(path.suffix[1:]))
    except (OSError, ValueError, RuntimeError) as error:
        # RuntimeError: .pgf needs a program that is missing
        said = reason(error).removeprefix(f"{path}: ")
        raise InputError(f"--output {path}: {said}") from None
    print(f"drawn: {path}", file=said_on)
