"""minitransformer learn: the chapters' exercises, and a judge that says where a function is wrong
and why.
"""

from collections.abc import Callable

from minitransformer.errors import one_line
from minitransformer_course.commands import learn_actions as actions
from minitransformer_course.messages import _, another, languages

ERRORS = (  # of argparse, and of the Parser of all commands
    "argument {name}: invalid choice: {value}; did you mean {nearest}?",
    "argument {name}: invalid choice: {value}; choose from {names}",
    "argument {name}: invalid {type} value: {value}",
    "argument {name}: expected one argument",
    "the following arguments are required: {names}",
    "unrecognized arguments: {text}; did you mean {nearest}?",
    "unrecognized arguments: {text}",
    "{name} belongs after {action}: {command}",
)


def add_arguments(parser) -> None:
    parser.description = _(
        "Work through the chapters: start one, write its functions, check them. Exit code 0: all that was "
        "checked passes; 1: not yet; 2: it cannot be judged."
    )
    parser.set_defaults(action=actions.status)
    _translate(parser)
    subparsers = parser.add_subparsers(metavar="ACTION")

    def add(name, action, text) -> Callable:
        one = subparsers.add_parser(name, help=text, description=text[:1].upper() + text[1:] + ".")
        one.set_defaults(action=action)
        _translate(one)
        return one.add_argument

    add("list", actions.show_list, _("all exercises, and how far you are"))

    option = add("start", actions.start, _("write a chapter's file, with blanks to fill"))
    option("chapter", metavar="CHAPTER", nargs="?", help=_("its number or name, path, or my_model"))
    option(
        "--from",
        dest="file",
        metavar="FILE",
        help=_(
            "instead: all chapters of a file that a page of the site wrote, with what you wrote "
            "there"
        ),
    )
    option("--notebook", action="store_true", help=_("a notebook, not a script"))
    option(
        "--language",
        metavar="LANGUAGE",
        help=_("of the chapters and the judge in this folder: {names}").format(
            names=", ".join(languages())
        ),
    )

    option = add(
        "check",
        actions.check,
        _("say whether an exercise, a file, or all that you started is right"),
    )
    option(
        "target",
        nargs="?",
        metavar="NAME|FILE|CHAPTER",
        help=_(
            "an exercise, a file or a chapter's number (default: the first exercise that is not right yet)"
        ),
    )
    option("--all", action="store_true", help=_("every exercise of every chapter that you started"))
    option(
        "--likely",
        action="store_true",
        help=_("say what is likely wrong at once, not with the second check of changed code"),
    )

    option = add("hint", actions.show_hint, _("the next of four hints"))
    option("name", nargs="?", metavar="NAME", help=_("(default: the first that is not right yet)"))

    add(
        "plug",
        actions.plug,
        _(
            "prove and train a model of all functions of yours, and of my_model.py; takes a few minutes at most"
        ),
    )

    option = add(
        "solution", actions.solution, _("the derivation and the reference, once yours passes")
    )
    option("name", metavar="NAME")
    option("--give-up", action="store_true", help=_("show it earlier; this is recorded"))

    option = add(
        "grade",
        actions.grade,
        _("for a teacher: check a folder of submissions, with other shapes and numbers"),
    )
    option(
        "folder",
        metavar="FOLDER",
        help=_("a file or a folder for each student; their code is run, as your user"),
    )
    option("--json", action="store_true", help=_("print one JSON object"))
    option("--csv", metavar="FILE", help=_("write the table into a file for a spreadsheet"))
    option("--seed", type=int, default=1, help=_("for shapes and numbers (default: 1)"))
    option("--timeout", type=float, default=10, help=_("seconds for each function (default: 10)"))


def _translate(parser) -> None:
    """What argparse says by itself."""
    parser._positionals.title, parser._optionals.title = _("positional arguments"), _("options")
    parser.actions[0].help = _("show this help message and exit")
    parser.error = lambda message: parser.exit(
        2,
        one_line(
            _("{command}: {message} (see {command} --help)").format(
                command=parser.prog, message=another(message, ERRORS)
            )
        )
        + "\n",
    )


def execute(args) -> int | None:
    return args.action(args)
