"""The library's differentiable operations: pairs of functions, and the classes of layers, each with
its forward and backward.

An operation's forward or backward can be replaced temporarily, wherever it is called: by a wrong
formula, by one that records its calls, or by the library's own if a reader has replaced that.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import MethodType
from typing import Any, NamedTuple

from minitransformer import functional, layers, models
from minitransformer.layers import Layer
from minitransformer.dispatch import TABLE, Replaceable, plugged
from minitransformer.zoo import baselines, modern

PAIRS = functional, baselines, modern  # where the pairs of functions are
CLASSES = layers, models, baselines, modern  # and where the layers

PARAMETERS = {
    "Linear": ("weight", "bias"),
    "LayerNorm": ("gamma", "beta"),
    "Embedding": ("weight",),
    "OutputProjection": ("weight",),
    "LearnedPositions": ("weight",),
    "Projection": ("weight",),
    "RMSNorm": ("gamma",),
}  # for the layers without sub-layers


class Operation(NamedTuple):
    name: str  # "softmax", or a class: "Linear"
    owner: Any  # the class, or None for a pair of functions
    forward: Any
    backward: Any

    @property
    def is_pair(self) -> bool:
        return self.owner is None


def _pairs() -> list[Operation]:
    rooms = {
        name.removesuffix("_forward"): room
        for room in PAIRS
        for name in vars(room)
        if name.endswith("_forward")
    }
    return [
        Operation(name, None, getattr(room, f"{name}_forward"), getattr(room, f"{name}_backward"))
        for name, room in rooms.items()
    ]


def _classes() -> list[Operation]:
    """The operations of every layer and of the classes that it inherits from, if they have a
    backward or a part of one.
    """
    layers: list[Any] = [
        value
        for room in CLASSES
        for value in vars(room).values()
        if isinstance(value, type) and issubclass(value, Layer)
    ]
    bases = [cls for layer in layers for cls in layer.__mro__ if issubclass(cls, Layer)]
    return [
        Operation(cls.__name__, cls, cls.forward, cls.backward)
        for cls in dict.fromkeys([*layers, *bases])
        if any(name.endswith("backward") for name in vars(cls))
    ]


OPERATIONS = {operation.name: operation for operation in [*_pairs(), *_classes()]}
METHODS = {
    (operation.owner, name): getattr(operation.owner, name)
    for operation in OPERATIONS.values()
    if operation.owner
    for cls in operation.owner.__mro__
    if issubclass(cls, Layer) and cls is not Layer  # those it inherits, too
    for name, method in vars(cls).items()
    if callable(method) and not name.startswith("__")
}


def in_place(operation, direction, function) -> AbstractContextManager:
    """Within the block, `function` runs in place of the operation's "forward" or "backward", or of
    another method of its class.
    """
    target = getattr(operation, direction, None)
    return (
        plugged(target, function)
        if isinstance(target, Replaceable)
        else _set(operation.owner, direction, function)
    )


@contextmanager
def run_with(checked, method, function) -> Iterator[None]:
    """Within the block, `function` runs as the "forward", "backward" or another method of a
    Subject; gradients begin at 0.
    """
    for parameter in checked.parameters.values():
        parameter.grad[...] = 0
    if checked.layer is not None:
        changed = _set(checked.layer, method, MethodType(function, checked.layer))
    else:
        forward, backward = checked.pair
        changed = _set(
            checked, "pair", (function, backward) if method == "forward" else (forward, function)
        )
    with changed:
        yield


@contextmanager
def library_only() -> Iterator[None]:
    """Within the block, only the library's functions and methods run, and none of a reader's."""
    with ExitStack() as stack:
        for entry in TABLE.values():
            if entry.own:
                stack.enter_context(plugged(entry, None))
        for (owner, name), method in METHODS.items():
            if getattr(owner, name) is not method:
                stack.enter_context(_set(owner, name, method))
        yield


@contextmanager
def _set(owner, name, function) -> Iterator[None]:
    before = vars(owner).get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, before) if before else delattr(owner, name)
