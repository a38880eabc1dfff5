"""Record every call of a part's forward and backward while a block runs, with what it actually
received.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minitransformer.checking.compare import is_same
from minitransformer.checking.subject import Subject
from minitransformer.layers import Layer
from minitransformer.layers.hooks import hooked
from minitransformer_course.diagnosis.operations import OPERATIONS, in_place


class Call(NamedTuple):
    """One call of a part's forward or backward."""

    # the layer's, as in the names of its parameters; a function's is its layer's path and its name
    path: str
    block: Any  # the layer, or the pair of functions
    arguments: dict  # forward's, {name: value}
    make_rng: Any  # makes the generator that forward received, in the same state
    dy: Any  # what backward received; None for a call of forward
    parts: list  # the calls inside this one, in order
    returned: list  # the arrays that backward returned

    @property
    def subject(self) -> Subject:
        """The part alone, with what it received. Raises InputError if it cannot be checked."""
        return Subject(self.block, self.arguments, make_rng=self.make_rng)


class Recorder:
    """After a forward and a backward within `recording`, `backward.parts` are the calls of
    backward, as a tree.

    A backward belongs to the forward that made its cache. One that is given another part's cache
    cannot be checked: it is left out, and the mistake is in its caller.
    """

    def __init__(self):
        self.forward = Call("", None, {}, None, None, [], [])
        self.backward = Call("", None, {}, None, None, [], [])
        self._open = {"forward": [self.forward], "backward": [self.backward]}
        # [(path, block, sentence)] of arrays changed in place, the innermost first
        self.changed = []
        self.mixed_up = []  # [(path of a backward, path of the forward whose cache it received)]
        self._made = {}  # {id of a cache: [(cache, Call of a forward that returned it)]}
        self._layers = [""]
        self._bases = {}  # {id of a layer: the layer as its base class}

    @contextmanager
    def recording(self, layer=None) -> "Iterator[Recorder]":
        """Within the block, record the parts of `layer` and the functions it calls."""
        with ExitStack() as stack:
            for operation in OPERATIONS.values():
                if operation.is_pair:
                    self._record_function(stack, operation)
                elif (
                    operation.name == "MultiHeadAttention"
                ):  # which self-attention and cross-attention call as super()
                    self._record_method(stack, operation)
            if layer is not None:
                stack.enter_context(hooked(layer, self._around_layer))
            yield self

    def _record_function(self, stack, operation) -> None:
        pair = operation.forward, operation.backward
        for direction, function in zip(("forward", "backward"), pair):
            runs = partial(
                self._around, operation.name, pair, direction, function.own or function.textbook
            )
            stack.enter_context(in_place(operation, direction, runs))

    def _record_method(self, stack, operation) -> None:
        for direction in ("forward", "backward"):
            entry = getattr(operation, direction)
            method = entry.own or entry.textbook

            def runs(layer, *values, _direction=direction, _method=method, **options) -> Any:
                if type(layer) is operation.owner:
                    return _method(layer, *values, **options)  # already recorded as a layer
                seen = self._as_its_base(layer, operation.owner)
                return self._around(
                    "", seen, _direction, partial(_method, layer), *values, **options
                )

            stack.enter_context(in_place(operation, direction, runs))

    def _as_its_base(self, layer, base) -> Layer:
        """The layer with the methods of a class that it inherits from."""
        if id(layer) not in self._bases:
            seen = self._bases[id(layer)] = copy.copy(layer)
            seen.__class__ = base
            for name in {"forward", "backward"} & vars(seen).keys():  # the methods that are hooked
                delattr(seen, name)
        return self._bases[id(layer)]

    def _around_layer(self, path, direction, method, *values, **options) -> Any:
        self._layers.append(path)
        try:
            return self._around("", method.__self__, direction, method, *values, **options)
        finally:
            self._layers.pop()

    def _around(self, name, block, direction, function, *values, **options) -> Any:
        path = ".".join(part for part in (self._layers[-1], name) if part)
        call = (self._forward_call if direction == "forward" else self._backward_call)(
            path, block, values, options
        )
        if call is None:
            return function(*values, **options)
        self._open[direction][-1].parts.append(call)
        self._open[direction].append(call)
        try:
            returned = function(*values, **options)
        finally:
            self._open[direction].pop()
        self._look_for_changes(direction, call, values, options)
        if direction == "forward" and isinstance(returned, tuple) and len(returned) == 2:
            self._made.setdefault(id(returned[1]), []).append((returned[1], call))
        elif direction == "backward":
            call.returned.extend(
                one
                for one in (returned if isinstance(returned, tuple) else [returned])
                if one is not None
            )
        return returned

    def _look_for_changes(self, direction, call, values, options) -> None:
        before, now = call.arguments, _arguments(call.block, values, options) or {}
        if direction == "backward":
            before, now = _flattened("dy", call.dy), _flattened("dy", values[0])
        for name, value in before.items():
            if isinstance(now[name], np.ndarray) and not is_same(
                now[name], value
            ):  # dy may be a plain number
                what = "dy" if direction == "backward" else f"its input {name}"
                self.changed.append(
                    (
                        call.path,
                        call.block,
                        f"{direction} changes {what} in place, but it belongs to the caller, "
                        "which may need it again: work on a copy",
                    )
                )

    def _forward_call(self, path, block, values, options) -> Call | None:
        arguments = _arguments(block, values, options)
        if arguments is None:
            return None
        rng = copy.deepcopy(arguments.pop("rng", None))
        copies = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }
        return Call(path, block, copies, partial(copy.deepcopy, rng), None, [], [])

    def _backward_call(self, path, block, values, options) -> Call | None:
        if options or len(values) != 2:
            return None
        makers = [call for _, call in self._made.get(id(values[1]), [])]
        own = [call for call in makers if _key(call.block) == _key(block)]
        if not own:
            layers = [
                call.path
                for call in makers
                if isinstance(block, Layer) and isinstance(call.block, Layer)
            ]
            self.mixed_up += [(path, other) for other in layers[:1]]
            return None
        dy = (
            tuple(map(np.array, values[0])) if isinstance(values[0], tuple) else np.array(values[0])
        )
        return own[-1]._replace(path=path, dy=dy, parts=[], returned=[])


def record(checked, dy) -> Recorder:
    """The calls of a Subject's forward, and of its backward for the upstream gradient dy."""
    recorder = Recorder()
    with recorder.recording(checked.layer):
        _, cache = checked.forward()
        checked.gradients(dy, cache)
    return recorder


def innermost_first(calls) -> Iterator[Call]:
    """The calls and all those inside them, which come first."""
    for call in calls:
        yield from innermost_first(call.parts)
        yield call


def _key(block) -> int | tuple[Callable, Callable]:
    return id(block) if isinstance(block, Layer) else block


def _arguments(block, values, options) -> dict[str, Any] | None:
    """forward's arguments by name, and the arrays of a tuple each by a name of its own; None if
    forward does not take them.
    """
    function, values = (
        (block[0], values) if isinstance(block, tuple) else (type(block).forward, (block, *values))
    )
    try:
        bound = inspect.signature(function).bind(*values, **options).arguments
    except TypeError:
        return None
    if not isinstance(block, tuple):
        del bound[next(iter(bound))]  # the layer itself: `self`, or whatever its author calls it
    return {
        key: one for name, value in bound.items() for key, one in _flattened(name, value).items()
    }


def _flattened(name, value) -> dict[str, Any]:
    """{name: value}; a tuple that contains arrays becomes {name[0]: its first, ...}."""
    if isinstance(value, tuple) and any(isinstance(one, np.ndarray) for one in value):
        return {f"{name}[{i}]": one for i, one in enumerate(value)}
    return {name: value}
