"""The words of the command line, and a complaint of one line about a wrong one."""

import argparse
import sys
from importlib import import_module
from importlib.metadata import version

from minitransformer.errors import choices, one_line

COMMANDS = {    # each is a module of this package, imported when it is the one that was asked for
    "data": "download a corpus to train on",
    "train": "train a model on a toy task or on your own text",
    "evaluate": "measure a trained model",
    "translate": "give a trained model text and print what it answers",
    "generate": "let a trained language model continue a text",
    "classify": "let a trained classifier name the class of a text",
    "compare": "put runs side by side: the settings that differ, the results, the curves",
    "export": "write the weights of a run for PyTorch's layers",
    "learn": "work through the chapters: exercises, and a judge that says where and why",
    "gradcheck": "check every gradient of every block",
    "attention": "draw the attention maps of a trained model",
    "plot": "draw the curves of a run, the sinusoids, or the schedule",
    "benchmark": "measure a training step or beam search, alone or against others",
    "info": "versions, backends, BLAS, threads and kernels of this installation",
}


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


def make_parser(argv=None):
    """The parser of all commands; `args.execute(args)` runs the one that was asked for.

    Only that one gets its options: the others' modules are not imported, so that --help answers at once.
    """
    parser = Parser(prog="minitransformer",
                    description="Attention Is All You Need in NumPy: train it, use it, check its gradients.")
    parser.add_argument("--version", action="version", version=f"minitransformer {version('minitransformer')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked_for = next(iter(sys.argv[1:] if argv is None else argv), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name == asked_for:
            module = import_module(f"minitransformer.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(execute=module.execute)
    return parser
