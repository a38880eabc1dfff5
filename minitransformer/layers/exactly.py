"""Whether a layer is exactly the library's.

A step that would bypass a layer, because it is fused, cached or compiled, runs only for the layer that it was written for: it asks
here first. For any other layer the general path runs, which calls `forward`.
"""

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
