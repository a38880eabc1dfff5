"""The `minitransformer` command: whatever goes wrong is one line, and an exit code."""

import os
import sys

from minitransformer.errors import InputError, one_line


def main(argv=None) -> int:
    """Run one command; returns the exit code: 2 for bad input, 130 after Ctrl-C."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:    # closed by who started us: nobody wants to hear
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))    # noqa: SIM115 - open to the end
    try:
        sys.stdout.reconfigure(    # type: ignore[union-attr]    # a TextIOWrapper, which has it
            encoding=None if sys.stdout.isatty() else "utf-8",    # files are UTF-8, as those we read
            errors="backslashreplace")    # never a crash over a character the terminal lacks
        try:
            from minitransformer.cli.blas_kernels import choose_blas_kernels    # imports take a while: Ctrl-C may come here
            choose_blas_kernels()
            from minitransformer.cli.parser import make_parser
            args = make_parser(argv).parse_args(argv)
            from minitransformer.host import keep_freed_memory
            keep_freed_memory()
            return args.execute(args) or 0
        finally:
            sys.stdout.flush()    # a closed pipe or a full disk shows itself here, not at exit
    except InputError as error:
        return _complain(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())    # nobody reads on: stop quietly
        return 1
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else error)
    except MemoryError:
        return _complain("not enough memory; try a smaller --config, --batch or --beam")
    except KeyboardInterrupt:
        if argv is None:    # the process ends here: an impatient second one must not spoil the way out
            import signal
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("minitransformer: interrupted", file=sys.stderr)
        return 130


def _complain(error) -> int:
    """One line, whatever the input held; exit code 2."""
    print("minitransformer: " + one_line(error), file=sys.stderr)
    return 2
