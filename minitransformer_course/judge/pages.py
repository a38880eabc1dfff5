"""A page in the reader's language: each paragraph, heading, item and cell of a table is looked up
in the catalogue by itself.
"""

import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable

from minitransformer_course.messages import _

WIDTH = 96  # columns of a translated line; a Korean letter is two wide
WIDE = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]")
VERBATIM = re.compile(r"\s*(```|:::|\$\$)")
PREFIX = re.compile(r"(#+ |\s*(?:[-*]|\d+\.) +|> ?|\s*)(.*)")
COLUMNS = re.compile(r"\S {3,}\S")  # of a table in a docstring: its lines stay lines
CELL = re.compile(  # neither a Korean one nor its English, which stands before it: the glossary
    r"(?<=\| )(?![^|]*[가-힣])[^|\s](?:[^|]|(?<=\\)\|)*(?= \|)(?! \| [^|]*[가-힣])"
)
COPIED = re.compile(r"`[^`]*`|\$[^$]*\$")
SHAPE = r"\([\w.]+(?:, [\w.]+)*,?\)"
UNBREAKABLE = re.compile(
    rf"{COPIED.pattern}|{SHAPE}" + r"| (?=(?:[-+*#>]|\d+[.)]) )"
)  # nor may a line begin like an item or a heading
BLANK, END = "# your code: ", "# end of your code"
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n][^$]*?)\$", re.DOTALL)
SYMBOLS = (  # what a terminal shows in their place
    (r"\\\\", "\n"),
    (r"\\(?:[,;!: ]|q?quad) ?", " "),
    (r"\\(?:left|right|[Bb]igg?[lr]?)(?![a-z])", ""),
    (r"\\partial(?![a-z])", "∂"),
    (r"\\(?:cdot|times|odot)(?![a-z])", "*"),
    (r"\\l?dots(?![a-z])", "..."),
    (r"\\(?:top|mathsf T)(?![a-z])", "T"),
    (r"\\infty(?![a-z])", "inf"),
    (r"\\leq?(?![a-z])", "<="),
    (r"\\geq?(?![a-z])", ">="),
    (r"\\neq(?![a-z])", "!="),
    (r"\\leftarrow(?![a-z])", "<-"),
    (r"\\(?:to|(?:Long)?[Rr]ightarrow)(?![a-z])", "->"),
    (r"\\([{}%#&_])", r"\1"),
    (r"\\t?frac(?![a-z])", r"\\frac"),
    (r"\\(frac|sqrt)\s?(\\[a-zA-Z]+|\d|(?<=\s)\w)", r"\\\1{\2}"),  # of one letter or digit
    (r"(\\frac\{[^{}]*\}) ?(\w)", r"\1{\2}"),
)
GROUPS = (  # one may stand inside another
    (r"\\(?:text|mathrm|mathbf|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\begin\{([bp]?)matrix\}(.*?)\\end\{\1matrix\}", lambda found: _rows(found[2])),
    (r"([_^])\{(-?\\?\w+)\}", r"\1\2"),
    (r"([_^])\{([^{}]*)\}", r"\1(\2)"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: "/".join(map(_bracketed, found.groups()))),
    (r"\\(sqrt|bar|hat|tilde)\{([^{}]*)\}", r"\1(\2)"),
)
NAMES = ((r"\\([a-zA-Z]+)", r"\1"), (r"(?<=\w)\{,\}(?=\d)", ","), (r"  +", " "))


def translated(page, look_up=_) -> str:
    """A page of Markdown, line by line as it was where `look_up(message)` gives the message back."""
    lines: list[str] = []
    paragraph: list[str] = []
    closing = ""  # what ends a formula or code of several lines

    def close() -> None:
        if paragraph:
            _before, prefix, first, _after = PREFIX.split(paragraph[0], maxsplit=1)
            message = " ".join([first, *(line.lstrip("> ") for line in paragraph[1:])])
            lines.extend(_paragraph(paragraph, prefix, message, look_up))
            paragraph.clear()

    for line in page.splitlines():
        verbatim = VERBATIM.match(line)
        if closing:
            lines.append(line)
            closing = "" if line.strip().endswith(closing) else closing
        elif verbatim or line.startswith("<") or not line.strip():
            close()
            lines.append(line)
            closing = (
                verbatim[1] if verbatim and (verbatim[1] != "$$" or line.count("$$") == 1) else ""
            )
        elif line.startswith("| "):
            close()
            lines.append(CELL.sub(lambda cell: _looked_up(cell[0], look_up), line))
        else:
            if paragraph and _begins(line, paragraph[0]):
                close()
            paragraph.append(line)
            if line.startswith("#") or COLUMNS.search(line):
                close()
    close()
    return "\n".join(lines)


def _begins(line, first) -> bool:
    """Whether a line begins an item, a row of columns, or text with another indentation."""
    mark, before = (PREFIX.sub(r"\1", one) for one in (line, first))
    if mark.startswith(">"):
        return not before.startswith(">")
    return bool(mark.strip() or COLUMNS.search(line)) or len(mark) != len(before)


def translated_code(code, look_up=_) -> str:
    """Code with its docstrings and comments translated: the part of an exercise that is read, not
    run.
    """
    lines = code.splitlines()
    for token in reversed([*tokenize.generate_tokens(io.StringIO(code).readline)]):
        text = token.string
        if token.type == tokenize.COMMENT and text != END:
            head = BLANK if text.startswith(BLANK) else "# "
            new = text[: len(head)] + _looked_up(text[len(head) :], look_up)
        elif token.type == tokenize.STRING and text.startswith('"""'):
            written = text[3:-3].rstrip()
            page = textwrap.indent(
                translated(inspect.cleandoc(written), look_up), " " * token.start[1]
            ).lstrip()
            new = f'"""{page}{text[3 + len(written) :]}'
        else:
            continue
        (top, left), (bottom, right) = token.start, token.end
        lines[top - 1 : bottom] = (lines[top - 1][:left] + new + lines[bottom - 1][right:]).split(
            "\n"
        )
    return "\n".join(lines) + "\n" * code.endswith("\n")


def plain(page) -> str:
    """A page for a terminal: its formulas without LaTeX."""
    return FORMULA.sub(lambda found: _plain_formula(found[1] or found[2]), page)


def _plain_formula(text) -> str:
    text, before = _replaced(text, SYMBOLS), ""
    while text != before:
        before, text = text, _replaced(text, GROUPS)
    return _replaced(text, NAMES).strip()


def _replaced(text, rules) -> str:
    for pattern, new in rules:
        text = re.sub(pattern, new, text, flags=re.DOTALL)
    return text


def _bracketed(part) -> str:
    """A numerator or denominator, in brackets if it has several factors or terms."""
    part = part.strip()
    return (
        part if re.fullmatch(r"\d+|(?:∂ )?\\?[A-Za-z][\w^]*|\w+\([^()]*\)", part) else f"({part})"
    )


def _rows(matrix) -> str:
    """[a, b; c, d] of a matrix, whose rows are lines by now."""
    rows = [", ".join(map(str.strip, row.split("&"))) for row in matrix.strip().split("\n")]
    return f"[{'; '.join(rows)}]"


def _paragraph(lines, prefix, message, look_up) -> list[str]:
    new = _looked_up(message, look_up)
    if new == message:
        return lines
    if prefix.startswith("#") or COLUMNS.search(message):
        return [prefix + new]
    kept = UNBREAKABLE.sub(lambda found: found[0].replace(" ", "\0"), new)
    kept = WIDE.sub(lambda found: found[0] + "\1", kept)  # counted twice
    after = prefix if prefix.startswith(">") else " " * len(prefix)
    return [
        line.replace("\0", " ").replace("\1", "")
        for line in textwrap.wrap(
            kept,
            WIDTH,
            initial_indent=prefix,
            subsequent_indent=after,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _looked_up(message, look_up: Callable[[str], str]) -> str:
    """The translation, if the message has words outside its formulas and its code."""
    return look_up(message) if re.search(r"[A-Za-z]{2}", COPIED.sub("", message)) else message
