"""Files that commands write: a file of the user's is never overwritten.

A name that the user gave and that exists is refused; where the command chooses the name, it takes the next number. Run
folders follow the same rule.
"""

from itertools import count
from pathlib import Path

from minitransformer.errors import InputError


def check_new(output, what="a file") -> None:
    """Raise InputError unless `output`, which the user named, is not there yet and its folder is: said before the work."""
    path = Path(output)
    if path.is_dir():
        raise InputError(f"--output {output}: a folder, expected the name of {what}")
    if path.exists():
        raise InputError(f"--output {output}: already exists; choose another name, or delete it first")
    if not path.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {path.parent}")


def free_name(path) -> Path:
    """`path`, or the first of its name with -2, -3, ... behind it that is not there yet."""
    path = Path(path)
    names = (path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists())


def write_new(path, data) -> None:
    """The bytes `data` into a file that is not there yet: all of them, or no file. Raises FileExistsError."""
    file = Path(path).open("xb")    # noqa: SIM115 - outside: a file that was there already is not ours to remove
    try:
        with file:
            file.write(data)
    except BaseException:
        Path(path).unlink()
        raise
