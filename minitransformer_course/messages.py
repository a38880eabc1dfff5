"""The language of the course: English in the source, others in locale/LANGUAGE/*.po."""

import json
import locale
import os
import re
import sys
import unicodedata
from functools import cache
from pathlib import Path

from minitransformer.errors import InputError

LOCALE = Path(__file__).parent / "locale"
VARIABLE = "MINITRANSFORMER_LANGUAGE"
FILE = "minitransformer-learn.json"  # in the reader's folder: learner_progress.py
HOW_TO_CHOOSE = {"ko": "한국어로 공부하려면:  minitransformer learn start 1 --language ko"}
TRANSLATED = re.compile(r'\n\n(?:#(?!, fuzzy).*\n)*msgid (".+")\nmsgstr (".+")')
_chosen: list[str] = []


def _(text) -> str:
    """`text` in the reader's language; in English where no translation is known."""
    return catalogue(language()).get(text, text)


def another(message, texts) -> str:
    """What another program says in English: the one of `texts`, with {names}, that it is, in the
    reader's language.
    """
    for text in texts:
        if found := re.fullmatch(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)), message):
            return _(text).format(**found.groupdict())
    return message


def columns(text) -> int:
    """How wide a terminal shows it: a letter of Korean takes two columns."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def padded(text, width) -> str:
    """Like `text.ljust(width)`, in columns."""
    return text + " " * (width - columns(text))


def languages() -> list[str]:
    return ["en", *sorted({path.parent.name for path in LOCALE.glob("*/*.po")})]


def choose(name) -> None:
    """The language of this process from now on. Raises InputError if there is none of that name."""
    if name not in languages():
        raise InputError(
            _("there is no language {name!r}; choose from {names}").format(
                name=name, names=", ".join(languages())
            )
        )
    _chosen[:] = [name]


def language() -> str:
    """The one that was chosen: in this process, by the variable MINITRANSFORMER_LANGUAGE, or in the
    reader's folder.
    """
    return _chosen[0] if _chosen else _found(os.environ.get(VARIABLE, ""), os.getcwd())


def spoken() -> str:
    """`language()`, or English if its catalogue is broken."""
    return language() if catalogue(language()) else "en"


def how_to_choose() -> str:
    """A line in the language of the system, if the course speaks it and no language was chosen yet;
    "" otherwise.
    """
    variables = [os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    system = next(filter(None, [*variables, locale.getlocale()[0]]), "")[
        :2
    ].lower()  # ko_KR.UTF-8, or Korean_Korea
    return HOW_TO_CHOOSE.get(system, "") if language() == "en" and system in languages() else ""


@cache
def _found(wanted, folder) -> str:
    if not wanted:
        try:
            wanted = json.loads(Path(folder, FILE).read_text(encoding="utf-8")).get("language", "")
        except (
            OSError,
            ValueError,
            AttributeError,
            RecursionError,
        ):  # none, or a damaged one, which learner_progress.py reports
            wanted = ""
    if wanted and wanted not in languages():
        print(
            f"there is no language {wanted!r}; choose from {', '.join(languages())}",
            file=sys.stderr,
        )
    return wanted if wanted in languages() else "en"


@cache
def catalogue(name, part="*") -> dict[str, str]:
    """{a text: its translation} in the language `name`, of one part or of all. A broken file is
    named, once, and English is used.
    """
    pairs: list[tuple[str, str]] = []
    for path in sorted(LOCALE.glob(f"{name}/{part}.po")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            print(f"{path} cannot be read ({error}): English is used", file=sys.stderr)
            return {}
        pairs += TRANSLATED.findall(text.replace('"\n"', ""))  # a text may go over several lines
    return json.loads("{" + ",".join(map(":".join, pairs)) + "}")  # escaped as JSON is
