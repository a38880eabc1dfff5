"""The `minitransformer` command: every error is one line and an exit code."""

import errno
import os
import sys
import warnings
from collections.abc import Collection
from contextlib import nullcontext

from minitransformer.cli.interrupts import interruptible
from minitransformer.cli.streams import encode_output
from minitransformer.errors import InputError, one_line
from minitransformer.extras import broken_library
from minitransformer.files import reason
from minitransformer.speed.launcher import launched

FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF}  # what a write to it may raise
FAST = {"train", "evaluate", "translate", "generate", "classify"}  # kernels run in these commands


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 2 for bad input, 130 after Ctrl-C, 1 for a bug.

    argv: None for those of the process, which is then ours: its Ctrl-C, too.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process: no one is listening
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
    if launched().processes == 1:
        return _main(argv)
    from minitransformer.cli.several_processes import run_in_each_process

    return run_in_each_process(lambda: _main(argv))


def _main(argv: list[str] | None) -> int:
    options: set[str] = set()  # those of the requested command
    try:
        with interruptible() if argv is None else nullcontext():
            encode_output()
            try:
                return _execute(argv, options)
            finally:
                sys.stdout.flush()  # a closed pipe or a full disk shows up here, not at exit
    except InputError as error:
        return _complain(_as_typed(str(error), options))
    except BrokenPipeError:  # the reader is gone: stop quietly
        _forget_output()
        return 1
    except OSError as error:
        if error.filename or error.errno not in FULL:
            return _complain(reason(error))
        _forget_output()  # all writes to files name them
        return _complain(f"standard output: {error.strerror}")
    except MemoryError:
        return _complain("not enough memory; try a smaller --config, --batch, --window or --beam")
    except KeyboardInterrupt:
        print("minitransformer: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        broken = broken_library(error)
        return _complain(broken) if broken else _unexpected(error)


def _execute(argv: list[str] | None, options: set[str]) -> int:
    from minitransformer.cli.parser import make_parser  # slow

    args = make_parser(argv).parse_args(argv)
    options.update(args.options)
    from minitransformer.speed import kernels
    from minitransformer.speed.host import keep_freed_memory

    kernels.state.say = lambda text: print(text, end="", file=sys.stderr, flush=True)
    keep_freed_memory()
    fast = kernels.kernels_run() if args.command in FAST else nullcontext()
    with warnings.catch_warnings(), fast:
        # NumPy's, about NaN and infinity: an error names them
        warnings.simplefilter("ignore", RuntimeWarning)
        return args.execute(args) or 0


def _forget_output() -> None:
    """What is still in its buffer would be written again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _as_typed(message: str, options: Collection[str]) -> str:
    """A message that begins with a setting, rate_factor, begins with its option instead if the
    command has it: --rate-factor.
    """
    setting, _, rest = message.partition(" ")
    option = f"--{setting.replace('_', '-')}"
    return f"{option} {rest}" if option in options else message


def _complain(error: object) -> int:
    """Print one line, whatever the input contained; returns exit code 2."""
    print("minitransformer: " + one_line(error), file=sys.stderr)
    return 2


def _unexpected(error: BaseException) -> int:
    """Print one line about a mistake of our own, with the file that contains the traceback; returns
    exit code 1.
    """
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w",
        prefix="minitransformer-",
        suffix=".txt",
        delete=False,
        encoding="utf-8",
        errors="backslashreplace",
    ) as file:
        traceback.print_exc(file=file)
    print(
        f"minitransformer: unexpected {type(error).__name__}: {one_line(str(error).partition(chr(10))[0])}; "
        f"please report it with the traceback in {one_line(file.name)}",
        file=sys.stderr,
    )
    return 1
