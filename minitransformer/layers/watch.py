"""Watching a model run: what each layer's forward and backward receives and returns."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def watch(model, around) -> Iterator[None]:
    """Within it, each call of a layer's method goes through `around(path, direction, method, *arguments)`.

    `path` is the layer's, as in the names of its parameters; `direction` "forward" or "backward";
    `method` is to be called with the arguments, and its result to be returned. What a layer calls
    inside is seen before its own call returns.
    """
    before = {path: (layer, vars(layer).copy()) for path, layer in model.sublayers().items()}
    for path, (layer, _) in before.items():
        for direction in ("forward", "backward"):
            setattr(layer, direction, partial(around, path, direction, getattr(layer, direction)))
    try:
        yield
    finally:
        for layer, attributes in before.values():
            vars(layer).clear()
            vars(layer).update(attributes)
