"""Tasks that show what a part is for."""

import string
from dataclasses import dataclass


from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.tasks.toy import LetterTask, ToyTask


@dataclass(frozen=True, kw_only=True)
class Dice(LetterTask):
    """Maps eight letters to eight throws of a die, a to f, about which the source says nothing."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        return [string.ascii_lowercase[i] for i in rng.integers(26, size=8)], ["abcdef"[i] for i in rng.integers(6, size=8)]


@dataclass(frozen=True, kw_only=True)
class AddNeighbours(ToyTask):
    """Maps three to five digits to the last digits of the sums of neighbours: 3 8 5 -> 1 3."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        digits = rng.integers(10, size=rng.integers(3, 6))
        return [str(digit) for digit in digits], [str(total % 10) for total in digits[:-1] + digits[1:]]

    def make_vocabulary(self) -> SymbolVocabulary:
        return SymbolVocabulary(string.digits)
