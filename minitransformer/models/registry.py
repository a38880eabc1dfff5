"""All models by the names stored in run folders, and the decoding states of those that the decoder room serves."""

from minitransformer.registry import Registry

MODELS = Registry("model", "MODELS")
STATES = Registry("decoding state", "STATES")    # {name of a model: function of (model, source, ...) that begins to write}
