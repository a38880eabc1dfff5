"""Changes of parameters and of the methods of an instance."""

from functools import partial
from types import MethodType

import numpy as np

import library as lib
import own
from models import pick
from places import (
    Site,
    all_sites,
    change,
    masks_alone,
    need,
    owned_parameters,
    pick_site,
    untouched,
)

# ---- parameters


@change
def tie_output(model, rng, notes):
    """`model.output.weight = model.target_embedding.weight`, or the other way round."""
    name = "target_embedding" if hasattr(model, "target_embedding") else "embedding"
    embedding = getattr(model, name)
    need(isinstance(model.output, lib.OutputProjection) and hasattr(embedding, "weight"))
    need(
        embedding.weight is not model.output.weight
        and embedding.weight.shape == model.output.weight.shape
    )
    if rng.random() < 0.6:
        model.output.weight = embedding.weight
        return f"model.output.weight = model.{name}.weight"
    embedding.weight = model.output.weight
    return f"model.{name}.weight = model.output.weight"


@change
def tie_embeddings(model, rng, notes):
    need(
        hasattr(model, "source_embedding") and model.source_embedding is not model.target_embedding
    )
    need(hasattr(model.source_embedding, "weight") and hasattr(model.target_embedding, "weight"))
    model.source_embedding.weight = model.target_embedding.weight
    return "model.source_embedding.weight = model.target_embedding.weight"


@change
def tie_parameters(model, rng, notes):
    """Two parameters of one shape, in layers of one kind, become one."""
    alike = {}
    for site, name, parameter in owned_parameters(model, lib.Linear, lib.LayerNorm, lib.Projection):
        alike.setdefault((name, parameter.shape), []).append((site, name, parameter))
    groups = [
        group for group in alike.values() if len({id(parameter) for _, _, parameter in group}) > 1
    ]
    need(groups)
    group = pick(rng, groups)
    site, name, parameter = pick(rng, group)
    source, _, other = pick(rng, [one for one in group if one[2] is not parameter])
    setattr(site.get(), name, other)
    return f"{site.path}.{name} = {source.path}.{name}"


@change
def tie_in_one_attention(model, rng, notes):
    """Keys are queries, or values are keys."""
    site = pick_site(model, rng, lib.SelfAttention, lib.CrossAttention)
    layer = site.get()
    one, other = pick(rng, [("key", "query"), ("value", "key")])
    need(getattr(layer, one).weight.shape == getattr(layer, other).weight.shape)
    if rng.random() < 0.5:
        setattr(layer, one, getattr(layer, other))
        return f"{site.path}.{one} = {site.path}.{other}"
    getattr(layer, one).weight = getattr(layer, other).weight
    return f"{site.path}.{one}.weight = {site.path}.{other}.weight"


@change
def share_layer(model, rng, notes):
    """A feed-forward network, an attention, a residual or a norm that is used in a second place."""
    names = ["feed_forward", "feed_forward_residual", "self_attention_residual", "norm"]
    name = pick(rng, [*names, "self_attention"] if masks_alone(model) else names)
    found = [site for site in all_sites(model) if site.key == name]
    need(len(found) > 1)
    first, second = rng.choice(len(found), 2, replace=False)
    need(found[first].get() is not found[second].get())
    found[first].put(found[second].get())
    return f"{found[first].path} = {found[second].path}"


@change
def new_parameter(model, rng, notes):
    """`layer.weight = Parameter(w)` of several layouts in memory, and `weight.data = w`."""
    site, name, parameter = pick(rng, owned_parameters(model, lib.Layer))
    values = np.array(parameter.data + 0.1 * rng.standard_normal(parameter.shape))
    what = pick(
        rng,
        [
            "Parameter(w)",
            "Parameter(w), columns first",
            "Parameter(part of w)",
            "data = w",
            "data[...] = w",
        ],
    )
    if what == "data = w":
        parameter.data = values
    elif what == "data[...] = w":
        parameter.data[...] = values
    elif what == "Parameter(w)":
        setattr(site.get(), name, lib.Parameter(values))
    elif what == "Parameter(w), columns first":
        setattr(site.get(), name, lib.Parameter(np.asfortranarray(values)))
    else:
        need(values.ndim)
        wide = np.zeros((*values.shape[:-1], values.shape[-1] + 2))
        wide[..., 1:-1] = values
        setattr(site.get(), name, lib.Parameter(wide[..., 1:-1]))
    return f"{site.path}.{name}: {what}"


@change
def freeze(model, rng, notes):
    """A layer whose backward adds nothing."""
    site = pick_site(model, rng, lib.Linear, lib.LayerNorm, lib.Embedding, exactly=True)
    layer = site.get()
    need(untouched(layer))
    frozen = {
        lib.Linear: own.FrozenLinear,
        lib.LayerNorm: own.FrozenLayerNorm,
        lib.Embedding: own.FrozenEmbedding,
    }
    cls = frozen[type(layer)]
    if rng.random() < 0.5:
        layer.__class__ = cls
        return f"{site.path}.__class__ = {cls.__name__}"
    layer.backward = MethodType(cls.backward, layer)
    notes.frozen.append(layer)
    return f"{site.path}.backward = that of {cls.__name__}"


# ---- methods replaced on an instance


def scaled_forward(self, *args, **kwargs):
    y, cache = type(self).forward(self, *args, **kwargs)
    return 1.25 * y, cache


def scaled_backward(self, dy, cache):
    return type(self).backward(self, 1.25 * dy, cache)


def scaled_attend(self, q, k, v, mask, rng):
    return type(self).attend(self, 1.5 * q, k, v, mask, rng)


def scaled_attend_backward(self, dheads, cache):
    dq, dk, dv = type(self).attend_backward(self, dheads, cache)
    return 1.5 * dq, dk, dv


def scaled_enter(self, x):
    h, cache = type(self).enter(self, x)
    return 0.75 * h, cache


def scaled_enter_backward(self, dh, cache):
    return type(self).enter_backward(self, 0.75 * dh, cache)


def shifted(method):
    """A closure, as in most notebooks: the result plus a constant."""

    def forward(*args, **kwargs):
        y, cache = method(*args, **kwargs)
        return y + 0.1, cache

    return forward


def set_methods(layer, rng, **functions) -> str:
    """Bind functions to one layer, as a method or as a partial."""
    bind = pick(
        rng,
        [lambda function: MethodType(function, layer), lambda function: partial(function, layer)],
    )
    for name, function in functions.items():
        setattr(layer, name, bind(function))
    return type(vars(layer)[next(iter(functions))]).__name__


def plain_sites(model) -> list[Site]:
    """Layers whose forward returns (an array, cache), without a method replaced before."""
    return [
        site
        for site in all_sites(model)
        if untouched(site.get())
        and not isinstance(site.get(), (lib.Recurrent, lib.LinearCrossEntropy))
    ]


@change
def method_pair_replaced(model, rng, notes):
    site = pick(rng, plain_sites(model))
    how = set_methods(site.get(), rng, forward=scaled_forward, backward=scaled_backward)
    return f"{site.path}.forward and backward = {how} (1.25 times)"


@change
def forward_wrapped(model, rng, notes):
    site = pick(rng, plain_sites(model))
    site.get().forward = shifted(site.get().forward)
    notes.closures = True
    return f"{site.path}.forward = a closure (plus 0.1)"


@change
def attend_replaced(model, rng, notes):
    site = pick_site(model, rng, lib.SelfAttention, lib.CrossAttention)
    need(untouched(site.get()))
    how = set_methods(site.get(), rng, attend=scaled_attend, attend_backward=scaled_attend_backward)
    return f"{site.path}.attend = {how} (queries 1.5 times)"


@change
def enter_replaced(model, rng, notes):
    site = pick_site(model, rng, lib.Residual)
    need(untouched(site.get()))
    how = set_methods(site.get(), rng, enter=scaled_enter, enter_backward=scaled_enter_backward)
    return f"{site.path}.enter = {how} (0.75 times)"


@change
def model_method_wrapped(model, rng, notes):
    """`model.encode`, `decode` or `hidden` replaced by a closure that adds a constant."""
    found = [name for name in ("encode", "decode", "hidden") if hasattr(model, name)]
    found = [name for name in found if not (name == "encode" and hasattr(model, "readout"))]
    need(found)
    name = pick(rng, found)
    setattr(model, name, shifted(getattr(model, name)))
    notes.closures = True
    return f"model.{name} = a closure (plus 0.1)"
