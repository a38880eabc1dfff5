"""Read text from UTF-8 files, plain or .gz, and say what is wrong with those that cannot be read."""

import gzip
import zlib
from pathlib import Path

from minitransformer.errors import InputError


def read_text(path) -> str:
    """The text of a UTF-8 file (.gz is unpacked).

    Raises InputError if it is missing, unreadable, not UTF-8, or empty.
    """
    path = Path(path)
    if path.is_char_device():
        raise InputError(f"{path}: a device, expected a text file")    # /dev/zero never ends
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"not an intact gzip file ({error})"
        raise InputError(f"{path}: {reason}") from None
    except ValueError as error:    # a NUL in the name
        raise InputError(f"{path}: {error}") from None
    text = decode_utf8(raw, path)
    if not text.strip():
        raise InputError(f"{path}: empty, expected text")
    return text


def decode_utf8(raw, name) -> str:
    """The text of bytes. Raises InputError, with the line, if they are not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raw = error.object    # without the byte order mark
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8 text (byte 0x{raw[error.start]:02x})") from None


def split_lines(text) -> list[str]:
    """The lines of `text`: only \\n (or \\r\\n) ends a line, as in aligned corpora."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
