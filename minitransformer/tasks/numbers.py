"""The toy task numbers: English number words to German or Korean ones, for 0 to 999,999, in the
smallest pieces that combine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from minitransformer.backend import Generator
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.tables import setting
from minitransformer.tasks.toy import TOY_TRAINING, ToyTask, is_held_out


ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
GERMAN = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
).split()
GERMAN_TENS = "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
KOREAN = "영일이삼사오육칠팔구"


def english(n: int) -> list[str]:
    """123_000 -> one, hundred, twenty, three, thousand (written "twenty-three" in text)."""
    for unit, name in (1000, "thousand"), (100, "hundred"):
        if n >= unit:
            return [*english(n // unit), name, *(english(n % unit) if n % unit else [])]
    if n >= 20:
        return [ENGLISH_TENS[n // 10]] + ([ENGLISH[n % 10]] if n % 10 else [])
    return [ENGLISH[n]]


def german(n: int) -> list[str]:
    """123_000 -> ein, hundert, drei, und, zwanzig, tausend. A final one is "eins"."""
    words = _german(n)
    return [*words[:-1], "eins"] if words[-1] == "ein" else words


def _german(n: int) -> list[str]:
    for unit, name in (1000, "tausend"), (100, "hundert"):
        if n >= unit:
            return [*_german(n // unit), name, *(_german(n % unit) if n % unit else [])]
    if n >= 20:
        return ([GERMAN[n % 10], "und"] if n % 10 else []) + [GERMAN_TENS[n // 10]]
    return [GERMAN[n]]


def korean(n: int) -> list[str]:
    """123_000 -> 십이만 삼천, one syllable a piece: grouped by ten thousand, without a leading one."""
    if n == 0:
        return [KOREAN[0]]
    high, low = divmod(n, 10_000)
    words = (_korean(high) if high > 1 else []) + (["만"] if high else [])
    return words + ([" "] if high and low else []) + _korean(low)


def _korean(n: int) -> list[str]:
    words = []
    for unit, name in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
        digit = n // unit % 10
        if digit:
            words += ([KOREAN[digit]] if digit > 1 or unit == 1 else []) + ([name] if name else [])
    return words


LANGUAGES = {"german": german, "korean": korean}


@dataclass(frozen=True, kw_only=True)
class Numbers(ToyTask):
    name: ClassVar[str] = "numbers"
    description: ClassVar[str] = "translate English number words to German or Korean ones"
    defaults: ClassVar[dict] = {**TOY_TRAINING, "steps": 1600}

    language: str = setting("of the answers", "german", LANGUAGES)

    def draw(self, rng: Generator) -> tuple[list[str], list[str]]:
        digits = rng.integers(1, 7)  # as many short numbers as long ones
        n = int(rng.integers(10**digits))
        return english(n), LANGUAGES[self.language](n)

    @staticmethod
    def is_held_out(source: Sequence[str]) -> bool:
        """Numbers below 100 are never held out: their words are irregular and can't be inferred."""
        return len(source) > 2 and is_held_out(source)

    def make_vocabulary(self) -> SymbolVocabulary:
        return _vocabulary(self.language)


@cache
def _vocabulary(language: str) -> SymbolVocabulary:
    symbols = {
        symbol
        for n in [*range(100), 100, 1000, 10_000, 100_000, 110_000, 999_999]
        for words in (english(n), LANGUAGES[language](n))
        for symbol in words
    }
    return SymbolVocabulary(sorted(symbols), joint="")
