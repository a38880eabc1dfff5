"""All models, by the names stored in run folders, and the functions that begin decoding with some of them."""

from minitransformer.registry import Registry

MODELS = Registry("model", "MODELS")
STATES = Registry("decoding state", "STATES")    # {name of a model: function of (model, source, ...) that begins to write}
