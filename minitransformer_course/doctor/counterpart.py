"""The library's block that computes the same as the one under check; mistakes are made in it on purpose.

To ask whether a mistake, made in the right gradient, gives the wrong one, the doctor needs a right backward. If a
block's forward returns the same as a block of the library for the same inputs and parameters, that block is its counterpart.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import permutations
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import Breach, CheckedBlock, flat
from minitransformer.checking.compare import SAME
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from minitransformer_course.doctor.mistakes import textbook_of
from minitransformer_course.doctor.operations import OPERATIONS, PARAMETERS, Operation, in_place, library_only
from minitransformer_course.doctor.recorder import Call, record


class Counterpart:
    """The operation of the library that computes what the case's block computes, at the case's inputs."""

    def __init__(self, operation, case, called=None):
        self.operation, self.case = operation, case
        self._called = called or {}    # {library's name of a parameter: the reader's}, if they differ
        with library_only():
            self._checked = library_block(operation, case, self._called)
            y, _ = self._checked.forward()
        theirs, ours = flat(case.y), flat(y)
        if theirs.shape != ours.shape or not np.abs(theirs - ours).max(initial=0) <= SAME * np.abs(ours).max(initial=0):
            raise Breach("not the same")

    @property
    def upstream(self) -> str:
        """The library's name of the upstream gradient: "dy", or "dloss"."""
        return next(name for name in inspect.signature(self.operation.backward).parameters if name != "self")

    def cache(self) -> Any:
        """The cache of the library's forward."""
        with library_only():
            return self._checked.forward()[1]

    def gradients(self, dy, make=None, cache=None) -> dict[str, Array]:
        """{name: gradient} of the library's backward; `make(stack, layer)` makes a mistake in it for this call.

        Backward gets the cache of the library's forward, unless another one is given.
        """
        with ExitStack() as stack:
            stack.enter_context(library_only())
            if make:
                make(stack, self._checked.layer)
            for parameter in self._checked.parameters.values():
                parameter.grad[...] = 0
            _, made = self._checked.forward()
            gradients = self._checked.gradients(dy, made if cache is None else cache)
        names = self._names()
        named = {names.get(name, name): gradient for name, gradient in gradients.items()}
        return {name: np.array(named[name]) for name in self.case.observed}

    def terms(self, function) -> dict[str, dict[str, Array]]:
        """{array of the case: {term: its part of the right gradient}}, from a function taught in terms.py."""
        with library_only():
            for parameter in self._checked.parameters.values():
                parameter.grad[...] = 0
            _, cache = self._checked.forward()
            layer = self._checked.layer
            terms = function(*([layer] if layer is not None else []), self.case.dy, cache)
        names = self._names()
        return {names.get(name, name): parts for name, parts in terms.items()}

    def _names(self) -> dict[str, str]:
        """{library's name: the case's} of inputs and parameters."""
        return {**dict(zip(self._checked.inputs, self.case.inputs)), **self._called}

    def calls(self) -> list[Call]:
        """The calls of its parts' backwards, as a tree (recorder.Call)."""
        with library_only():
            return record(self._checked, self.case.dy).backward.parts

    def operations(self) -> list[str]:
        """The names of the operations that its backward consists of, itself first."""
        layer = self._checked.layer
        operations, waiting = [self.operation.name], list(self.calls())
        operations += [cls.__name__ for cls in self.operation.owner.__mro__[1:] if cls.__name__ in OPERATIONS] if layer else []
        while waiting:
            call = waiting.pop(0)
            names = [name_of(call.block)] if isinstance(call.block, tuple) else [c.__name__ for c in type(call.block).__mro__]
            operations += [name for name in names if name in OPERATIONS]
            waiting += call.parts
        return list(dict.fromkeys(operations))


def put_in_place(mistake, stack, layer=None) -> None:
    """Make the mistake wherever its operation runs backward; its further parameters are forward's arguments, by name."""
    operation = OPERATIONS[mistake.of]
    own = 1 if operation.owner is None else 2    # (dy, cache) or (self, dy, cache)
    wanted = list(inspect.signature(mistake.wrong).parameters)[own + 1:]
    if not wanted or mistake.method != "backward":
        stack.enter_context(in_place(operation, mistake.method, mistake.wrong))
        return
    made = {}    # {id of a cache: (the cache, forward's arguments)}
    forward = textbook_of(operation.forward)
    signature = inspect.signature(forward)

    def remembering(*values, **options) -> tuple[Array, Any]:
        y, cache = forward(*values, **options)
        bound = signature.bind(*values, **options)
        bound.apply_defaults()
        made[id(cache)] = cache, bound.arguments
        return y, cache

    def wrong(*values) -> Any:
        arguments = made[id(values[-1])][1]
        return mistake.wrong(*values, **{name: arguments[name] for name in wanted})

    stack.enter_context(in_place(operation, "forward", remembering))
    stack.enter_context(in_place(operation, "backward", wrong))


def find_counterpart(case) -> Counterpart | None:
    """The Counterpart of a case's block, proven right by a numeric derivative, or None."""
    every = ((operation, called) for operation in candidates(case.block) for called in _namings(operation, case.block))
    for operation, called in every:
        try:
            with np.errstate(all="ignore"):
                counterpart = Counterpart(operation, case, called)
                right = counterpart.gradients(case.dy)
        except InputError:    # whatever a block of the library says about unsuitable inputs
            continue
        if case.agrees(right) and all(np.isfinite(gradient).all() for gradient in right.values()):
            return counterpart
    return None


def library_block(operation, case, called) -> CheckedBlock:
    """The operation at the case's inputs, with the parameters of the case's block if that is a layer."""
    names = inspect.signature(operation.forward).parameters
    same_names = all(name.partition("[")[0] in names for name in case.arguments)
    arguments = case.arguments if same_names else list(case.arguments.values())
    return CheckedBlock(_with_parameters(operation, case.block, called), arguments, np.float64, case.make_rng)


def _with_parameters(operation, block, called) -> Layer | tuple[Callable, Callable]:
    if not isinstance(block, Layer):
        return operation.forward, operation.backward
    block = block.astype(np.float64)
    if not called:
        library = [cls for cls in type(block).__mro__ if cls.__module__.startswith("minitransformer.")]
        block.__class__ = next((cls for cls in library if issubclass(cls, operation.owner)), operation.owner)
        return _with_defaults(block)
    layer, parameters = operation.owner.__new__(operation.owner), block.parameters()
    for name, theirs in called.items():
        setattr(layer, name, parameters[theirs])
    return _with_defaults(layer)


def _with_defaults(layer) -> Layer:
    """With the attributes that it lacks and its constructor has a default for, such as LayerNorm's epsilon."""
    for name, argument in inspect.signature(type(layer)).parameters.items():
        if argument.default is not argument.empty and not hasattr(layer, name):
            setattr(layer, name, argument.default)
    return layer


def _namings(operation, block) -> Iterator[dict[str, str]]:
    """The possible names of a layer's parameters: those of the library or, if there are few, any others."""
    yield {}
    ours = PARAMETERS.get(operation.name, ())
    theirs = list(block.parameters()) if isinstance(block, Layer) else []
    if ours and len(ours) == len(theirs) and set(ours) != set(theirs) and not block.sublayers():
        yield from (dict(zip(ours, order)) for order in permutations(theirs))


def candidates(block) -> list[Operation]:
    """The operations that a block may be: its own, or all of its kind."""
    if isinstance(block, tuple):
        same = [operation for operation in OPERATIONS.values() if (operation.forward, operation.backward) == block]
        pairs = [operation for operation in OPERATIONS.values() if operation.is_pair]
        return same or sorted(pairs, key=lambda pair: len(inspect.signature(pair.forward).parameters))    # the simplest first
    bases = [OPERATIONS[cls.__name__] for cls in type(block).__mro__ if getattr(OPERATIONS.get(cls.__name__), "owner", None) is cls]
    others = [operation for operation in OPERATIONS.values() if operation.owner]
    return [*bases, *(operation for operation in others if operation not in bases)]


def name_of(block) -> str:
    """The library's name of a block: "softmax", "Linear"; for a reader's own block, its class or function."""
    if isinstance(block, tuple):
        return getattr(block[0], "__name__", "the function").removesuffix("_forward")
    return type(block).__name__


