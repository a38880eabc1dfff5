"""Colour for a reader at a terminal; never in a pipe (https://no-color.org, https://force-color.org)."""

import os
import re

STYLES = (    # (what is shown, its colour), each at most once a line
    (r"^minitransformer[\w ]*:", "1;31"),                          # an error
    (r"^\w+: passed$|^  PASSED\b|\bok$|^all \d+ checks passed\b", "32"),
    (r"^\w+: not yet$|^  WHERE\b|\bFAILED\b", "31"),
    (r"^  LIKELY\b", "33"),
    (r"^  (?:WHY|NEXT)\b|^[Nn]ext:", "36"),
)


def coloured(text, stream) -> str:
    """`text` with the marks that a terminal shows as colours, if `stream` is one."""
    if not _wanted(stream):
        return text
    for pattern, colour in STYLES:
        text = re.sub(pattern, f"\033[{colour}m\\g<0>\033[0m", text, flags=re.MULTILINE)
    return text


def _wanted(stream) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    old_windows = os.name == "nt" and "WT_SESSION" not in os.environ    # its console may print the marks
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not old_windows
