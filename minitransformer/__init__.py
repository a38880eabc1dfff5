"""Attention Is All You Need in NumPy: every derivative is written by hand and proven by gradient checks.

Public names are imported on first use, so that the command can respond, or be interrupted,
before NumPy is loaded.
"""

from importlib import import_module

from minitransformer.moved import say_new_modules
from minitransformer.registry import found_in
from minitransformer.replaceable import load_kernels_with

__version__ = "0.1.0"
_HOME = {
    "Adam": "training.optim",
    "Batch": "data.batches",
    "Classifier": "models",
    "ClassifierConfig": "models",
    "ConvolutionalConfig": "rivals",
    "ConvolutionalModel": "rivals",
    "Ensemble": "decoding",
    "GRUModel": "rivals",
    "Hypothesis": "decoding",
    "InputError": "errors",
    "LSTMAttentionModel": "rivals",
    "LSTMDotAttentionModel": "rivals",
    "LSTMModel": "rivals",
    "LanguageModel": "models",
    "LanguageModelConfig": "models",
    "Layer": "layers",
    "NonFiniteError": "errors",
    "PAD": "functional.special",
    "Parameter": "layers.parameter",
    "RNNModel": "rivals",
    "RecurrentConfig": "rivals",
    "Run": "training.run",
    "Search": "decoding",
    "Threads": "workers.threads",
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
    "limits": "workers.host",
    "load_weights": "interchange.weights",
    "make_batch": "data.batches",
    "plugged": "replaceable",
    "replaces": "replaceable",
    "sample": "decoding",
    "save_weights": "interchange.weights",
    "schedule": "training.optim",
    "textbook": "replaceable",
    "train": "training.trainer",
    "training_step": "training.step",
    "translate": "decoding",
}
__all__ = list(_HOME)

# The core knows its tables, and not what else stands in them. Here it is said, and imported when it is first needed.
load_kernels_with(lambda textbook: import_module("minitransformer.kernels").load(textbook))
found_in("attention", "minitransformer.rivals")
found_in("decoding state", "minitransformer.decoding")
found_in("model", "minitransformer.models", "minitransformer.rivals")
found_in("task", "minitransformer.tasks")
found_in("vocabulary", "minitransformer.data.vocabularies")
say_new_modules()


def __getattr__(name) -> object:
    if name in _HOME:
        return getattr(import_module(f"minitransformer.{_HOME[name]}"), name)
    try:
        return import_module(f"minitransformer.{name}")
    except ModuleNotFoundError as error:
        if "has moved" in str(error):
            raise
        raise AttributeError(f"module 'minitransformer' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
