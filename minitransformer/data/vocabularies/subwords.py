"""A vocabulary of subwords: byte-pair encoding, learned on both languages together or on one text."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from minitransformer.data.vocabularies.listed import check_tokens
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.data.special import SPECIAL

MAX_WORD = 20_000  # characters; learning takes time quadratic in the longest word
UNKNOWN = "<unk>"
NAMES = (*SPECIAL, UNKNOWN)  # the names of the first ids


class SubwordVocabulary:
    """Byte-pair encoding (Sennrich et al. 2016, https://aclanthology.org/P16-1162), by the
    `tokenizers` library.

    A word carries its leading space as "▁" (U+2581), so decoding restores the spacing of a text
    that has no "▁" itself. A sentence must not begin with a space: its first word gets a "▁" as if
    it were in the middle. A part of a longer text is read as it stands.
    """

    file_name: ClassVar[str] = "tokenizer.json"
    unknown_id = NAMES.index(UNKNOWN)

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True  # "<pad>" in a text is text

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, sentences: bool = True) -> "SubwordVocabulary":
        """At most `size` subwords (more only if the text has more characters), from sentences, or
        from texts of many lines, of which any part may be encoded: there, a line's end ends a word.

        Raises InputError for a word of more than MAX_WORD characters.
        """
        tokenizers = require("tokenizers")
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=_unmergeable(UNKNOWN)))
        tokenizer.normalizer = tokenizers.normalizers.NFC()
        first = "always" if sentences else "never"  # whether a text's first word gets a "▁"
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme=first)
        if not sentences:
            lines = tokenizers.pre_tokenizers.Split("\n", "merged_with_previous")
            words = tokenizer.pre_tokenizer
            tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([lines, words])
        tokenizer.decoder = tokenizers.decoders.Metaspace(prepend_scheme=first)
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[_unmergeable(name) for name in NAMES],
            show_progress=False,
        )
        tokenizer.train_from_iterator(map(_check_words, texts), trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Raises InputError if it contains bytes that are not UTF-8."""
        check_utf8(text)
        return self._tokenizer.encode(text).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]

    def unknown_characters(self, text: str) -> list[str]:
        """The characters of `text` that have no token, in the order of the text; composed ones
        (NFC), as the tokenizer reads them.
        """
        text = unicodedata.normalize("NFC", text)
        encoding = self._tokenizer.encode(text)
        return [
            text[start:end]
            for i, (start, end) in zip(encoding.ids, encoding.offsets)
            if i == self.unknown_id
        ]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The subword of each id, special tokens included."""
        return [
            NAMES[i] if i < len(NAMES) else self._tokenizer.id_to_token(i)
            for i in check_tokens(ids, self.size)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, without special tokens; an unknown character appears as U+FFFD."""
        return self._tokenizer.decoder.decode(
            [
                "\ufffd" if i == self.unknown_id else self._tokenizer.id_to_token(i)
                for i in check_tokens(ids, self.size)
                if i >= len(NAMES) or i == self.unknown_id
            ]
        )

    def to_json(self) -> str:
        return self._tokenizer.to_str(pretty=True)

    @classmethod
    def load(cls, path: Path) -> "SubwordVocabulary":
        tokenizers = require("tokenizers")
        try:
            return cls(tokenizers.Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises a bare Exception
            raise InputError(f"{path}: not a tokenizer ({error})") from None


def check_utf8(text: str) -> None:
    """Raise InputError for a text that was read from bytes that are not UTF-8."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("the text is not UTF-8")


def _check_words(text: str) -> str:
    words = (found[0] for found in re.finditer(r"[^ \n]+", text))
    longest = max(words, key=len, default="")
    if len(longest) > MAX_WORD:
        raise InputError(
            f"a word of {len(longest):,} characters without a space, {longest[:20]!r}..., expected at most "
            f"{MAX_WORD:,}: learning subwords takes time quadratic in the longest word"
        )
    return text


def _unmergeable(name: str) -> str:
    """A special token's name that no merge can spell: spaces in a text become "▁", so a learned
    "</s>" is a different token.
    """
    return name + " "
