"""Vocabularies of symbols, characters or subwords, which translate between text and token ids."""

from typing import Any

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary

VOCABULARIES: dict[str, Any] = {  # by the names that run folders store
    "characters": CharacterVocabulary,
    "subwords": SubwordVocabulary,
    "symbols": SymbolVocabulary,
}
