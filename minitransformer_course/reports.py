"""What a gradient check reports, in the reader's language.

The library and the doctor write English and reason in it. Their finished text is read here again:
each sentence is found among those of the catalogue's part reports.po, which come from the source of
both, and what stands in its {places} is translated the same way.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from minitransformer_course import messages

PART = "reports"
ALONE = (  # words that stand in the places WORD
    *("first", "last", "late", "early", "place", "places", "it", "them", "infinity"),
    *("input", "parameter", "batch", "position", "positions", "length (positions)"),
)
WORD = "which", "what", "when", "missing", "value", "it"
MORE = (  # sentences that are put together, or look like code
    *("wrong: {names}", "right: {names}", "it is transposed"),
    "the gradient that passes through `{text}`",
    "the gradient that passes through `{text}` in `{statement}`",
    *("{n} gradient", "{n} gradients", "{n} finding", "{n} findings"),
)
CODE, BRACKETS = r"`[^`]*`", r"\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\]"
AS_IT_IS = "code_", "message"  # places of what is said in other languages
BETWEEN = re.compile(rf"{CODE}|{BRACKETS}|(; | \| )")  # two sentences
WHOLE = rf"{CODE}|{BRACKETS}|[^`()\[\]]"  # what a sentence does not break in
NARROW = rf"(?!: )(?:{WHOLE})"
PLACE = re.compile(r"\{(\w+)\}")
OWN_WORD = re.compile(r"[a-z]{2,}")
VERB = re.compile(r"(?:is|are|has|lacks|contains|counts|leaves|belongs|repeats|goes) ")


def translated(text: str) -> str:
    """A line of a report, or a part of one."""
    if messages.language() == "en":
        return text
    parts = split(text, BETWEEN)
    parts[::2] = map(_said, parts[::2])
    return "".join(parts)


def split(text, between) -> list[str]:
    """The parts of a text, and what stands between them."""
    found, start = [], 0
    for one in between.finditer(text):
        if one[1]:
            found += [text[start : one.start()], one[1]]
            start = one.end()
    return [*found, text[start:]]


class Sentence(NamedTuple):
    """What is said in English, as a pattern, and in the reader's language, with {places}."""

    pattern: re.Pattern
    words: str

    def of(self, text) -> str | None:
        """The text in the reader's language if it says this, or else None."""
        found = self.pattern.fullmatch(text)
        if found is None:
            return None
        values = {
            name: _in_place(name.removeprefix("in_"), value or "")
            for name, value in found.groupdict().items()
        }

        def put(place) -> str:
            return values.get(f"in_{place[1]}", values.get(f"code_{place[1]}", ""))

        subject = f"{values['subject']}: " if values.get("subject") else ""
        around = values.get("head", ""), values.get("tail", "")
        return around[0] + subject + PLACE.sub(put, self.words) + around[1]


def _in_place(name, value) -> str:
    if name.startswith(AS_IT_IS):
        return value
    return messages._(value) if name in WORD and value in ALONE else _said(value)


def _said(text) -> str:
    return _in(messages.language(), text)


@cache
def _in(language, text) -> str:
    """The translation that leaves the fewest English words; of several, the first."""
    if " " in text and text in messages.catalogue(language):
        return messages._(text)
    if not OWN_WORD.search(text):
        return text
    return min([*_translations(text), text], key=_english_in)


def _english_in(text) -> int:
    return len(OWN_WORD.findall(re.sub(CODE, "", text)))


def _translations(text) -> Iterator[str]:
    narrow, wide = _sentences(messages.language())
    if found := re.fullmatch(r"(.+) \(((?:[^()]|\([^()]*\))*)\)", text):
        yield f"{_said(found[1])} ({translated(found[2])})"
    yield from filter(None, (sentence.of(text) for sentence in narrow))
    for place, what in _halves(": ", text):
        yield f"{_said(place)}: {_said(what)}"
    yield from filter(None, (sentence.of(text) for sentence in wide))
    for sign in (", ", " and "):  # a list
        for one, others in [*_halves(sign, text)][:1]:
            yield f"{_said(one)}, {_said(others)}"


def _halves(sign, text) -> Iterator[tuple[str, str]]:
    """What stands before a sign and behind it, at each of its places outside code and brackets."""
    parts = split(text, re.compile(rf"{CODE}|{BRACKETS}|({sign})"))
    for i in range(1, len(parts), 2):
        yield "".join(parts[:i]), "".join(parts[i + 1 :])


@cache
def _sentences(language) -> tuple[list[Sentence], list[Sentence]]:
    """Those without a place for another sentence, and those with one, each in the order of search:
    with a verb, by its first words, a long one.
    """
    found: tuple[list, list] = [], []
    for text, words in messages.catalogue(language, PART).items():
        if text not in ALONE:
            holds_another, pattern = _pattern(text)
            order = not VERB.match(text), text[0] == "{", -len(PLACE.sub("", text))
            found[holds_another].append((order, Sentence(re.compile(pattern), words)))
    narrow, wide = ([one for _order, one in sorted(some, key=lambda it: it[0])] for some in found)
    return narrow, wide


def _pattern(text) -> tuple[bool, str]:
    """Whether a sentence without a verb at its beginning has a place for another sentence, and a
    regular expression for it.

    A place behind a colon, at the beginning before one, or at the end behind a comma may hold a
    sentence, and {n} holds a number. A sentence that begins with a verb has a subject. A space at
    its beginning or end means that the text continues there.
    """
    parts = re.split(r"(\{\w+\})", text)
    seen: dict[str, str] = {}
    goes_on = text[0] in " :(.,", text.endswith(" ")
    wide = any(goes_on)

    def place(i) -> str:
        nonlocal wide
        name, before, behind = parts[i][1:-1], parts[i - 1], parts[i + 1]
        if name in seen:
            return f"(?P={seen[name]})"
        is_code = before.endswith("`") and behind.startswith("`")
        seen[name] = f"code_{name}" if is_code else f"in_{name}"
        if is_code or name == "n":
            return f"(?P<{seen[name]}>{'[^`]+' if is_code else '[0-9,.]+'})"
        first = i == 1 and not before and behind.startswith((": ", ", ", " ("))
        last = i == len(parts) - 2 and not behind and before.endswith((", ", " that "))
        holds = first or last or before.endswith(": ")
        wide = wide or holds
        if i == len(parts) - 2 and holds and not behind:
            return f"(?P<{seen[name]}>.+)"
        return f"(?P<{seen[name]}>(?:{WHOLE if holds else NARROW})*?)"

    said = "".join(place(i) if i % 2 else re.escape(part) for i, part in enumerate(parts))
    if verb := VERB.match(text):
        said = f"(?:(?P<subject>(?:{NARROW})+?) )?{said}"
    said = f"(?P<head>.*){said}" if goes_on[0] else said
    said = f"{said}(?P<tail>.*)" if goes_on[1] else said
    return wide and not verb, said
