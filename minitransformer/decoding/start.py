"""How the Transformer and the language model begin to write: `model.start(...)`.

The key-value cache steps aside for what would change its results: attention of a kind that it does
not know, and plugged-in functions that it does not call the way training does. Then every position
is computed from the entire prefix.
"""

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_shape
from minitransformer.decoding.cached import KEPT, CachedStack
from minitransformer.decoding.state import RecomputedState, first_and_limit
from minitransformer.errors import InputError, counted
from minitransformer.functional import causal_mask, padding_mask, sinusoids
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.dispatch import is_replaced


def start_transformer(model, source) -> CachedStack | RecomputedState:
    """source: (B, T_k) ids. The lengths of the sources and the model's positions limit the outputs."""
    check_shape("source", source, "B", "T_k")
    memory, _ = model.encode(source)
    first, limit = first_and_limit(source)
    limit = np.minimum(limit, model.target_input.positions.max_length - 1)
    if _cache_would_bypass(model):

        def decode(rows, target) -> Array:
            return model.decode(target, memory[to_device(rows, module_of(memory))], source[rows])[0]

        return RecomputedState(
            decode, model.output, first, limit, np.empty((len(source), 1, 0), int)
        )
    memory_mask = to_device(padding_mask(source), module_of(memory))
    return CachedStack(
        model.config,
        model.decoder,
        model.target_input,
        model.output,
        first,
        limit,
        memory,
        memory_mask,
    )


def start_language_model(model, prompt) -> CachedStack | RecomputedState:
    """prompt: (B, T), ids of at least one token each, without padding. Only the model's positions
    limit what may follow.
    """
    check_shape("prompt", prompt, "B", "T")
    if not prompt.shape[1]:
        raise InputError("the prompt is empty, expected at least one token to continue")
    if prompt.shape[1] > model.config.max_length:
        raise InputError(
            f"the prompt has {counted(prompt.shape[1], 'token')}, but the model has "
            f"{counted(model.config.max_length, 'position')}"
        )
    limit = np.full(
        len(prompt), model.config.max_length - prompt.shape[1]
    )  # no positions beyond these were trained
    if _cache_would_bypass(model):
        return RecomputedState(
            lambda rows, ids: model.hidden(ids)[0],
            model.output,
            prompt[:, -1:],
            limit,
            prompt[:, None, :-1],
        )
    state = CachedStack(model.config, model.stack, model.input, model.output, prompt[:, -1:], limit)
    if prompt.shape[1] > 1:
        state.read(prompt[:, :-1])
    return state


def _cache_would_bypass(model) -> bool:
    """Whether the model's attention, or a plugged-in function, is one that the key-value cache does
    not call.
    """
    bypassed = MultiHeadAttention.forward, causal_mask, padding_mask, sinusoids
    return model.config.attention not in KEPT or any(map(is_replaced, bypassed))
