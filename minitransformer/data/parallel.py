"""Reading parallel text: two aligned files, plain or .gz, or one file of two tab-separated columns."""

import gzip
import unicodedata
import zlib
from pathlib import Path

from minitransformer.errors import InputError

MAX_CHARACTERS = 20_000    # in a sentence; learning subwords takes time quadratic in the longest word


def read_text(path):
    """The text of a UTF-8 file (.gz is unpacked).

    Raises InputError where it is missing, unreadable, not UTF-8, or empty.
    """
    path = Path(path)
    if path.is_char_device():
        raise InputError(f"{path}: a device, expected a text file")    # /dev/zero never ends
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"not a whole gzip file ({error})"
        raise InputError(f"{path}: {reason}") from None
    except ValueError as error:    # a NUL in the name
        raise InputError(f"{path}: {error}") from None
    text = decode_utf8(raw, path)
    if not text.strip():
        raise InputError(f"{path}: empty, expected one sentence a line")
    return text


def decode_utf8(raw, name):
    """The text of bytes. Raises InputError, with the line, where they are not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raw = error.object    # without the byte order mark
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8 text (byte 0x{raw[error.start]:02x})") from None


def split_lines(text):
    """The lines of `text`: only \\n (or \\r\\n) ends a line, as in every aligned corpus."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def read_pairs(paths, name="files"):
    """[(source, target)] from [SOURCE, TARGET], aligned line by line, or from one [TSV].

    Unicode is normalised (NFC), outer blanks are stripped; further columns of a TSV (attribution) are ignored. Raises InputError
    where the files have different lengths, a line has no second column or is endless, or there are
    more than two files; `name` says in the message where these came from.
    """
    if len(paths) > 2:
        raise InputError(f"{name}: {len(paths)} files, expected SOURCE TARGET or one two-column TSV")
    sides = [split_lines(read_text(path)) for path in paths]
    if len(sides) == 1:
        pairs = [_columns(paths[0], number, line) for number, line in enumerate(sides[0], 1)]
    elif len(sides[0]) != len(sides[1]):
        raise InputError(f"{paths[0]} has {len(sides[0])} lines and {paths[1]} has {len(sides[1])}; "
                         "expected aligned files, line by line")
    else:
        pairs = list(zip(*sides))
    pairs = [tuple(unicodedata.normalize("NFC", side.strip()) for side in pair) for pair in pairs]
    for number, pair in enumerate(pairs, 1):
        if max(map(len, pair)) > MAX_CHARACTERS:
            raise InputError(f"{' / '.join(map(str, paths))}, line {number}: {max(map(len, pair)):,} characters, "
                             f"at most {MAX_CHARACTERS:,} make a sentence")
    return pairs


def _columns(path, number, line):
    columns = line.split("\t")
    if len(columns) < 2 and line.strip():
        raise InputError(f"{path}, line {number}: one column, expected source and target separated by a tab")
    return (columns[0], columns[1]) if len(columns) > 1 else ("", "")
