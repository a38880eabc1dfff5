"""The `minitransformer` command."""

import argparse
import os
import sys
from importlib.metadata import version

from minitransformer.cli import attention, evaluate, gradcheck, info, plot, train, translate
from minitransformer.errors import InputError


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front of it."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)".replace("\n", "\\n") + "\n")


def main(argv=None):
    """Run one command; returns the exit code: 2 for bad input, 130 after Ctrl-C."""
    sys.stdout.reconfigure(errors="backslashreplace")    # never a crash over a character the terminal lacks
    try:
        try:
            args = _parser().parse_args(argv)
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
        return _complain("not enough memory; try a smaller --config or --batch")
    except KeyboardInterrupt:
        print("minitransformer: interrupted", file=sys.stderr)
        return 130


def _parser():
    parser = Parser(prog="minitransformer",
                    description="Attention Is All You Need in NumPy: train it, use it, check its gradients.")
    parser.add_argument("--version", action="version", version=f"minitransformer {version('minitransformer')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (train, evaluate, translate, gradcheck, attention, plot, info):
        command.add_parser(commands)
    return parser


def _complain(error):
    """One line, whatever the input held; exit code 2."""
    print("minitransformer: " + str(error).replace("\n", "\\n"), file=sys.stderr)
    return 2
