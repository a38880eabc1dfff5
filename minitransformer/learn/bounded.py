"""What a learner's code prints is kept, up to a limit: a megabyte of it neither fills the screen nor the memory."""

import io
import sys
from contextlib import contextmanager

LIMIT = 2000    # characters


class Bounded(io.TextIOBase):
    """A text stream that keeps the first LIMIT characters and counts the rest."""

    def __init__(self):
        self.kept, self.length = "", 0

    def writable(self):
        return True

    def write(self, text):
        self.kept += text[:max(LIMIT - len(self.kept), 0)]
        self.length += len(text)
        return len(text)

    def text(self):
        """What was kept, and how much more there was."""
        more = self.length - len(self.kept)
        return self.kept + (f"\n... {more:,} characters more" if more else "")


@contextmanager
def bounded_output():
    """Within it, print writes to the Bounded that it gives."""
    before, stream = (sys.stdout, sys.stderr), Bounded()
    sys.stdout = sys.stderr = stream
    try:
        yield stream
    finally:
        sys.stdout, sys.stderr = before
