"""Vocabularies of symbols, characters or subwords, which translate between text and token ids."""

from minitransformer.registry import Registry

VOCABULARIES = Registry("vocabulary", "VOCABULARIES")
