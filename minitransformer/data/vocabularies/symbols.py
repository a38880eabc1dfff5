"""A vocabulary for toy tasks: each symbol is one token."""

import json
import re

from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.errors import InputError
from minitransformer.functional.special import BOS, EOS, PAD, SPECIAL


@VOCABULARIES.register("symbols")
class SymbolVocabulary:
    """Symbols separated by spaces or hyphens in the source, joined by `joint` in the output."""

    file_name = "vocabulary.json"

    def __init__(self, symbols, joint=" "):
        if not isinstance(joint, str) or not all(isinstance(symbol, str) for symbol in symbols):
            raise InputError("a symbol vocabulary needs its symbols and their joint as strings")
        self.symbols = [*SPECIAL, *symbols]
        self.joint = joint
        self.ids = {symbol: i for i, symbol in enumerate(symbols, len(SPECIAL))}    # no text contains a special one

    @property
    def size(self) -> int:
        return len(self.symbols)

    def encode(self, text) -> list[int]:
        """The ids of the symbols in `text`. Raises InputError for one that is not in the vocabulary."""
        return self.encode_symbols(re.findall(r"[^\s-]+", text))

    def encode_symbols(self, symbols) -> list[int]:
        for symbol in symbols:
            if symbol not in self.ids:
                known = " ".join(self.symbols[len(SPECIAL):][:12])
                raise InputError(f"unknown symbol {symbol!r}; this run's symbols are {known} ...")
        return [self.ids[symbol] for symbol in symbols]

    def tokens(self, ids) -> list[str]:
        """The symbol of each id, special tokens included."""
        return [self.symbols[i] for i in ids]

    def decode(self, ids) -> str:
        """The text of `ids`, without special tokens."""
        return self.joint.join(self.symbols[i] for i in ids if i not in (PAD, BOS, EOS))

    def to_json(self) -> str:
        return json.dumps({"symbols": self.symbols[len(SPECIAL):], "joint": self.joint}, ensure_ascii=False, indent=1)

    @classmethod
    def load(cls, path) -> "SymbolVocabulary":
        return cls(**json.loads(path.read_text(encoding="utf-8")))
