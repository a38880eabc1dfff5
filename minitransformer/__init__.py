"""Attention Is All You Need in NumPy: every derivative is written by hand and proven by gradient
checks.

Public names are imported on first use, so that the command can respond, or be interrupted,
before NumPy is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from minitransformer.lookup import ELSEWHERE
from minitransformer.dispatch import load_kernels_with

if TYPE_CHECKING:  # what editors and type checkers see: the same names as below
    from minitransformer.checking.gradcheck import gradcheck
    from minitransformer.data.batches import Batch, make_batch
    from minitransformer.decoding import (
        Hypothesis,
        Search,
        beam_search,
        generate,
        greedy,
        sample,
        translate,
    )
    from minitransformer.errors import InputError, NonFiniteError
    from minitransformer.functional import cross_entropy_backward, cross_entropy_forward
    from minitransformer.data.special import PAD
    from minitransformer.interchange.weights import load_weights, save_weights
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
    from minitransformer.dispatch import plugged, replaces
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.training.optim import Adam, schedule
    from minitransformer.runs.run import Run
    from minitransformer.training.step import training_step
    from minitransformer.runs.trainer import train
    from minitransformer.speed.host import fast
    from minitransformer.speed.threads import Threads
    from minitransformer.zoo.recurrent.model import (
        GRUModel,
        LSTMAttentionModel,
        LSTMModel,
        RecurrentConfig,
        RNNModel,
    )

__version__ = "0.1.0"
_NAMES = {  # {module: the public names that it has}
    "checking.gradcheck": "gradcheck",
    "data.batches": "Batch make_batch",
    "decoding": "Hypothesis Search beam_search generate greedy sample translate",
    "errors": "InputError NonFiniteError",
    "functional": "cross_entropy_backward cross_entropy_forward",
    "data.special": "PAD",
    "interchange.weights": "load_weights save_weights",
    "layers": "Layer",
    "layers.parameter": "Parameter",
    "models": "Classifier ClassifierConfig LanguageModel LanguageModelConfig Transformer TransformerConfig",
    "dispatch": "plugged replaces",
    "runs.config": "TrainingConfig",
    "training.optim": "Adam schedule",
    "runs.run": "Run",
    "training.step": "training_step",
    "runs.trainer": "train",
    "speed.host": "fast",
    "speed.threads": "Threads",
}
_HOME = {
    name: f"minitransformer.{module}" for module, names in _NAMES.items() for name in names.split()
}
_HOME.update(ELSEWHERE["public name"])
__all__ = list(_HOME)

load_kernels_with(
    lambda textbook: import_module("minitransformer.speed.kernels").load(textbook)
)  # when one is first called


def __getattr__(name) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    try:
        return import_module(f"minitransformer.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'minitransformer' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
