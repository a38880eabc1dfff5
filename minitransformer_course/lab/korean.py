"""A small translator from Korean to English, which tutorials/korean_english/train.py trained, and
pictures of it.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np

from minitransformer import Transformer, TransformerConfig
from minitransformer.data.special import SPECIAL
from minitransformer.interchange.weights import WeightsFile
from minitransformer.pictures.attention_map import Attended
from minitransformer.pictures.figure import HANGUL_FONTS, hangul_fonts
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.lab.example import attention_of
from minitransformer_course.messages import _, language

UNKNOWN, SPACE = "<unk>", "▁"
FIRST, VOWEL, LAST = (
    sounds.split()
    for sounds in (  # of a syllable, in the official romanisation, without its sound changes
        "g kk n d tt r m b pp s ss - j jj ch k t p h",
        "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i",
        "- k k k n n n t l k m l l l p l m p p t t ng t t k t p t",
    )
)


class Subwords:
    """Byte-pair encoding: `merges` are the pairs of neighbours that become one token, in the order
    in which they were learned.
    """

    def __init__(self, characters, merges):
        self.characters, self.merges = characters, [tuple(pair) for pair in merges]
        self.listed = [*SPECIAL, UNKNOWN, *characters, *map("".join, self.merges)]
        self._ids = {token: i for i, token in enumerate(self.listed)}
        self._order = {pair: i for i, pair in enumerate(self.merges)}

    @property
    def size(self) -> int:
        return len(self.listed)

    def encode(self, text) -> list[int]:
        return [
            self._ids.get(token, len(SPECIAL))
            for word in words(text)
            for token in self._split(word)
        ]

    def _split(self, word) -> list[str]:
        pieces = list(word)
        while pairs := [pair for pair in pairwise(pieces) if pair in self._order]:
            pieces = merge(pieces, min(pairs, key=self._order.__getitem__))
        return pieces

    def tokens(self, ids) -> list[str]:
        return [self.listed[i] for i in ids]

    def decode(self, ids) -> str:
        return "".join(self.tokens(i for i in ids if i >= len(SPECIAL))).replace(SPACE, " ").strip()


def words(text) -> list[str]:
    """The words and the punctuation of a text, each with a ▁ for the space before it."""
    return re.findall(
        rf"{SPACE}?(?:[\w']+|[^\w'{SPACE}])", SPACE + re.sub(r"\s+", SPACE, text.strip())
    )


def merge(pieces, pair) -> list[str]:
    """The pieces of a word, with each occurrence of a pair of neighbours made one."""
    made: list[str] = []
    for piece in pieces:
        if made and (made[-1], piece) == pair:
            made[-1] += piece
        else:
            made.append(piece)
    return made


def config(vocab_size, dropout=0.0) -> TransformerConfig:
    """The sizes of the model, with dropout in all places for training."""
    return TransformerConfig(
        num_layers=2,
        d_model=96,
        num_heads=4,
        d_ff=256,
        pre_norm=True,
        source_vocab=vocab_size,
        target_vocab=vocab_size,
        dropout=dropout,
        attention_dropout=dropout,
        feed_forward_dropout=dropout,
    )


def load_korean_model() -> tuple[Transformer, Subwords]:
    """(model, subwords), which translate Korean to English: a new model at each call.

    The weights are one long vector of numbers in half precision, in several files.
    """
    folder = folder_of_chapters() / "korean_english"
    characters, *merges = (folder / "subwords.txt").read_text(encoding="utf-8").split("\n")
    subwords = Subwords(characters, map(str.split, merges))
    model = Transformer(config(subwords.size))
    model.flat.data[...] = np.concatenate(
        [WeightsFile(path)["weights"] for path in sorted(folder.glob("*.safetensors"))]
    )
    return model, subwords


def held_out() -> list[tuple[str, str]]:
    """The 200 pairs (Korean, English) that the model never saw. The last column of the file names
    their authors.
    """
    lines = (
        (folder_of_chapters() / "korean_english" / "held_out.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return [
        (korean, english) for english, korean, _attribution in (line.split("\t") for line in lines)
    ]


def show_translation(axes, model, subwords, text) -> Any:
    """Draw the last layer's cross-attention while the model translates a Korean text: the mean of
    the heads, word by word.

    Returns the image. Where no font with Hangul is installed, the Korean words are spelled in Latin
    letters, and a Korean is told so.
    """
    found = by_words(attention_of(model, subwords, text))
    fonts = hangul_fonts()[:1]
    if not fonts and language() == "ko":
        hint = _(
            "no font with Hangul is installed, so the picture spells it; install one of {names}"
        )
        print(hint.format(names=", ".join(HANGUL_FONTS)))
    image = axes.imshow(found.weights, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(
        range(len(found.keys)),
        found.keys if fonts else map(spelled, found.keys),
        rotation=45,
        ha="right",
        rotation_mode="anchor",
        family=["DejaVu Sans", *fonts],
    )
    axes.set_yticks(range(len(found.queries)), found.queries)
    axes.set(xlabel="key: the word it may look at", ylabel="query: the word being written")
    return image


def by_words(found) -> Attended:
    """An Attended of subwords as one of words: weights (T_q, T_k), the mean of the heads.

    A word is looked at by the sum of what its subwords get; what it looks at is the mean of what
    they look at.
    """
    rows, queries = _groups(found.predicted)
    columns, keys = _groups(found.keys)
    return Attended(
        rows / rows.sum(axis=1, keepdims=True) @ found.weights.mean(axis=0) @ columns.T,
        queries,
        keys,
    )


def _groups(tokens) -> tuple[np.ndarray, list[str]]:
    """(which token belongs to which word, (words, tokens), the words)."""
    begins = [
        token.startswith(SPACE) or token in SPECIAL or not re.search(r"[\w']", token)
        for token in tokens
    ]
    number = np.cumsum(begins)
    groups = np.unique(number)[:, None] == number
    return groups, [
        "".join(token for token, inside in zip(tokens, row) if inside).replace(SPACE, "")
        for row in groups
    ]


def spelled(text) -> str:
    """Hangul in Latin letters; other characters stay."""
    return "".join(
        _syllable(ord(character) - ord("가")) if "가" <= character <= "힣" else character
        for character in text
    )


def _syllable(place) -> str:
    first, vowel, last = place // 588, place // 28 % 21, place % 28
    return (FIRST[first] + VOWEL[vowel] + LAST[last]).replace("-", "")
