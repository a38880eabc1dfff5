"""The sentences of a page in the reader's language: those of its HTML, and what its scripts say."""

import re
from collections.abc import Iterator

from minitransformer_course.messages import _

TEXT = re.compile(
    r'(?<=>)[^<>{}]*[A-Za-z]{2}[^<>{}]*(?=<)|(?<= title=")[^"{}]+|(?<=aria-label=")[^"{}]+'
)
SAID = re.compile(r"\b_`([^`]+)`")  # data.js has the function
VALUE = re.compile(r"\$\{[^{}]*\}")


def of_html(html: str) -> Iterator[str]:
    return (" ".join(text.split()) for text in TEXT.findall(html))


def translated(html: str) -> str:
    """A template's HTML; its {places} stay."""
    return TEXT.sub(lambda found: _text(found[0]), html)


def _text(text: str) -> str:
    sentence = " ".join(text.split())
    return text.replace(text.strip(), _(sentence))


def of_scripts(scripts: str) -> Iterator[str]:
    """Each with {0}, {1}, ... in place of its values."""
    for text in SAID.findall(scripts):
        first, *others = VALUE.split(text)
        yield first + "".join(f"{{{n}}}{part}" for n, part in enumerate(others))


def words(scripts: str) -> dict[str, str]:
    """{sentence: its translation} of what scripts say, where there is one."""
    return {text: _(text) for text in of_scripts(scripts) if _(text) != text}
