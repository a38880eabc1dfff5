"""Vocabularies of symbols, characters or subwords, which translate between text and token ids."""

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.lookup import Table

VOCABULARIES = Table(  # by the names that run folders store
    "vocabulary",
    {
        "characters": CharacterVocabulary,
        "subwords": SubwordVocabulary,
        "symbols": SymbolVocabulary,
    },
)
