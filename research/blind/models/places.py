"""Where the layers of a model are, and what all changes have in common."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import library as lib
import own
from models import WIDTH, pick

CHANGES: dict = {}


class NotHere(Exception):
    """The change does not apply to this model."""


@dataclass
class Notes:
    """What the comparison must know about the changes."""

    frozen: list = field(default_factory=list)  # layers whose own parameters get no gradient
    used: list = field(
        default_factory=list
    )  # (Parameter, label): the user means it to influence the loss
    closures: bool = False  # a function refers to the old model: a copy still calls it


def change(function):
    CHANGES[function.__name__] = function
    return function


# ---- where layers are


@dataclass
class Site:
    """A place that holds a layer: an attribute, or a position in a list."""

    path: str
    holder: Any
    key: Any

    def get(self):
        return (
            self.holder[self.key]
            if isinstance(self.holder, (list, tuple))
            else getattr(self.holder, self.key)
        )

    def put(self, thing) -> None:
        if isinstance(self.holder, tuple):
            raise NotHere
        if isinstance(self.holder, list):
            self.holder[self.key] = thing
        else:
            setattr(self.holder, self.key, thing)


def all_sites(model) -> list[Site]:
    """Every place in the model, also the further ones of a shared layer."""
    found, todo, seen = [], [("", model)], {id(model)}
    while todo:
        prefix, layer = todo.pop(0)
        own = own_sites(prefix, layer)
        found += own
        for site in own:
            if id(site.get()) not in seen:
                seen.add(id(site.get()))
                todo.append((site.path + ".", site.get()))
    return found


def own_sites(prefix, layer) -> list[Site]:
    """The places of one layer."""
    found = []
    for name, value in vars(layer).items():
        if isinstance(value, lib.Layer):
            found.append(Site(prefix + name, layer, name))
        elif isinstance(value, (list, tuple)):
            found += [
                Site(f"{prefix}{name}.{i}", value, i)
                for i, one in enumerate(value)
                if isinstance(one, lib.Layer)
            ]
    return found


def sites(model, *kinds, exactly=False) -> list[Site]:
    found = [site for site in all_sites(model) if isinstance(site.get(), kinds)]
    return [site for site in found if type(site.get()) in kinds] if exactly else found


def pick_site(model, rng, *kinds, exactly=False, where=lambda site: True) -> Site:
    found = [site for site in sites(model, *kinds, exactly=exactly) if where(site)]
    if not found:
        raise NotHere
    return pick(rng, found)


def need(condition) -> None:
    if not condition:
        raise NotHere


def double(layer):
    return layer.astype(np.float64)


def norm_sites(model) -> list[Site]:
    norms = (lib.LayerNorm, lib.LibraryRMSNorm, own.OwnRMSNorm, own.TanhNorm, own.ScaleNorm)
    return [site for site in sites(model, *norms) if site.key == "norm"]


def masks_alone(model) -> bool:
    """Whether the mask alone says where a position may look: not with restricted attention."""
    return getattr(model.config, "attention", "scaled") != "restricted"


def untouched(layer) -> bool:
    """Whether no method has been replaced on the instance: two such changes need not fit."""
    return not any(
        callable(value) and not isinstance(value, lib.Layer) for value in vars(layer).values()
    )


def is_causal(site) -> bool:
    return site.path.startswith(("decoder.", "stack."))


def make_norm(name):
    if name == "LayerNorm eps 0.1":
        return double(lib.LayerNorm(WIDTH, 0.1))
    if name == "RMSNorm":
        return double(lib.LibraryRMSNorm(WIDTH))
    if name == "ScaledLayerNorm":
        return double(own.ScaledLayerNorm(WIDTH))
    return getattr(own, name)() if name in ("ScaleNorm", "NoNorm") else getattr(own, name)(WIDTH)


def owned_parameters(model, *kinds) -> list:
    """(site, name, Parameter) of each place of a parameter; users leave that of the loss alone."""
    return [
        (site, name, one)
        for site in sites(model, *kinds)
        for name, one in lib.members(site.get())
        if isinstance(one, lib.Parameter) and not isinstance(site.get(), lib.LinearCrossEntropy)
    ]
