"""Reading parallel text: two aligned files, plain or .gz, or one file of two tab-separated columns."""

import gzip
import zlib
from pathlib import Path

from minitransformer.errors import InputError


def read_lines(path):
    """The lines of a UTF-8 text file (.gz is unpacked), without line ends and outer blanks.

    Raises InputError where it is missing, unreadable, not UTF-8, or empty.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"not a gzip file ({error})"
        raise InputError(f"{path}: {reason}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8 text (byte 0x{raw[error.start]:02x})") from None
    if not text.strip():
        raise InputError(f"{path}: empty, expected one sentence a line")
    return split_lines(text)


def split_lines(text):
    """The lines of `text` without outer blanks: only \\n ends a line, as in every aligned corpus."""
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def read_pairs(paths, name="files"):
    """[(source, target)] from [SOURCE, TARGET], aligned line by line, or from one [TSV].

    Further columns of a TSV (attribution) are ignored. Raises InputError where the files have
    different lengths, a line lacks its second column, or there are more than two files; `name` says
    in the message where these came from.
    """
    if len(paths) > 2:
        raise InputError(f"{name}: {len(paths)} files, expected SOURCE TARGET or one two-column TSV")
    if len(paths) == 1:
        return [_columns(paths[0], number, line) for number, line in enumerate(read_lines(paths[0]), 1)]
    source, target = map(read_lines, paths)
    if len(source) != len(target):
        raise InputError(f"{paths[0]} has {len(source)} lines and {paths[1]} has {len(target)}; "
                         "expected aligned files, line by line")
    return list(zip(source, target))


def _columns(path, number, line):
    columns = line.split("\t")
    if len(columns) < 2:
        raise InputError(f"{path}, line {number}: one column, expected source and target separated by a tab")
    return columns[0].strip(), columns[1].strip()
