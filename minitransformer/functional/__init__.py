"""Mathematics without parameters, in pairs: `xxx_forward` and, next to it, `xxx_backward`.

A few have a faster twin in `fast/cpu/`, in a file and under a name like theirs. Here it is decided
which of the two runs: the twin for NumPy arrays of float32 or float64, else the textbook. With
MINITRANSFORMER_FAST=0 in the environment the textbook runs alone.
"""

import os
from functools import wraps
from importlib import import_module

import numpy as np

from minitransformer.functional.activations import gelu_backward, gelu_forward, relu_backward, relu_forward
from minitransformer.functional.cross_entropy import cross_entropy_backward, cross_entropy_forward
from minitransformer.functional.dropout import dropout_backward, dropout_forward, dropout_mask
from minitransformer.functional.masks import PAD, causal_mask, padding_mask
from minitransformer.functional.positions import sinusoids
from minitransformer.functional.softmax import softmax_backward, softmax_forward

USE_FAST = os.environ.get("MINITRANSFORMER_FAST") != "0"
TWINS = {}    # name: (textbook, fast), of the functions that have both


def _textbook_or_fast(file, name):
    textbook = getattr(import_module(f"minitransformer.functional.{file}"), name)
    fast = getattr(import_module(f"minitransformer.fast.cpu.{file}"), name)
    TWINS[name] = textbook, fast

    @wraps(textbook)
    def function(*arguments, **options):
        first, second = [*arguments, *options.values()][:2]
        array = first if getattr(first, "ndim", 0) else second[0]    # of the cache: a loss's backward gets a number
        real = type(array) is np.ndarray and array.dtype.char in "fd"
        return (fast if USE_FAST and real else textbook)(*arguments, **options)

    return function


adam_update = _textbook_or_fast("adam", "adam_update")
attention_forward = _textbook_or_fast("attention", "attention_forward")
attention_backward = _textbook_or_fast("attention", "attention_backward")
layer_norm_forward = _textbook_or_fast("layer_norm", "layer_norm_forward")
layer_norm_backward = _textbook_or_fast("layer_norm", "layer_norm_backward")
linear_cross_entropy_forward = _textbook_or_fast("linear_cross_entropy", "linear_cross_entropy_forward")
linear_cross_entropy_backward = _textbook_or_fast("linear_cross_entropy", "linear_cross_entropy_backward")
