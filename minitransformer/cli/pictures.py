"""Pictures that commands write."""

from pathlib import Path

from minitransformer.errors import InputError


def write_picture(draw, output):
    """draw(path) for --output, a PNG unless its name says otherwise, and one line about it."""
    path = Path(output)
    if path.is_dir():
        raise InputError(f"--output {output}: a folder, expected the name of a picture")
    path = path if path.suffix else path.with_name(path.name + ".png")
    try:
        draw(path)
    except (OSError, ValueError, RuntimeError) as error:    # RuntimeError: a program that .pgf needs is missing
        raise InputError(f"--output {output}: {error}") from None
    print(f"drawn: {path}")
