"""Standard error whose reader may exit: in `train ... 2>&1 | tee log`, Ctrl-C ends tee first."""

import os
import sys
from contextlib import suppress
from typing import Any


class StandardError:
    """sys.stderr for output that must not fail: once it cannot be written, it becomes the null
    device.
    """

    def write(self, text) -> None:
        self._unless_broken(lambda: sys.stderr.write(text))

    def flush(self) -> None:
        self._unless_broken(sys.stderr.flush)

    def __getattr__(self, name) -> Any:
        return getattr(sys.stderr, name)

    def _unless_broken(self, action) -> None:
        try:
            action()
        except OSError:
            with suppress(OSError):  # a stream without a file behind it
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


stderr = StandardError()
