"""Attention Is All You Need in NumPy: every derivative is written by hand and proven by gradient
checks.

Public names are imported on first use, so that the command can respond, or be interrupted,
before NumPy is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see: the same names as below
    from minitransformer.layers import Layer
    from minitransformer.layers.parameter import Parameter
    from minitransformer.models import (
        Classifier,
        ClassifierConfig,
        LanguageModel,
        LanguageModelConfig,
        Transformer,
        TransformerConfig,
    )
    from minitransformer.checking.gradcheck import gradcheck
    from minitransformer.data.batches import Batch, make_batch
    from minitransformer.data.special import PAD
    from minitransformer.training.step import training_step
    from minitransformer.training.optim import Adam, schedule
    from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
    from minitransformer.decoding import (
        Hypothesis,
        Search,
        beam_search,
        generate,
        greedy,
        sample,
        translate,
    )
    from minitransformer.interchange.weights import load_weights, save_weights
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run
    from minitransformer.runs.trainer import train
    from minitransformer.speed.host import fast
    from minitransformer.speed.threads import Threads
    from minitransformer.dispatch import plugged, replaces
    from minitransformer.errors import InputError, NonFiniteError

__version__ = "0.1.0"
_NAMES = {  # {module: the public names that it has}
    "layers": "Layer",
    "layers.parameter": "Parameter",
    "models": "Transformer TransformerConfig LanguageModel LanguageModelConfig Classifier ClassifierConfig",
    "checking.gradcheck": "gradcheck",
    "data.batches": "make_batch Batch",
    "data.special": "PAD",
    "training.step": "training_step",
    "training.optim": "Adam schedule",
    "functional": "cross_entropy_forward cross_entropy_backward",
    "decoding": "greedy beam_search Hypothesis sample generate translate Search",
    "interchange.weights": "save_weights load_weights",
    "runs.config": "TrainingConfig",
    "runs.run": "Run",
    "runs.trainer": "train",
    "speed.host": "fast",
    "speed.threads": "Threads",
    "dispatch": "plugged replaces",
    "errors": "InputError NonFiniteError",
}
_HOME = {
    name: f"minitransformer.{module}" for module, names in _NAMES.items() for name in names.split()
}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    try:
        return import_module(f"minitransformer.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'minitransformer' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
