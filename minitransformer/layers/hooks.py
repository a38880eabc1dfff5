"""Hooks: look at what each layer's forward and backward receives and returns while a model runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minitransformer.layers.exactly import Watched
from minitransformer.layers.layer import Layer

DIRECTIONS = "forward", "backward"


@contextmanager
def hooked(model: Layer, around: Callable[..., Any]) -> Iterator[None]:
    """Within the block, each call of a layer's method goes through `around(path, direction, method, *arguments)`.

    `path` is the layer's, as in the names of its parameters; `direction` is "forward" or "backward";
    `around` calls `method` with the arguments and returns its result. The calls inside a layer
    are reported before its own call returns. The model's own methods are not watched.
    """
    before = [(layer, direction, vars(layer).get(direction)) for layer in model.sublayers().values() for direction in DIRECTIONS]
    for path, layer in model.sublayers().items():
        for direction in DIRECTIONS:
            setattr(layer, direction, Watched(around, path, direction, getattr(layer, direction)))
    try:
        yield
    finally:
        for layer, direction, method in before:
            if method is None:
                delattr(layer, direction)    # the class's method applies again
            else:
                setattr(layer, direction, method)
