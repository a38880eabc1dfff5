"""Keep what a learner's code prints, up to a limit, so that endless output fills neither the screen nor the memory."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

LIMIT = 2000    # characters


class LimitedOutput(io.TextIOBase):
    """A text stream that keeps the first LIMIT characters and counts the rest."""

    def __init__(self, text=""):
        self.kept, self.length = "", 0
        self.write(text)

    def writable(self) -> bool:
        return True

    def write(self, text) -> int:
        self.kept += text[:max(LIMIT - len(self.kept), 0)]
        self.length += len(text)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much more there was."""
        more = self.length - len(self.kept)
        return self.kept + (f"\n... {more:,} characters more" if more else "")


@contextmanager
def limited_output() -> Iterator[LimitedOutput]:
    """Within the block, print writes to the LimitedOutput that it yields."""
    with redirect_stdout(LimitedOutput()) as stream, redirect_stderr(stream):
        yield stream
