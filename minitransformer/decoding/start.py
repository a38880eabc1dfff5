"""How the Transformer and the language model begin to write: `model.start(...)`.

The key-value cache steps aside for what would change its results: a layer or a method of the model
that it would bypass and that is not the library's, and plugged-in functions that it does not call
the way training does. Then every position is computed from the entire prefix.
"""

import sys
from typing import Any

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_shape
from minitransformer.data.special import PAD
from minitransformer.decoding.cached import CachedStack, can_be_cached
from minitransformer.decoding.state import DecodingState, RecomputedState, first_and_limit
from minitransformer.decoding.stepwise import runs
from minitransformer.dispatch import is_replaced
from minitransformer.errors import InputError, counted
from minitransformer.functional import causal_mask, padding_mask, sinusoids
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.models.language_model import LanguageModel
from minitransformer.models.transformer import Transformer


def start_transformer(model: Transformer, source: Array) -> DecodingState:
    """source: (B, T_k) ids. The lengths of the sources and the model's positions limit the outputs."""
    check_shape("source", source, "B", "T_k")
    model.check_shared()
    first, limit = first_and_limit(source)
    positions: Any = getattr(model.target_input, "positions", None)
    limit = np.minimum(limit, getattr(positions, "max_length", sys.maxsize) - 1)
    before = np.empty((len(source), 1, 0), int)
    if not runs(model, Transformer, "hidden"):

        def run(rows: Array, target: Array) -> Array:
            return model.hidden(source[rows], target)[0]

        return RecomputedState(run, model.output, first, limit, before)
    memory, _ = model.encode(source)
    if not (
        runs(model, Transformer, "decode")
        and can_be_cached(model.decoder, model.target_input)
        and not _bypassed_is_replaced()
    ):

        def decode(rows: Array, target: Array) -> Array:
            return model.decode(target, memory[to_device(rows, module_of(memory))], source[rows])[0]

        return RecomputedState(decode, model.output, first, limit, before)
    mask = to_device(padding_mask(source), module_of(memory))
    return CachedStack(model.decoder, model.target_input, model.output, first, limit, memory, mask)


def start_language_model(model: LanguageModel, prompt: Array) -> DecodingState:
    """prompt: (B, T), ids of at least one token each, without padding. Only the model's positions
    limit what may follow.
    """
    check_shape("prompt", prompt, "B", "T")
    model.check_shared()
    if not prompt.shape[1]:
        raise InputError("the prompt is empty, expected at least one token to continue")
    if (prompt == PAD).any():
        raise InputError(
            f"the prompt contains the id {PAD}, which is padding, expected tokens alone"
        )
    if prompt.shape[1] > model.config.max_length:
        raise InputError(
            f"the prompt has {counted(prompt.shape[1], 'token')}, but the model has "
            f"{counted(model.config.max_length, 'position')}"
        )
    # no positions beyond these were trained
    limit = np.full(len(prompt), model.config.max_length - prompt.shape[1])
    if not (
        runs(model, LanguageModel, "hidden")
        and can_be_cached(model.stack, model.input)
        and not _bypassed_is_replaced()
    ):
        return RecomputedState(
            lambda rows, ids: model.hidden(ids)[0],
            model.output,
            prompt[:, -1:],
            limit,
            prompt[:, None, :-1],
        )
    state = CachedStack(model.stack, model.input, model.output, prompt[:, -1:], limit)
    if prompt.shape[1] > 1:
        state.read(prompt[:, :-1])
    return state


def _bypassed_is_replaced() -> bool:
    """Whether a plugged-in function is one that the key-value cache does not call."""
    return any(map(is_replaced, (MultiHeadAttention.forward, causal_mask, padding_mask, sinusoids)))
