"""Pictures that commands write."""

from pathlib import Path

from minitransformer.cli.output import check_new, write_new
from minitransformer.errors import InputError
from minitransformer.training.files import free_name


def picture_path(output, default=None) -> Path:
    """The Path of a new picture: the user's `output`, a PNG unless its suffix says otherwise, or a free name like `default`."""
    if output is None:
        return free_name(default)
    path = Path(output)
    path = path if path.suffix or path.is_dir() else path.with_name(path.name + ".png")
    check_new(path, "a picture")
    return path


def write_picture(figure, path, said_on=None) -> None:
    """Write a figure.Figure to a new file in the format of its suffix, and print one line about it (to `said_on`, or stdout)."""
    try:
        write_new(path, figure.as_bytes(path.suffix[1:]))
    except (OSError, ValueError, RuntimeError) as error:    # RuntimeError: .pgf needs a program that is missing
        raise InputError(f"--output {path}: {error}") from None
    print(f"drawn: {path}", file=said_on)
