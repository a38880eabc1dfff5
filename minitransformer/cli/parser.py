"""The words of the command line, and a complaint of one line about a wrong one."""

import argparse
from importlib.metadata import version

from minitransformer.cli import (
    attention, benchmark, compare, data, evaluate, export, gradcheck, info, plot, train, translate)
from minitransformer.errors import choices, one_line


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front of it, and what was probably meant."""

    def error(self, message):
        self.exit(2, one_line(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")

    def parse_known_args(self, args=None, namespace=None):
        namespace, unknown = super().parse_known_args(args, namespace)
        left_out = [action.dest for action in self._get_positional_actions()
                    if action.nargs == "?" and getattr(namespace, action.dest) is None]
        if left_out and unknown and not unknown[0].startswith("-"):
            setattr(namespace, left_out[0], unknown.pop(0))    # older Pythons do not find it behind an option
        if unknown:    # said here, and not by the parser of all commands, which doesn't know the options of one
            name = unknown[0].partition("=")[0]
            hint = f"; {choices(name, self._option_string_actions)}" if name.startswith("-") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return namespace, unknown

    def _check_value(self, action, value):
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {choices(value, list(action.choices))}")


def make_parser():
    """The parser of all commands; `args.execute(args)` runs the one that was asked for."""
    parser = Parser(prog="minitransformer",
                    description="Attention Is All You Need in NumPy: train it, use it, check its gradients.")
    parser.add_argument("--version", action="version", version=f"minitransformer {version('minitransformer')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (data, train, evaluate, translate, compare, export, gradcheck, attention, plot, benchmark, info):
        command.add_parser(commands)
    return parser
