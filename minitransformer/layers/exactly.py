"""Whether a layer is exactly the library's.

A step that would bypass a layer, because it is fused, cached or compiled, runs only for the layer that it was written for: it asks
here first. For any other layer the general path runs, which calls `forward`.
"""

from collections.abc import Collection, Iterable
from functools import cache, partial
from typing import Any, TypeGuard, TypeVar

Kind = TypeVar("Kind")


class Watched(partial):
    """A method that is looked at while it runs (hooks.py); it computes what it did before."""


def exactly(layer: Any, kind: type[Kind]) -> TypeGuard[Kind]:
    """Whether `layer` is a `kind`: of that class, not of a subclass, and without a method of its own."""
    return type(layer) is kind and not has_own_methods(layer)


def has_own_methods(layer: Any) -> bool:
    """Whether a method was replaced on the layer itself: `layer.forward = ...`."""
    attributes = vars(layer)
    return not all(isinstance(attributes[name], Watched) for name in _methods(layer.__class__).intersection(attributes))


def may_be_bypassed(layers: Iterable[Any], kinds: Collection[type]) -> bool:
    """Whether a step may compute what all these layers do and call none: each is exactly of one of `kinds`, and none is watched."""
    return all(type(layer) in kinds and _methods(layer.__class__).isdisjoint(vars(layer)) for layer in layers)


@cache
def _methods(kind: type) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if callable(getattr(kind, name)))
