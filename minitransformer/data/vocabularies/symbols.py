"""A vocabulary for toy tasks: each symbol is one token."""

import re
from collections.abc import Iterable, Sequence

from minitransformer.data.vocabularies.listed import ListedVocabulary
from minitransformer.errors import InputError
from minitransformer.data.special import SPECIAL


class SymbolVocabulary(ListedVocabulary):
    """Symbols separated by spaces or hyphens in the source, joined by `joint` in the output.

    Symbols of one character need no separators: if "cab" is not a symbol itself, it is read as "c a
    b".
    """

    def __init__(self, symbols: Sequence[str], joint: str = " "):
        if not isinstance(joint, str) or not all(isinstance(symbol, str) for symbol in symbols):
            raise InputError("a symbol vocabulary needs its symbols and their joint as strings")
        super().__init__(symbols, symbols=list(symbols), joint=joint)
        self.joint = joint

    def encode(self, text: str) -> list[int]:
        """The ids of the symbols in `text`. Raises InputError for one that is not in the
        vocabulary.
        """
        words = re.findall(r"[^\s-]+", text)
        return self.encode_symbols(
            [
                symbol
                for word in words
                for symbol in (
                    word if word not in self.ids and self.ids.keys() >= set(word) else [word]
                )
            ]
        )

    def encode_symbols(self, symbols: Iterable[str]) -> list[int]:
        for symbol in symbols:
            if symbol not in self.ids:
                known = " ".join(self.listed[len(SPECIAL) :][:12])
                raise InputError(f"unknown symbol {symbol!r}; this run's symbols are {known} ...")
        return [self.ids[symbol] for symbol in symbols]
