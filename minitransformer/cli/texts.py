"""A command's input texts: one as an argument, or the lines of standard input."""

import sys

from minitransformer.data.text_files import decode_utf8, split_lines
from minitransformer.errors import InputError


def read_texts(args, empty=None) -> list[str]:
    """[args.text], or the lines of standard input if there is none. `empty`: what to say of an empty text; None: it is allowed."""
    if args.text is not None:
        if empty and not args.text.strip():
            raise InputError(empty)
        return [args.text]
    if sys.stdin is None:
        raise InputError("no TEXT given, and standard input is closed")
    return split_lines(decode_utf8(sys.stdin.buffer.read(), "standard input"))
