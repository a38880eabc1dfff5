"""Read text from UTF-8 files, plain or .gz, and say what is wrong with those that cannot be read."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

from minitransformer.errors import InputError

Read = Callable[[str | Path], str]  # the text of a file by its name


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file (.gz is unpacked).

    Raises InputError if it is missing, unreadable, not UTF-8, or empty.
    """
    return as_text(read_bytes(path), path)


def read_bytes(path: str | Path) -> bytes:
    """What is in a file. Raises InputError if it is missing or unreadable."""
    path = Path(path)
    if path.is_char_device():
        raise InputError(f"{path}: a device, expected a text file")  # /dev/zero never ends
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"{path}: {error}") from None


def as_text(raw: bytes, path: str | Path) -> str:
    """The text in the bytes `raw` of the file `path`. Raises InputError if they are not UTF-8, or
    empty.
    """
    try:
        raw = gzip.decompress(raw) if Path(path).suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not an intact gzip file ({error})") from None
    text = decode_utf8(raw, path)
    if not text.strip():
        raise InputError(f"{path}: empty, expected text")
    return text


def decode_utf8(raw: bytes, name: str | Path) -> str:
    """The bytes as text. Raises InputError, with the line, if they are not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raw = error.object  # without the byte order mark
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: not UTF-8 text (byte 0x{raw[error.start]:02x})"
        ) from None


def split_lines(text: str) -> list[str]:
    """The lines of `text`: only \\n (or \\r\\n) ends a line, as in aligned corpora."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
