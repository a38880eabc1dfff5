"""All models by the names stored in run folders, and what begins to write with those whose decoding states are in decoding/."""

from minitransformer.registry import Registry

MODELS = Registry("model", "MODELS")
STATES = Registry("decoding state", "STATES")    # {name of a model: function of (model, source, ...) that begins to write}
