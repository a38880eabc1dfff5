"""The subject of a check: a block with its inputs, which runs the same way each time."""

import copy
import os
import traceback
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.backend import Array
from minitransformer.checking.arguments import GENERATORS, Arguments, check_real, is_float
from minitransformer.errors import InputError, counted
from minitransformer.layers.layer import Layer

# begins every seed of the checker: who draws x from 0 must not get dy again
PRIVATE = 0x6B0F5C1D93A84E27B1D2F64C7E3905AA
# an error inside NumPy is shown at the line that called it
NOT_THE_READERS = np.__path__[0], "<__array_function__ internals>"
Block = Layer | tuple[Callable[..., Any], Callable[..., Any]]  # the pair is (forward, backward)


class Breach(InputError):
    """The block does not keep the contract of a layer; the message says how."""


def drawing(*seed: int) -> np.random.Generator:
    """A generator for these whole numbers that a user's own seed never equals."""
    return np.random.default_rng([PRIVATE, *seed])


class Subject:
    """A layer, or a pair (forward, backward), with its inputs in one dtype; copies of both.

    arguments: {name: value} of forward's arguments; those of *others are others[0], ..., and the
    arrays of a tuple `state` are state[0], ... inputs: the names of the float arrays among them.
    variables: {name: array} of everything that has a gradient, inputs and parameters; moving an
    array in place moves the block. make_rng() gives each evaluation its generator; without it, one
    is made of `seed`. Raises InputError for a block or inputs that cannot be checked.
    """

    def __init__(
        self,
        block: Block,
        inputs: Any,
        name: str = "",
        seed: int = 0,
        make_rng: Callable[[], Any] | None = None,
        dtype: DTypeLike = np.float64,
    ):
        _check_block(block)
        self.name, self.seed = name or _name(block), seed
        self.make_rng = make_rng or partial(drawing, seed)
        self.pair = block if isinstance(block, tuple) else None
        forward = block[0] if isinstance(block, tuple) else getattr(block, "forward", None)
        if forward is None:
            raise InputError(f"gradcheck: {self.name} has no forward")
        self._given = Arguments(forward, inputs)
        self._take(block, self._given.named, dtype)

    def _take(self, block: Block, arguments: dict[str, Any], dtype: DTypeLike) -> None:
        vars(self).pop("units", None)
        self.dtype = dtype
        self.layer: Any = None if isinstance(block, tuple) else block.astype(dtype)
        self.parameters = {
            f"self.{name}" if name in arguments else name: parameter
            for name, parameter in (self.layer.parameters() if self.layer else {}).items()
        }
        for parameter in self.parameters.values():
            parameter.data = np.asarray(parameter.data)  # a single number would not move in place
        self.arguments = {
            name: value.astype(dtype) if is_float(value) else value
            for name, value in arguments.items()
        }
        self.inputs = [name for name, value in self.arguments.items() if is_float(value)]
        self.variables = {
            **{name: self.arguments[name] for name in self.inputs},
            **{name: parameter.data for name, parameter in self.parameters.items()},
        }

    @property
    def block(self) -> Block:
        return self.pair or self.layer

    @property
    def takes_rng(self) -> bool:
        return "rng" in self._given.signature.parameters

    @cached_property
    def units(self) -> dict[str, float]:
        """{name: the typical size of its numbers}; 1 for an array of zeros."""
        return {name: _typical(array) for name, array in self.variables.items()}

    def astype(self, dtype: DTypeLike) -> "Subject":
        """A copy in another dtype, or a fresh one in the same."""
        other = copy.copy(self)
        other._take(self.block, self.arguments, dtype)
        return other

    def at(self, values: Mapping[str, Any]) -> "Subject":
        """A copy with other {name: value} of some arguments and parameters."""
        other = copy.copy(self)
        arguments = {name: values.get(name, value) for name, value in self.arguments.items()}
        other._take(self.block, arguments, self.dtype)
        for name in values.keys() & other.parameters.keys():
            other.parameters[name].data[...] = values[name]
        return other

    def method(self, direction: int) -> Callable:
        """The forward (0) or the backward (1), looked up at each call because it may have been
        replaced.
        """
        if self.pair:
            return self.pair[direction]
        return (self.layer.forward, self.layer.backward)[direction]

    def forward(self) -> tuple[Any, Any]:
        """y, cache; with a fresh generator if forward takes one."""
        values = {
            name: copy.deepcopy(value) if isinstance(value, GENERATORS) else value
            for name, value in self.arguments.items()
        }
        if self.takes_rng and "rng" not in values:
            values["rng"] = self.make_rng()
        bound = self._given.bound(values)
        returned = _call("forward", self.method(0), *bound.args, **bound.kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise Breach("forward does not return a pair: expected `return y, cache`")
        for one in leaves(returned[0]):
            if isinstance(one, (list, dict)):
                raise Breach(
                    f"forward returns a {type(one).__name__} as y, expected an array or a tuple of "
                    "arrays"
                )
        return returned

    def evaluate(self) -> Array:
        """The numbers of y in one vector; of all outputs if y is a tuple."""
        return flat(self.forward()[0])

    def moved(self, directions: dict[str, Array], step: complex) -> Array:
        """`evaluate()` with each array of {name: direction} moved by step * direction; the arrays
        are then restored.
        """
        saved = {name: self.variables[name].copy() for name in directions}
        try:
            for name, v in directions.items():
                self.variables[name][...] = saved[name] + step * v
            return self.evaluate()
        finally:
            for name, value in saved.items():
                self.variables[name][...] = value

    def upstream(self, y: Any, rng: np.random.Generator) -> Any:
        """A random upstream gradient for y: an array, or a tuple of arrays. A constant would hide a
        wrong LayerNorm.
        """
        return each(lambda one: np.asarray(rng.standard_normal(np.shape(one)), self.dtype), y)

    def gradients(self, dy: Any, cache: Any) -> dict[str, Array]:
        """{name: the gradient from backward}, for every variable."""
        given = each(np.array, dy)
        returned = _call("backward", self.method(1), given, cache)
        if not np.array_equal(flat(given), flat(dy), equal_nan=True):
            raise Breach(
                "backward changes dy in place, but dy belongs to the caller; copy it first"
            )
        if isinstance(returned, list):
            raise Breach(
                "backward returns a list, expected a tuple of gradients, or one array if there is "
                "one input"
            )
        found = [] if returned is None else leaves(returned)
        if len(found) != len(self.inputs):
            raise Breach(
                f"backward returned {counted(len(found), 'gradient')}, expected "
                f"{len(self.inputs)}: one each for {', '.join(self.inputs) or 'no input'}"
            )
        gradients = {
            **dict(zip(self.inputs, found)),
            **{name: parameter.grad for name, parameter in self.parameters.items()},
        }
        for name, gradient in gradients.items():
            got, expected = np.shape(gradient), self.variables[name].shape
            if gradient is None:
                raise Breach(f"backward returns None for {name}, expected its gradient")
            if not isinstance(got, tuple):  # NumPy itself has a shape, which is a function
                raise Breach(f"the gradient for {name} is not an array")
            if got != expected:
                shapes = {other: array.shape for other, array in self.variables.items()}
                raise Breach(_wrong_shape(name, got, expected, shapes))
        return gradients

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = np.zeros_like(parameter.data)


def each(function: Callable[[Any], Any], y: Any) -> Any:
    """function(array) for each array of a tuple at any depth, or for the only one."""
    if not isinstance(y, tuple):
        return function(y)
    made = [each(function, one) for one in y]
    return type(y)(*made) if hasattr(y, "_fields") else tuple(made)


def leaves(y: Any) -> list:
    """The arrays of a tuple at any depth, or the only one."""
    return [leaf for one in y for leaf in leaves(one)] if isinstance(y, tuple) else [y]


def flat(y: Any) -> Array:
    """The numbers of an array, or of a tuple of arrays, in one new vector."""
    return np.concatenate([np.ravel(one) for one in leaves(y)]) if leaves(y) else np.zeros(0)


def _typical(array: Array) -> float:
    """The root of the mean square of the numbers that are neither 0 nor infinite; 1 if there are
    none.
    """
    numbers = np.abs(array[np.isfinite(array) & (array != 0)])
    largest = numbers.max(initial=0)
    return float(largest * np.sqrt(np.mean((numbers / largest) ** 2))) if numbers.size else 1.0


def _name(block: Block) -> str:
    function = block[0] if isinstance(block, tuple) else type(block)
    return getattr(function, "__name__", "block").removesuffix("_forward")


def _check_block(block: Any) -> None:
    """Raise InputError unless `block` is a layer with real parameters, or a pair of functions."""
    is_pair = isinstance(block, tuple) and len(block) == 2 and all(map(callable, block))
    if not (is_pair or isinstance(block, Layer)):
        given = f"a {type(block).__name__}"
        hint = ""
        if isinstance(block, type):
            given = f"the class {block.__name__}"
            hint = f": an instance, such as {block.__name__}(...)"
        raise InputError(
            f"gradcheck: the block is {given}, expected a layer, or a pair of functions (forward, "
            f"backward){hint}"
        )
    for name, parameter in {} if is_pair else block.parameters().items():
        check_real(name, parameter.data)


def _call(what: str, function: Callable, *arguments: Any, **keywords: Any) -> Any:
    """function(...); an error in the learner's own code becomes one sentence that says where it
    occurred.
    """
    try:
        return function(*arguments, **keywords)
    except Breach:
        raise
    except InputError as error:
        if what == "forward":  # the inputs do not belong to the block
            raise
        raise Breach(f"backward raises an error: {error}") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [one for one in frames if not one.filename.startswith(NOT_THE_READERS)]
        last = (own or frames)[-1]
        message = str(error).partition("\n")[0]
        raise Breach(
            f"{what} raises {type(error).__name__}: {message} "
            f"({os.path.basename(last.filename)}, line {last.lineno})"
        ) from error


def _wrong_shape(name: str, got: tuple, expected: tuple, shapes: dict[str, tuple]) -> str:
    sentence = f"the gradient for {name} has shape {got}, expected {expected}"
    others = [other for other, shape in shapes.items() if shape == got]
    if len(got) > len(expected):
        return f"{sentence}; sum it over the axes along which it was broadcast"
    if got == expected[::-1]:
        return f"{sentence}; it is transposed"
    if others:
        return f"{sentence}; {others[0]} has that shape: are they returned in another order?"
    return sentence
