"""What the command reads and writes is text in the encoding of its console; a file is UTF-8."""

import os
import stat
import sys

from minitransformer.data.text_files import decode_utf8
from minitransformer.errors import InputError


def encode_output() -> None:
    """Standard output to a file is UTF-8, like the files that are read, unless PYTHONIOENCODING
    says otherwise; a console, and a program behind a pipe, gets the console's encoding. A character
    that it lacks is an escape, never an error.
    """
    if not hasattr(sys.stdout, "reconfigure"):  # a caller's StringIO has no encoding
        return
    utf_8 = _is_file() and not os.environ.get("PYTHONIOENCODING")
    sys.stdout.reconfigure(encoding="utf-8" if utf_8 else None, errors="backslashreplace")


def _is_file() -> bool:
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # a stream without a file behind it
        return False


def read_input() -> str:
    """The text on standard input: UTF-8, or the console's encoding. Raises InputError if it is
    neither.
    """
    if sys.stdin is None:
        raise InputError("no TEXT given, and standard input is closed")
    raw = sys.stdin.buffer.read()
    try:
        return decode_utf8(raw, "standard input")
    except InputError:
        try:
            return raw.decode(sys.stdin.encoding)
        except (LookupError, UnicodeDecodeError):
            pass
        raise
