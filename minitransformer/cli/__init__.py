"""The `minitransformer` command."""

import argparse
import os
import sys

from minitransformer.cli import attention, evaluate, gradcheck, info, plot, train, translate
from minitransformer.errors import InputError


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front of it."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv=None):
    """Run one command; returns the exit code: 2 for bad input, 130 after Ctrl-C."""
    parser = Parser(prog="minitransformer",
                    description="Attention Is All You Need in NumPy: train it, use it, check its gradients.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (train, evaluate, translate, gradcheck, attention, plot, info):
        command.add_parser(commands)
    args = parser.parse_args(argv)
    try:
        code = args.execute(args) or 0
        sys.stdout.flush()    # a closed pipe shows itself here, not at exit
        return code
    except InputError as error:
        print(f"minitransformer: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("minitransformer: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())    # nobody reads on: stop quietly
        return 1
