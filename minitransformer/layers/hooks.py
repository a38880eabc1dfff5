"""Hooks: look at what each layer's forward and backward receives and returns while a model runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def hooked(model, around) -> Iterator[None]:
    """Within it, each call of a layer's method goes through `around(path, direction, method, *arguments)`.

    `path` is the layer's, as in the names of its parameters; `direction` is "forward" or "backward";
    `around` calls `method` with the arguments and returns its result. The calls inside a layer
    are reported before its own call returns.
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
