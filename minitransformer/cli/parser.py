"""The command line's parser, whose error messages are one line."""

import argparse
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from itertools import groupby, takewhile
from shutil import get_terminal_size
from textwrap import fill
from types import ModuleType
from typing import Any, NoReturn

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
# found by their entry points; the others are modules of this package
OF_THE_COURSE = {"learn", "explore"}
TEXTS = ("TEXT", "PROMPT")  # how help shows an argument that is a text
FILES = ("RUN", "DIR", "FILE", "PATH", "FOLDER", "SOURCE")  # or the name of a file or a folder
FIRST = "minitransformer train copy"


class Parser(argparse.ArgumentParser):
    """Says in one line, without printing the usage first, what is wrong and what was probably
    meant.
    """

    words: Sequence[str] = ()  # what the user typed after the command
    typed: Sequence[str] = ()  # what it parses
    below: Any = None  # what add_subparsers made

    def __init__(self, **settings: Any):
        self.actions: list[argparse.Action] = []
        super().__init__(**settings, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        action = super().add_argument(*names, **how)
        self.actions.append(action)
        return action

    def add_group(self, title: str) -> "Group":
        return Group(self, title)

    def add_subparsers(self, **how: Any) -> Any:
        self.below = super().add_subparsers(**how)
        return self.below

    @property
    def options(self) -> dict[str, argparse.Action]:
        return {name: action for action in self.actions for name in action.option_strings}

    def format_help(self) -> str:
        width = max(get_terminal_size().columns - 2, 11)  # as argparse has it
        self.description, self.epilog = (
            _wrapped(text or "", width) for text in (self.description, self.epilog)
        )
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        for course in entry_points(group="minitransformer.help"):
            course.load().translate_help(self)  # into the language in which one learns
        print(self.format_help(), end="", file=file)  # argparse hides that a disk is full

    def error(self, message: str) -> NoReturn:
        hint = self._hint()
        self.exit(2, one_line(f"{self.prog}: {message}{hint} (see {self.prog} --help)") + "\n")

    def _hint(self) -> str:
        """What to say if a text that begins with - may have been taken for an option."""
        shown = {action.metavar for action in self.actions if not action.option_strings}
        texts = [name for name in TEXTS if name in shown]
        odd = [word for word in self.typed if word[:1] == "-" and word not in self.options]
        return f"; a {texts[0]} that begins with - goes behind --" if texts and odd else ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        args = sys.argv[1:] if args is None else args
        self.typed = args
        self._check_values_are_there(args)
        self._check_options_before_command(args)
        namespace, unknown = super().parse_known_args(args, namespace)
        namespace.options = {*self.options, *getattr(namespace, "options", ())}
        left_out = [
            action.dest
            for action in self.actions
            if not action.option_strings
            and action.nargs == "?"
            and getattr(namespace, action.dest) is None
        ]
        behind = unknown[:1] == ["--"]  # what begins with - is no option there
        if left_out and unknown[behind:] and (behind or not unknown[0].startswith("-")):
            # older Pythons do not find it after an option
            setattr(namespace, left_out[0], unknown[behind])
            del unknown[: behind + 1]
        self._check_names(namespace)
        if unknown:  # reported here: the parser of all commands does not know the options of one
            self._reject(" ".join(unknown), self.options)
        return namespace, unknown

    def _check_names(self, namespace: Any) -> None:
        """An empty name would be taken for the current folder."""
        for action in self.actions:
            value = getattr(namespace, action.dest, None)
            names_a_file = any(word in str(action.metavar) for word in FILES)
            if names_a_file and "" in (value if isinstance(value, list) else [value]):
                name = (action.option_strings or [str(action.metavar)])[0]
                self.error(f"argument {name}: an empty name")

    def _check_values_are_there(self, args: Sequence[str]) -> None:
        """Given `--output=--`, argparse of older Pythons leaves an empty list."""
        for word in takewhile("--".__ne__, args):
            if word.startswith("--") and word.endswith("=--"):
                self.error(f"argument {word.removesuffix('=--')}: -- is no value")

    def _check_options_before_command(self, args: Sequence[str]) -> None:
        """Given an unknown option before the command, argparse would take its value for the
        command.
        """
        words = iter(args if self.below else [])
        for word in words:
            name, _, value = word.partition("=")
            if not word.startswith("-"):
                return
            meant = [action for option, action in self.options.items() if option.startswith(name)]
            if not meant:
                self._reject_before_command(word, name, args)
            if meant[0].nargs is None and not value:
                next(words, None)

    def _reject_before_command(self, word: str, name: str, args: Sequence[str]) -> None:
        behind = {option for command in self.below.choices.values() for option in command.options}
        if name not in behind:
            self._reject(word, [*self.options, *sorted(behind)])
        if any(word.partition("=")[0] == "--resume" for word in args):
            self.error(f"--resume resumes with the run's own task and settings; leave {name} out")
        place = self.below.metavar
        self.error(f"{name} belongs after {place}: {self.prog} {place} {name} ...")

    def _reject(self, text: str, known: Collection[str]) -> NoReturn:
        name = text.strip().partition(" ")[0].partition("=")[0]
        nearest = nearest_of(name, known) if name.startswith("-") else None
        self.error(
            f"unrecognized arguments: {text}" + (f"; did you mean {nearest}?" if nearest else "")
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
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


class Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"minitransformer {__version__}")
        parser.exit()


class Group:
    """A heading of a parser's help, with its options."""

    def __init__(self, parser: Parser, title: str):
        self._parser = parser
        self._group = parser.add_argument_group(title)

    def add_argument(self, *names: str, **how: Any) -> None:
        self._parser.actions.append(self._group.add_argument(*names, **how))


def _wrapped(text: str, width: int) -> str:
    """The paragraphs of a text; lines that are indented are commands: they stay as they are."""

    def stays(line: str) -> bool:
        return not line or line.startswith("  ")

    blocks = ((kept, list(lines)) for kept, lines in groupby(text.split("\n"), stays))
    return "\n".join(
        "\n".join(lines) if kept else fill(" ".join(lines), width) for kept, lines in blocks
    )


def make_parser(argv: Sequence[str] | None = None) -> Parser:
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
    parser.add_argument(
        "-V", "--version", action=Version, nargs=0, help="show the version and exit"
    )
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


def module_of(command: str) -> ModuleType:
    if command not in OF_THE_COURSE:
        module = of_the_zoo("command").get(command, f"cli.{command}")
        return import_module(f"minitransformer.{module}")
    for found in entry_points(group="minitransformer.commands", name=command):
        return found.load()
    raise InputError(
        f"{command} belongs to the course, which is not installed; install the clone with pip install -e ."
    )
