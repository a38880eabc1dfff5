"""The command minitransformer, and `python -m minitransformer`."""

import os
import signal
import sys


def end_at_once(*_: object) -> None:
    """What Ctrl-C does until `main` listens: nothing is begun that would have to be finished."""
    os.write(2, b"minitransformer: interrupted\n")
    os._exit(130)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_at_once)

from minitransformer.cli import main  # noqa: E402 - it takes its time

if __name__ == "__main__":
    sys.exit(main())
