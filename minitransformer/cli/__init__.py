"""The `minitransformer` command: every error is one line and an exit code."""

import os
import sys
import warnings
from contextlib import nullcontext

from minitransformer.errors import InputError, one_line
from minitransformer.speed.launcher import launched

FAST = {"train", "evaluate", "translate", "generate", "classify"}  # kernels run in these commands


def main(argv=None) -> int:
    """Run one command and return its exit code: 2 for bad input, 130 after Ctrl-C, 1 for a bug."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process: no one is listening
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
    if launched().processes == 1:
        return _main(argv)
    from minitransformer.cli.several_processes import run_in_each_process

    return run_in_each_process(lambda: _main(argv))


def _main(argv) -> int:
    options: set[str] = set()  # those of the requested command
    try:
        if hasattr(sys.stdout, "reconfigure"):  # a caller's StringIO has no encoding
            sys.stdout.reconfigure(
                encoding=None
                if sys.stdout.isatty()
                else "utf-8",  # files are UTF-8, like those we read
                errors="backslashreplace",
            )  # a character the terminal lacks never crashes
        try:
            from minitransformer.cli.parser import make_parser  # slow: Ctrl-C may come here
            from minitransformer.speed.host import keep_freed_memory

            args = make_parser(argv).parse_args(argv)
            options = args.options
            from minitransformer.speed import kernels

            kernels.state.say = lambda text: print(text, end="", file=sys.stderr, flush=True)
            keep_freed_memory()
            with (
                warnings.catch_warnings(),
                kernels.kernels_run() if args.command in FAST else nullcontext(),
            ):
                warnings.simplefilter(
                    "ignore", RuntimeWarning
                )  # NumPy's, about NaN and infinity: an error names them
                return args.execute(args) or 0
        finally:
            sys.stdout.flush()  # a closed pipe or a full disk shows up here, not at exit
    except InputError as error:
        return _complain(_as_typed(str(error), options))
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the reader is gone: stop quietly
        return 1
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else error)
    except MemoryError:
        return _complain("not enough memory; try a smaller --config, --batch or --beam")
    except KeyboardInterrupt:
        if argv is None:  # the process ends here: a second Ctrl-C must not disturb the exit
            import signal

            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("minitransformer: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return _unexpected(error)


def _as_typed(message, options) -> str:
    """A message that begins with a setting, rate_factor, begins with its option instead if the
    command has it: --rate-factor.
    """
    setting, _, rest = message.partition(" ")
    option = f"--{setting.replace('_', '-')}"
    return f"{option} {rest}" if option in options else message


def _complain(error) -> int:
    """Print one line, whatever the input contained; returns exit code 2."""
    print("minitransformer: " + one_line(error), file=sys.stderr)
    return 2


def _unexpected(error) -> int:
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
