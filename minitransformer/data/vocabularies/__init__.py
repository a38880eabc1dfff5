"""Between text and token ids: symbols, characters or subwords."""

from minitransformer.registry import Registry

VOCABULARIES = Registry("vocabulary", "minitransformer.data.vocabularies", "VOCABULARIES")
