"""Attention Is All You Need in NumPy: every derivative is written by hand and proven by gradient checks.

Public names are imported on first use, so that the command can respond, or be interrupted,
before NumPy is loaded.
"""

from importlib import import_module

from minitransformer.registry import PACKAGES
from minitransformer.replaceable import load_kernels_with

__version__ = "0.1.0"
_NAMES = {    # {module: the public names that it has}
    "checking": "check_contract gradcheck",
    "data.batches": "Batch make_batch",
    "decoding": "Ensemble Hypothesis Search beam_search generate greedy sample translate",
    "errors": "InputError NonFiniteError",
    "functional": "cross_entropy_backward cross_entropy_forward",
    "functional.special": "PAD",
    "interchange.weights": "load_weights save_weights",
    "layers": "Layer",
    "layers.parameter": "Parameter",
    "models": "Classifier ClassifierConfig LanguageModel LanguageModelConfig Transformer TransformerConfig",
    "replaceable": "plugged replaces",
    "zoo.baselines": "ConvolutionalConfig ConvolutionalModel GRUModel LSTMAttentionModel LSTMDotAttentionModel LSTMModel RNNModel "
              "RecurrentConfig",
    "training.config": "TrainingConfig",
    "training.optim": "Adam schedule",
    "training.run": "Run",
    "training.step": "training_step",
    "training.trainer": "train",
    "workers.host": "fast",
    "workers.threads": "Threads",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOME)

# The core has the tables but does not know what others add to them. That is listed here, and imported on first use.
load_kernels_with(lambda textbook: import_module("minitransformer.kernels").load(textbook))
PACKAGES.update({**{kind: ["minitransformer.zoo.modern"] for kind in ("activation", "embedding", "norm", "positions")},
                 "attention": ["minitransformer.zoo"],
                 "decoding state": ["minitransformer.decoding"],
                 "model": ["minitransformer.models", "minitransformer.zoo"], "task": ["minitransformer.tasks"],
                 "vocabulary": ["minitransformer.data.vocabularies"]})


def __getattr__(name) -> object:
    if name in _HOME:
        return getattr(import_module(f"minitransformer.{_HOME[name]}"), name)
    try:
        return import_module(f"minitransformer.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'minitransformer' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
