"""Who attends to whom while a trained model reads a text and answers it."""

from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import to_host
from minitransformer.special import BOS, EOS
from minitransformer.decoding import decode_all, encode
from minitransformer.errors import InputError

KINDS = ("encoder", "decoder", "cross")


class AttentionMap(NamedTuple):
    weights: Any      # (H, T_q, T_k), on the host
    queries: list     # tokens as text
    keys: list


def attention_map(run, text, kind="cross", layer=None):
    """The AttentionMap of one layer (default: the last) of run.model; `kind`: one of KINDS.

    Raises InputError for an empty text and a layer that is not there.
    """
    layers = run.model.config.num_layers
    layer = layers - 1 if layer is None else layer
    if not 0 <= layer < layers:
        raise InputError(f"layer is {layer}, expected 0 to {layers - 1}")
    (source,) = encode(run.vocabulary, [text], run.settings["max_length"])
    if not source:
        raise InputError("the text is empty, expected a source to attend to")
    ((best, *_),) = decode_all(run.model, [source], run.search)
    source, target = [*source, EOS], [BOS, *best.tokens]
    _, cache = run.model.hidden(np.array([source]), np.array([target]))
    residual, queries, keys = {
        "encoder": lambda: (cache.encode.encoder.layers[layer].self_attention, source, source),
        "decoder": lambda: (cache.decode.decoder.layers[layer].self_attention, target, target),
        "cross": lambda: (cache.decode.decoder.layers[layer].cross_attention, target, source),
    }[kind]()
    return AttentionMap(to_host(residual.sublayer.attention.softmax.p[0]), run.vocabulary.tokens(queries),
                        run.vocabulary.tokens(keys))
