"""Whether a layer is exactly the library's. A step that would bypass layers, or call them in another way than training does, asks
first; what is not as it was written for takes the general path, which calls `forward`."""

from functools import partial
from typing import Any


class Watched(partial):
    """A method that is looked at while it runs (hooks.py); it computes what it did before."""


def exactly(layer: Any, kind: type) -> bool:
    """Whether `layer` is a `kind`: of that class, not of a subclass, and without a method of its own."""
    return type(layer) is kind and not has_own_methods(layer)


def has_own_methods(layer: Any) -> bool:
    """Whether a method was replaced on the layer itself: `layer.forward = ...`."""
    return any(callable(getattr(type(layer), name, None)) and not isinstance(value, Watched) for name, value in vars(layer).items())


def runs(layer: Any, kind: type, *methods: str) -> bool:
    """Whether these methods of `layer`, which may be of a subclass, are those of `kind`."""
    return all(name not in vars(layer) and getattr(type(layer), name) is getattr(kind, name) for name in methods)


def is_stepwise(layer: Any) -> bool:
    """Whether `layer` and every layer below may be called for one position at a time: each of their classes says so itself."""
    return all(says_stepwise(part) for part in (layer, *layer.sublayers().values()))


def says_stepwise(layer: Any) -> bool:
    """A subclass does not inherit it: its own `forward` may mix positions."""
    return vars(type(layer)).get("stepwise", False) and not has_own_methods(layer)
