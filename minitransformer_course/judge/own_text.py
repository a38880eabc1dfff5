"""A text that the reader chose, as a language model of one minute can use it; what is wrong with it
is said before any training.
"""

import codecs
import unicodedata
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.errors import InputError
from minitransformer_course.messages import _

FILE = "my_text.txt"
LEAST, MOST = 10_000, 1_000_000  # characters
KINDS = 300  # different ones
TRAIN_SHARE = 0.9


class Characters(CharacterVocabulary):
    """Its texts are composed: letters of Hangul, which are its tokens, become syllables again."""

    def encode(self, text) -> list[int]:
        known = {*text} <= self.ids.keys()
        return super().encode(text if known else unicodedata.normalize("NFD", text))

    def decode(self, ids) -> str:
        return unicodedata.normalize("NFC", super().decode(ids))


class OwnText(NamedTuple):
    vocabulary: CharacterVocabulary
    train: np.ndarray  # ids (N,)
    held_out: np.ndarray  # ids (M,), the last tenth
    remarks: list[str]  # what was changed in it, one line for each


def own_text(path) -> OwnText:
    """The text of a file. Raises InputError like `readable`."""
    text, remarks = readable(path)
    text, said = _with_few_kinds(text)
    vocabulary = Characters.learn(text)
    ids = np.array(vocabulary.encode(text))
    train, held_out = np.split(ids, [int(TRAIN_SHARE * len(ids))])
    return OwnText(vocabulary, train, held_out, remarks + said)


def readable(path) -> tuple[str, list[str]]:
    """(what is in a file, remarks on it). Raises InputError, in one line, for a text from which
    nothing can be learned.
    """
    text, remarks = _read(Path(path))
    name, kinds = Path(path).name, {*text} - {*" \n\t"}
    wanted = _("a language model wants {least:,} characters, and 100,000 are better").format(
        least=LEAST
    )
    if not kinds:
        raise InputError(_("{name} is empty: {wanted}").format(name=name, wanted=wanted))
    if len(kinds) == 1:
        raise InputError(
            _(
                "{name} consists of {character!r} alone, so there is nothing to predict: {wanted}"
            ).format(name=name, character=kinds.pop(), wanted=wanted)
        )
    if len(text) < LEAST:
        raise InputError(
            _("{name} has {n:,} characters: {wanted}").format(name=name, n=len(text), wanted=wanted)
        )
    return text, remarks


def _read(path) -> tuple[str, list[str]]:
    """The first MOST characters, and a remark if there are more."""
    try:
        with path.open("rb") as file:
            data = file.read(4 * MOST + 1)  # a character has at most four bytes
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror}") from None
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, len(data) <= 4 * MOST)
    except UnicodeDecodeError:
        raise InputError(
            _("{name} is not UTF-8: save it as plain text in UTF-8").format(name=path.name)
        ) from None
    text = text.replace("\r\n", "\n")
    if len(text) <= MOST:
        return text, []
    said = _("{name} is long: its first {n:,} characters are used")
    return text[:MOST], [said.format(name=path.name, n=MOST)]


def _with_few_kinds(text) -> tuple[str, list[str]]:
    """The text with at most KINDS different characters, and remarks on what it cost."""
    found = len({*text})
    if found <= KINDS:
        return text, []
    apart = unicodedata.normalize("NFD", text)
    kept = {character for character, _n in Counter(apart).most_common(KINDS)}
    short = "".join(character for character in apart if character in kept)
    remarks = [
        _("{n:,} different characters are many: syllables and accents are taken apart").format(
            n=found
        )
    ]
    if len(short) < len(apart):
        remarks.append(
            _("only the {n} most frequent are kept; {share:.1%} of the text is left out").format(
                n=KINDS, share=1 - len(short) / len(apart)
            )
        )
    return short, remarks
