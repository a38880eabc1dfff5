"""The command line's parser, whose error messages are one line."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from minitransformer import __version__
from minitransformer.errors import InputError, choices, nearest_of, one_line
from minitransformer.lookup import of_the_zoo

COMMANDS = {  # each is a module, imported only when it is requested: its docstring heads its help
    "data": "download a corpus to train on",
    "train": "train a model on a toy task or on your own text",
    "evaluate": "measure a trained model",
    "translate": "print a trained model's output for a text",
    "generate": "continue a text with a trained language model",
    "classify": "predict the class of a text with a trained classifier",
    "import": "make a run of a pretrained GPT-2 or Llama",
    "export": "write the weights of a run for PyTorch's layers",
    "learn": "work through the chapters: exercises, and a judge that says what is wrong and why",
    "gradcheck": "check every gradient of every block",
    "attention": "draw the attention maps of a trained model",
    "explore": "write a page that shows every number and gradient of a trained model, live",
    "plot": "draw figure 1 of the paper for a model",
}
OF_THE_COURSE = {
    "learn",
    "explore",
}  # found by their entry points; the others are modules of this package
FIRST = "minitransformer train copy"


class HelpFormatter(argparse.HelpFormatter):
    """Puts the help of each command on the same line as its name."""

    def __init__(self, prog):
        super().__init__(prog, max_help_position=30)

    def _fill_text(self, text, width, indent) -> str:
        """Lines that are indented are commands: they stay as they are."""
        return "\n".join(
            line
            if line.startswith("  ")
            else super(HelpFormatter, self)._fill_text(line, width, indent)
            for line in text.split("\n")
        )

    def add_argument(self, action) -> None:
        super().add_argument(action)
        if isinstance(
            action, argparse._SubParsersAction
        ):  # argparse overlooks that their names are indented
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """Says in one line, without printing the usage first, what is wrong and what was probably
    meant.
    """

    words: Sequence[str] = ()  # what the user typed after the command

    def __init__(self, **settings):
        super().__init__(**settings, formatter_class=HelpFormatter)

    def error(self, message) -> None:
        self.exit(2, one_line(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")

    def parse_known_args(self, args=None, namespace=None) -> tuple[argparse.Namespace, list[str]]:
        args = sys.argv[1:] if args is None else args
        self._check_options_before_command(args)
        namespace, unknown = super().parse_known_args(args, namespace)
        namespace.options = {*self._option_string_actions, *getattr(namespace, "options", ())}
        left_out = [
            action.dest
            for action in self._get_positional_actions()
            if action.nargs == "?" and getattr(namespace, action.dest) is None
        ]
        if left_out and unknown and not unknown[0].startswith("-"):
            setattr(
                namespace, left_out[0], unknown.pop(0)
            )  # older Pythons do not find it after an option
        if unknown:  # reported here: the parser of all commands does not know the options of one
            self._reject(" ".join(unknown), self._option_string_actions)
        return namespace, unknown

    def _check_options_before_command(self, args) -> None:
        """Given an unknown option before the command, argparse would take its value for the
        command.
        """
        commands: Any = next(
            (action for action in self._actions if isinstance(action, argparse._SubParsersAction)),
            None,
        )
        words = iter(args if commands else [])
        for word in words:
            name, _, value = word.partition("=")
            if not word.startswith("-"):
                return
            options = [option for option in self._option_string_actions if option.startswith(name)]
            if not options:
                behind = {
                    option
                    for command in commands.choices.values()
                    for option in command._option_string_actions
                }
                if name in behind and any(word.partition("=")[0] == "--resume" for word in args):
                    self.error(
                        f"--resume resumes with the run's own task and settings; leave {name} out"
                    )
                if name in behind:
                    self.error(
                        f"{name} belongs after {commands.metavar}: {self.prog} {commands.metavar} {name} ..."
                    )
                self._reject(word, [*self._option_string_actions, *sorted(behind)])
            if self._option_string_actions[options[0]].nargs is None and not value:
                next(words, None)

    def _reject(self, text, known) -> None:
        name = text.strip().partition(" ")[0].partition("=")[0]
        nearest = nearest_of(name, known) if name.startswith("-") else None
        self.error(
            f"unrecognized arguments: {text}" + (f"; did you mean {nearest}?" if nearest else "")
        )

    def _check_value(self, action, value) -> None:
        if action.dest == "command" and value not in COMMANDS and not nearest_of(value, COMMANDS):
            from minitransformer.tasks import TASKS

            if value in TASKS:
                raise argparse.ArgumentError(
                    action, f"{value} is a task: minitransformer train {value}"
                )
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}; {choices(value, list(action.choices))}"
            )


def make_parser(argv=None) -> Parser:
    """The parser of all commands; `args.execute(args)` runs the requested one.

    Only the requested command gets its options: the others' modules are not imported, so that
    --help is immediate.
    """
    parser = Parser(
        prog="minitransformer",
        epilog="Each command says more: minitransformer train copy --help",
        description="Attention Is All You Need in NumPy: train it, use it, check its gradients.\n\n"
        f"Examples:\n  {FIRST}\n  minitransformer learn start 1",
    )
    parser.add_argument("--version", action="version", version=f"minitransformer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    parser.set_defaults(execute=lambda _: parser.error(f"no COMMAND given; start with: {FIRST}"))
    typed = sys.argv[1:] if argv is None else argv
    asked_for = next(iter(typed), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name == asked_for:
            module, command.words = module_of(name), typed[1:]
            command.description = module.__doc__
            module.add_arguments(command)
            command.set_defaults(execute=module.execute)
    return parser


def module_of(command) -> ModuleType:
    if command not in OF_THE_COURSE:
        return import_module(of_the_zoo("command").get(command, f"minitransformer.cli.{command}"))
    for found in entry_points(group="minitransformer.commands", name=command):
        return found.load()
    raise InputError(
        f"{command} belongs to the course, which is not installed; install the clone with pip install -e ."
    )
