"""What `--help` of the library's commands says, in the reader's language."""

import argparse
import re
from collections.abc import Callable

from minitransformer_course.messages import _, language

DEFAULT = re.compile(r"(.+) \(default: (.+)\)", re.DOTALL)


class Formatter(argparse.RawDescriptionHelpFormatter):
    def add_usage(self, usage, actions, groups, prefix=None) -> None:
        super().add_usage(usage, actions, groups, prefix or _("usage: "))


def translate_help(parser) -> None:
    """The parser of one command, before it prints its help."""
    if language() != "en":
        parser.formatter_class = Formatter
        translated(parser, _)


def translated(parser, look_up: Callable[[str], str]) -> None:
    parser.description = _page(parser.description or "", look_up)
    parser.epilog = _page(parser.epilog or "", look_up)
    for group in parser._action_groups:
        group.title = look_up(group.title)
    for action in parser._actions:
        for one in (action, *getattr(action, "_choices_actions", ())):
            if one.help and one.help != argparse.SUPPRESS:
                one.help = _line(one.help, look_up)


def _page(text, look_up) -> str:
    """Each paragraph; of commands that are indented below a line, the line."""
    blocks = []
    for block in text.strip().split("\n\n"):
        head, _line_end, commands = block.partition("\n  ")
        said = look_up(" ".join(head.split())) if head else ""
        blocks.append(f"{said}\n  {commands}" if commands else said)
    return "\n\n".join(blocks)


def _line(text, look_up) -> str:
    found = DEFAULT.fullmatch(text)
    if not found:
        return look_up(text)
    value = look_up(found[2]) if " " in found[2] else found[2]
    return f"{look_up(found[1])} {_('(default: {value})').format(value=value)}"
