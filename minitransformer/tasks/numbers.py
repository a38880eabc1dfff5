"""The toy task numbers: English number words to German or Korean ones, for 0 to 999,999."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from minitransformer.data import number_words
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.tasks import TASKS
from minitransformer.tables import setting
from minitransformer.tasks.toy import TOY_TRAINING, ToyTask, is_held_out


@TASKS.register("numbers")
@dataclass(frozen=True, kw_only=True)
class Numbers(ToyTask):
    description: ClassVar[str] = "translate English number words to German or Korean ones"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 1600}

    language: str = setting("of the answers", "german", number_words.LANGUAGES)

    def draw(self, rng) -> tuple[list[str], list[str]]:
        digits = rng.integers(1, 7)    # as many short numbers as long ones
        n = int(rng.integers(10 ** digits))
        return number_words.english(n), number_words.LANGUAGES[self.language](n)

    @staticmethod
    def is_held_out(source) -> bool:
        """Numbers below 100 are never held out: their words are irregular and can't be inferred."""
        return len(source) > 2 and is_held_out(source)

    def make_vocabulary(self) -> SymbolVocabulary:
        return _vocabulary(self.language)


@cache
def _vocabulary(language) -> SymbolVocabulary:
    symbols = {symbol for n in [*range(100), 100, 1000, 10_000, 100_000, 110_000, 999_999]
               for words in (number_words.english(n), number_words.LANGUAGES[language](n)) for symbol in words}
    return SymbolVocabulary(sorted(symbols), joint="")
