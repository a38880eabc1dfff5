"""A layer at one position, for a few hypotheses: one loop for each sub-layer.

A single sentence is decoded this way. With a handful of rows, a call of NumPy costs more than what
it computes. With more rows, the products of BLAS are faster.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.backend import Array
from minitransformer.decoding.cached_layer import (
    CachedCrossAttention,
    CachedLayer,
    CachedSelfAttention,
    next_position,
)
from minitransformer.dispatch import textbook_of
from minitransformer.functional.activations import ACTIVATIONS, gelu_forward, relu_forward
from minitransformer.layers.attention import CrossAttention, SelfAttention
from minitransformer.layers.decoder import DecoderLayer
from minitransformer.layers.encoder import EncoderLayer
from minitransformer.layers.exactly import may_be_bypassed
from minitransformer.layers.feed_forward import FeedForward
from minitransformer.layers.layer_norm import LayerNorm
from minitransformer.layers.linear import Linear
from minitransformer.layers.residual import Residual
from minitransformer.speed.compiled.cached_loops import (
    attend_to_memory,
    attend_to_past,
    feed_forward,
)
from minitransformer.speed.loops import FEW, packed

# What the loops assume of a layer that they bypass. All else they are told: heads, each norm's
# epsilon, each residual's pre_norm. Dropout does nothing here.
KINDS = {
    DecoderLayer,
    EncoderLayer,
    SelfAttention,
    CrossAttention,
    FeedForward,
    Residual,
    LayerNorm,
    Linear,
}
FORWARDS = relu_forward, gelu_forward  # of the activation


def next_position_compiled(
    x: Array, cached: CachedLayer, past: Array, memory_mask: Any = None
) -> Array:
    batch, width, d_model = x.shape
    own, cross = cached.self_attention, cached.cross_attention
    if cached.prepared is None:
        as_assumed = is_as_assumed(cached.layer, x.dtype)
        cached.prepared = arguments_of(cached.layer) if as_assumed else ()
    if not cached.prepared or batch * width > FEW or own.keys.dtype != x.dtype:
        return textbook_of(next_position)(x, cached, past, memory_mask)
    for_past, for_memory, for_network = cached.prepared
    x = packed(x, batch * width, d_model)
    y = np.empty_like(x)
    past = packed(past, batch, width, past.shape[-1])
    attend_to_past(x, *for_past, *kept(own), own.length, past, y)
    own.length += width
    if cross:
        x, y = y, np.empty_like(x)
        mask = packed(memory_mask, batch, 1, cross.keys.shape[2])
        attend_to_memory(x, *for_memory, *kept(cross), mask, width, y)
    x, y = y, np.empty_like(x)
    feed_forward(x, *for_network, y)
    return y.reshape(batch, width, d_model)


def is_as_assumed(layer: Any, dtype: DTypeLike) -> bool:
    """Whether a layer is what the loops were written for."""
    parts = [layer, *layer.sublayers().values()]
    return (
        may_be_bypassed(parts, KINDS)
        and ACTIVATIONS[layer.feed_forward.activation][0] in FORWARDS
        and all(parameter.data.dtype == dtype for parameter in layer.parameters().values())
        and all(one.beta.shape == one.gamma.shape for one in parts if type(one) is LayerNorm)
        and all(one.bias.shape == one.weight.shape[1:] for one in parts if type(one) is Linear)
    )


def arguments_of(layer: Any) -> tuple[tuple, tuple, tuple]:
    """What the loops of self-attention, cross-attention and feed-forward are told of the layer."""
    own, cross, network = (
        layer.self_attention,
        getattr(layer, "cross_attention", None),
        layer.feed_forward,
    )
    for_past = (
        *map(pair, (own.query, own.key, own.value, own.output)),
        own.num_heads,
        *around(layer.self_attention_residual),
    )
    for_memory: tuple = ()
    if cross:
        residual = around(layer.cross_attention_residual)
        for_memory = (pair(cross.query), pair(cross.output), cross.num_heads, *residual)
    with_gelu = ACTIVATIONS[network.activation][0] is gelu_forward
    for_network = (
        pair(network.inner),
        pair(network.outer),
        with_gelu,
        *around(layer.feed_forward_residual),
    )
    return for_past, for_memory, for_network


def pair(linear: Linear) -> tuple[Array, Array]:
    weight, bias = linear.weight, linear.bias
    return packed(weight.data, *weight.shape), packed(bias.data, *bias.shape)


def around(residual: Any) -> tuple[Any, float, bool]:
    """Its norm's gamma and beta, epsilon, and whether the norm comes before."""
    norm = residual.norm
    return (
        (
            packed(norm.gamma.data, norm.gamma.data.size),
            packed(norm.beta.data, norm.beta.data.size),
        ),
        float(norm.epsilon),
        bool(residual.pre_norm),
    )


def kept(attention: CachedSelfAttention | CachedCrossAttention) -> tuple[Array, Array]:
    """The keys and values that an attention keeps, each (B H, room, d)."""
    keys, values = attention.keys, attention.values
    return packed(keys, -1, *keys.shape[2:]), packed(values, -1, *values.shape[2:])
