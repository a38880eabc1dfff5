"""Files that commands write: a user's file is never overwritten.

If the user gave the name, one that exists is refused; if the command chooses the name, it takes the next free number. Run
folders follow the same rule.
"""

from pathlib import Path

from minitransformer.errors import InputError


def check_new(output, what="a file", option="--output") -> None:
    """Before any work is done, raise InputError if `output`, the user's choice, exists or if its folder does not."""
    path = Path(output)
    if path.is_dir():
        raise InputError(f"{option} {output}: a folder, expected the name of {what}")
    if path.exists():
        raise InputError(f"{option} {output}: already exists; choose another name, or delete it first")
    if not path.parent.is_dir():
        raise InputError(f"{option} {output}: there is no folder {path.parent}")


def write_new(path, data) -> None:
    """Write the bytes `data` to a new file: all of them, or no file. Raises FileExistsError."""
    file = Path(path).open("xb")    # noqa: SIM115 - outside the try: a file that already existed is not ours to remove
    try:
        with file:
            file.write(data)
    except BaseException:
        Path(path).unlink()
        raise
