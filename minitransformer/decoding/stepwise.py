"""Which layers decoding may call for one position at a time, instead of calling the model as training does."""

from typing import Any

from minitransformer.layers.exactly import has_own_methods


def is_stepwise(layer: Any) -> bool:
    """Whether `layer` and every layer below say that they are."""
    return all(says_stepwise(part) for part in (layer, *layer.sublayers().values()))


def says_stepwise(layer: Any) -> bool:
    """Whether the class says it of itself: a subclass does not inherit it, as its `forward` may mix
    positions. A method of the layer's own may, too.
    """
    return vars(type(layer)).get("stepwise", False) and not has_own_methods(layer)


def has_at(positions: Any) -> bool:
    """Whether `at`, for one position, and `forward` were written together: by the same class."""
    kinds = type(positions).__mro__
    owners = [{name for name in ("forward", "at") if name in vars(kind)} for kind in kinds]
    return next(filter(None, owners), None) == {"forward", "at"} and not has_own_methods(positions)


def runs(model: Any, kind: type, *methods: str) -> bool:
    """Whether these methods of `model`, which may be of a subclass, are those of `kind`."""
    return all(
        name not in vars(model) and getattr(type(model), name) is getattr(kind, name)
        for name in methods
    )
