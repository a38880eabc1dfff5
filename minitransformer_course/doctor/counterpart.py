"""The library's block that computes the same as the one under check; mistakes are made in it on
purpose.

To ask whether a mistake, made in the right gradient, gives the wrong one, the doctor needs a right
backward. If a block's forward returns the same as a block of the library for the same inputs and
parameters, that block is its counterpart.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import permutations
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME
from minitransformer.checking.contract import arrays_in
from minitransformer.checking.subject import Breach, Subject, flat
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from minitransformer_course.doctor.mistakes import method_of
from minitransformer_course.diagnosis.operations import (
    OPERATIONS,
    PARAMETERS,
    Operation,
    in_place,
    library_only,
    run_with,
)
from minitransformer_course.doctor.recorder import Call, record


class Counterpart:
    """The operation of the library that computes what the case's block computes, at the case's
    inputs.
    """

    def __init__(self, operation, case, called=None):
        self.operation, self.case = operation, case
        self._called = called or {}  # {library's name of a parameter: the reader's}, if they differ
        with library_only():
            self._checked = library_block(operation, case, self._called)
            y, _ = self._checked.forward()
        theirs, ours = flat(case.y), flat(y)
        if theirs.shape != ours.shape or not np.abs(theirs - ours).max(initial=0) <= SAME * np.abs(
            ours
        ).max(initial=0):
            raise Breach("not the same")

    def cache(self) -> Any:
        """The cache of the library's forward."""
        with library_only():
            return self._checked.forward()[1]

    def gradients(self, dy, within=lambda layer: nullcontext(), cache=None) -> dict[str, Array]:
        """{name: gradient} of the library's backward, run within a context that makes a mistake in
        the layer.

        Backward gets the cache of the library's forward, unless another one is given.
        """
        with library_only(), within(self._checked.layer):
            for parameter in self._checked.parameters.values():
                parameter.grad[...] = 0
            _, made = self._checked.forward()
            gradients = self._checked.gradients(dy, made if cache is None else cache)
        return self._in_the_cases_names(gradients)

    def _in_the_cases_names(self, gradients) -> dict[str, Array]:
        names = {**dict(zip(self._checked.inputs, self.case.inputs)), **self._called}
        named = {names.get(name, name): gradient for name, gradient in gradients.items()}
        return {name: np.array(named[name]) for name in self.case.observed}

    def gradients_with(self, mistake) -> dict[str, Array]:
        """The gradients with a mistake in the library's backward or in what it calls. Within
        library_only() it is faster.
        """
        operation, checked = OPERATIONS[mistake.of], self._checked
        if operation is not self.operation:
            return self.gradients(
                self.case.dy, lambda layer: in_place(operation, mistake.method, mistake.wrong)
            )
        own = len(
            inspect.signature(method_of(mistake.of, "backward")[1]).parameters
        )  # what follows are forward's arguments
        more = {
            name: checked.arguments[name]
            for name in list(inspect.signature(mistake.wrong).parameters)[own:]
        }
        if mistake.rank and not all(isinstance(value, np.ndarray) for value in more.values()):
            raise ValueError("a number or a condition is no array's gradient")
        with run_with(
            checked, mistake.method, partial(mistake.wrong, **more) if more else mistake.wrong
        ):
            return self._in_the_cases_names(checked.gradients(self.case.dy, self._kept))

    @cached_property
    def _kept(self) -> Any:
        """The cache, for mistakes: one that writes into it fails."""
        cache = self.cache()
        for _name, array, _copy in arrays_in(cache):
            array.flags.writeable = False
        return cache

    def calls(self) -> list[Call]:
        """The calls of its parts' backwards, as a tree (recorder.Call)."""
        with library_only():
            return record(self._checked, self.case.dy).backward.parts

    def operations(self) -> list[str]:
        """The names of the operations that its backward consists of, itself first."""
        layer = self._checked.layer
        operations, waiting = [self.operation.name], list(self.calls())
        operations += (
            [cls.__name__ for cls in self.operation.owner.__mro__[1:] if cls.__name__ in OPERATIONS]
            if layer
            else []
        )
        while waiting:
            call = waiting.pop(0)
            names = (
                [name_of(call.block)]
                if isinstance(call.block, tuple)
                else [c.__name__ for c in type(call.block).__mro__]
            )
            operations += [name for name in names if name in OPERATIONS]
            waiting += call.parts
        return list(dict.fromkeys(operations))


def find_counterpart(case) -> Counterpart | None:
    """The Counterpart of a case's block, proven right by a numeric derivative, or None."""
    every = (
        (operation, called)
        for operation in candidates(case.block)
        for called in _namings(operation, case.block)
    )
    for operation, called in every:
        try:
            with np.errstate(all="ignore"):
                counterpart = Counterpart(operation, case, called)
                right = counterpart.gradients(case.dy)
        except InputError:  # whatever a block of the library says about unsuitable inputs
            continue
        if case.agrees(right) and all(np.isfinite(gradient).all() for gradient in right.values()):
            return counterpart
    return None


def library_block(operation, case, called) -> Subject:
    """The operation at the case's inputs, with the parameters of the case's block if that is a
    layer.
    """
    names = inspect.signature(operation.forward).parameters
    same_names = all(name.partition("[")[0] in names for name in case.arguments)
    arguments = case.arguments if same_names else list(case.arguments.values())
    block = _with_parameters(operation, case.block, called)
    return Subject(block, arguments, make_rng=case.make_rng)


def _with_parameters(operation, block, called) -> Layer | tuple[Callable, Callable]:
    if not isinstance(block, Layer):
        return operation.forward, operation.backward
    block = block.astype(np.float64)
    if not called:
        library = [
            cls for cls in type(block).__mro__ if cls.__module__.startswith("minitransformer.")
        ]
        block.__class__ = next(
            (cls for cls in library if issubclass(cls, operation.owner)), operation.owner
        )
        return _with_defaults(block)
    layer, parameters = operation.owner.__new__(operation.owner), block.parameters()
    for name, theirs in called.items():
        setattr(layer, name, parameters[theirs])
    return _with_defaults(layer)


def _with_defaults(layer) -> Layer:
    """With the attributes that it lacks and its constructor has a default for, such as LayerNorm's
    epsilon.
    """
    for name, argument in inspect.signature(type(layer)).parameters.items():
        if argument.default is not argument.empty and not hasattr(layer, name):
            setattr(layer, name, argument.default)
    return layer


def _namings(operation, block) -> Iterator[dict[str, str]]:
    """The possible names of a layer's parameters: those of the library or, if there are few, any
    others.
    """
    yield {}
    ours = PARAMETERS.get(operation.name, ())
    theirs = list(block.parameters()) if isinstance(block, Layer) else []
    if ours and len(ours) == len(theirs) and set(ours) != set(theirs) and not block.sublayers():
        yield from (dict(zip(ours, order)) for order in permutations(theirs))


def candidates(block) -> list[Operation]:
    """The operations that a block may be: its own, or all of its kind."""
    if isinstance(block, tuple):
        same = [
            operation
            for operation in OPERATIONS.values()
            if (operation.forward, operation.backward) == block
        ]
        pairs = [operation for operation in OPERATIONS.values() if operation.is_pair]
        return same or sorted(
            pairs, key=lambda pair: len(inspect.signature(pair.forward).parameters)
        )  # the simplest first
    bases = [
        OPERATIONS[cls.__name__]
        for cls in type(block).__mro__
        if getattr(OPERATIONS.get(cls.__name__), "owner", None) is cls
    ]
    others = [operation for operation in OPERATIONS.values() if operation.owner]
    return [*bases, *(operation for operation in others if operation not in bases)]


def name_of(block) -> str:
    """The library's name of a block: "softmax", "Linear"; for a reader's own block, its class or
    function.
    """
    if isinstance(block, tuple):
        return getattr(block[0], "__name__", "the function").removesuffix("_forward")
    return type(block).__name__
