"""All models, by the names that run folders store."""

from minitransformer.registry import Registry

MODELS = Registry("model", "minitransformer.models", "MODELS")
