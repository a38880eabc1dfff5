"""Standard error for output that must not fail. A host may have none, or one without `isatty`; it may
be closed; and its reader may exit: in `train ... 2>&1 | tee log`, Ctrl-C ends tee first.
"""

import os
import sys
from contextlib import suppress
from typing import Any


class StandardError:
    """sys.stderr as it is at the time, or nothing if it cannot be used."""

    def write(self, text: str) -> None:
        self._call("write", text)

    def flush(self) -> None:
        self._call("flush")

    def isatty(self) -> bool:
        return bool(self._call("isatty"))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(sys.stderr, name)(*arguments)
        except (AttributeError, ValueError):  # there is none, or it is closed
            return None
        except OSError:  # once it cannot be written, it becomes the null device
            with suppress(OSError, ValueError):  # a stream without a file behind it
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


stderr = StandardError()
