"""All models, by the names stored in run folders."""

from minitransformer.registry import Registry

MODELS = Registry("model", "minitransformer.models", "MODELS")
