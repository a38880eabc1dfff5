"""Attention Is All You Need in NumPy: every derivative is written by hand and proven by gradient checks.

Public names are imported on first use, so that the command can respond, or be interrupted,
before NumPy is loaded.
"""

from importlib import import_module

__version__ = "0.1.0"
_HOME = {
    "Adam": "optim",
    "Batch": "data.batches",
    "Classifier": "models",
    "ClassifierConfig": "models",
    "ConvolutionalConfig": "models",
    "ConvolutionalModel": "models",
    "Ensemble": "decoding",
    "GRUModel": "models",
    "Hypothesis": "decoding",
    "InputError": "errors",
    "LSTMAttentionModel": "models",
    "LSTMDotAttentionModel": "models",
    "LSTMModel": "models",
    "LanguageModel": "models",
    "LanguageModelConfig": "models",
    "Layer": "layers",
    "NonFiniteError": "errors",
    "PAD": "special",
    "Parameter": "parameter",
    "RNNModel": "models",
    "RecurrentConfig": "models",
    "Run": "training.run",
    "Search": "decoding",
    "Threads": "parallel",
    "TrainingConfig": "training.config",
    "Transformer": "models",
    "TransformerConfig": "models",
    "beam_search": "decoding",
    "check_contract": "checking",
    "cross_entropy_backward": "functional",
    "cross_entropy_forward": "functional",
    "generate": "decoding",
    "gradcheck": "checking",
    "greedy": "decoding",
    "limits": "host",
    "load_weights": "weights",
    "make_batch": "data.batches",
    "plugged": "replaceable",
    "replaces": "replaceable",
    "sample": "decoding",
    "save_weights": "weights",
    "schedule": "optim",
    "textbook": "replaceable",
    "train": "training.trainer",
    "training_step": "training.step",
    "translate": "decoding",
}
__all__ = list(_HOME)


def __getattr__(name) -> object:
    if name in _HOME:
        return getattr(import_module(f"minitransformer.{_HOME[name]}"), name)
    try:
        return import_module(f"minitransformer.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'minitransformer' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
