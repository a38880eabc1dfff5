"""Vocabularies translate between text and token ids: of symbols, characters or subwords."""

from minitransformer.registry import Registry

VOCABULARIES = Registry("vocabulary", "minitransformer.data.vocabularies", "VOCABULARIES")
