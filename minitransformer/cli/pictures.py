"""Pictures that commands write."""

from pathlib import Path

from minitransformer.cli.output import check_new, free_name, write_new
from minitransformer.errors import InputError


def picture_path(output, default=None) -> Path:
    """The Path of a new picture: the `output` that the user named, a PNG unless it says otherwise, or a free `default`."""
    if output is None:
        return free_name(default)
    path = Path(output)
    path = path if path.suffix or path.is_dir() else path.with_name(path.name + ".png")
    check_new(path, "a picture")
    return path


def write_picture(figure, path) -> None:
    """A figure.Figure into a new file in the format that its name says, and one line about it."""
    try:
        write_new(path, figure.as_bytes(path.suffix[1:]))
    except (OSError, ValueError, RuntimeError) as error:    # RuntimeError: a program that .pgf needs is missing
        raise InputError(f"--output {path}: {error}") from None
    print(f"drawn: {path}")
