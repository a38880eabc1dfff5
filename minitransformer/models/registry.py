"""The models there are, by the names under which run folders keep them."""

from minitransformer.registry import Registry

MODELS = Registry("model", "minitransformer.models", "MODELS")
