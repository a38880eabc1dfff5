"""The block under check, which can be run repeatedly, the same way each time."""

import inspect
import os
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.errors import InputError
from minitransformer.layers.layer import Layer


# begins every seed of the checker: who draws x from 0 must not get dy again
PRIVATE = 0x6B0F5C1D93A84E27B1D2F64C7E3905AA


class Breach(InputError):
    """The block does not keep the contract of a layer; the message says how."""


def drawing(*seed) -> np.random.Generator:
    """A generator for these whole numbers that a user's own seed never equals."""
    return np.random.default_rng([PRIVATE, *seed])


class CheckedBlock:
    """A layer, or a pair (forward, backward), with its inputs in one dtype.

    arguments: {name: value} of forward's arguments; inputs: the names of the float arrays among
    them. variables: {name: array} of everything that has a gradient, inputs and parameters; moving
    an array in place moves the block. make_rng() gives each evaluation its generator.
    """

    def __init__(self, block, inputs, dtype, make_rng):
        _check_block(block)
        if isinstance(block, tuple):
            self.layer, self._pair, self.parameters = None, block, {}
        else:
            self.layer = block.astype(dtype)
            self.parameters = self.layer.parameters()
        self._signature = inspect.signature(self._method(0)).replace(
            return_annotation=inspect.Signature.empty
        )
        self.arguments = {
            key: value.astype(dtype) if is_float(value) else value
            for key, value in _by_name(self._signature, inputs).items()
        }
        if missing := [
            name
            for name, p in self._signature.parameters.items()
            if p.default is p.empty
            and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY)
            and name not in self.arguments
            and name != "rng"
        ]:
            raise InputError(f"gradcheck: forward{self._signature} needs {', '.join(missing)}")
        self.dtype, self.takes_rng = dtype, "rng" in self._signature.parameters
        self._make_rng = make_rng
        self.inputs = [key for key, value in self.arguments.items() if is_float(value)]
        self.variables = {
            **{key: self.arguments[key] for key in self.inputs},
            **{key: parameter.data for key, parameter in self.parameters.items()},
        }

    def _method(self, direction) -> Callable:
        """The forward (0) or the backward (1), looked up at each call because it may have been
        replaced.
        """
        return (
            self._pair[direction]
            if self.layer is None
            else (self.layer.forward, self.layer.backward)[direction]
        )

    def forward(self) -> tuple[Array, Any]:
        """y, cache; with a fresh generator if forward takes one."""
        values = (
            {**self.arguments, "rng": self._make_rng()} if self.takes_rng else dict(self.arguments)
        )
        for name, parameter in self._signature.parameters.items():
            given = [value for key, value in self.arguments.items() if key.startswith(f"{name}[")]
            if given and parameter.kind is parameter.VAR_POSITIONAL:
                values[name] = given
            elif parameter.kind is parameter.VAR_KEYWORD and name in values:  # **rng
                values[name] = {name: values[name]}
        bound = inspect.BoundArguments(
            self._signature, values
        )  # it knows which of them are passed by keyword
        returned = _call("forward", self._method(0), *bound.args, **bound.kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise Breach("forward does not return a pair: expected `return y, cache`")
        return returned

    def evaluate(self) -> Array:
        """The numbers of y in one vector; of all outputs if y is a tuple."""
        return flat(self.forward()[0])

    def moved(self, directions, step) -> Array:
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

    def upstream(self, y, rng) -> Array | tuple:
        """A random upstream gradient for y: an array, or a tuple of arrays. A constant would hide a
        wrong LayerNorm.
        """
        if isinstance(y, tuple):
            return tuple(self.upstream(one, rng) for one in y)
        return np.asarray(rng.standard_normal(np.shape(y)), self.dtype)

    def gradients(self, dy, cache) -> dict[str, Array]:
        """{name: the gradient from backward}, for every variable."""
        given = tuple(one.copy() for one in dy) if isinstance(dy, tuple) else np.array(dy)
        returned = _call("backward", self._method(1), given, cache)
        if not np.array_equal(flat(given), flat(dy), equal_nan=True):
            raise Breach(
                "backward changes dy in place, but dy belongs to the caller; copy it first"
            )
        if isinstance(returned, list):
            raise Breach(
                "backward returns a list, expected a tuple of gradients, or one array if there is one input"
            )
        returned = (
            returned if isinstance(returned, tuple) else () if returned is None else (returned,)
        )
        if len(returned) != len(self.inputs):
            raise Breach(
                f"backward returned {len(returned)} gradients, expected "
                f"{len(self.inputs)}: one each for {', '.join(self.inputs) or 'no input'}"
            )
        gradients = {
            **dict(zip(self.inputs, returned)),
            **{key: parameter.grad for key, parameter in self.parameters.items()},
        }
        for key, gradient in gradients.items():
            got, expected = np.shape(gradient), self.variables[key].shape
            if got != expected:
                raise Breach(
                    _wrong_shape(
                        key, got, expected, {k: v.shape for k, v in self.variables.items()}
                    )
                )
        return gradients


def _check_block(block) -> None:
    """Raise InputError unless `block` is a layer, or a pair of functions."""
    if isinstance(block, Layer) or (
        isinstance(block, tuple) and len(block) == 2 and all(map(callable, block))
    ):
        return
    given = (
        f"the class {block.__name__}" if isinstance(block, type) else f"a {type(block).__name__}"
    )
    hint = f": an instance, such as {block.__name__}(...)" if isinstance(block, type) else ""
    raise InputError(
        f"gradcheck: the block is {given}, expected a layer, or a pair of functions (forward, backward){hint}"
    )


def flat(y) -> Array:
    """The numbers of an array, or of a tuple of arrays, in one vector."""
    return (
        np.concatenate([np.ravel(one) for one in y])
        if isinstance(y, tuple)
        else np.array(y).ravel()
    )


def is_float(value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def _call(what, function, *arguments, **keywords) -> Any:
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
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = str(error).partition("\n")[0]
        raise Breach(
            f"{what} raises {type(error).__name__}: {message} "
            f"({os.path.basename(last.filename)}, line {last.lineno})"
        ) from error


def _wrong_shape(key, got, expected, shapes) -> str:
    sentence = f"the gradient for {key} has shape {got}, expected {expected}"
    others = [name for name, shape in shapes.items() if shape == got]
    if len(got) > len(expected):
        return f"{sentence}; sum it over the axes along which it was broadcast"
    if got == expected[::-1] and got != expected:
        return f"{sentence}; it is transposed"
    return (
        f"{sentence}; {others[0]} has that shape: are they returned in another order?"
        if others
        else sentence
    )


def _by_name(signature, inputs) -> dict[str, Any]:
    """{argument's name: value} in forward's order, which is that of backward's gradients; those of
    *others are others[0], ...
    """
    names = []
    for name, parameter in signature.parameters.items():
        names += (
            [f"{name}[{i}]" for i in range(len(inputs))]
            if parameter.kind is parameter.VAR_POSITIONAL
            else [name]
        )
    if not isinstance(inputs, Mapping):
        given = [name for name in names if name != "rng"]
        if len(inputs) > len(given):
            raise InputError(f"gradcheck: {len(inputs)} inputs for forward{signature}")
        inputs = dict(zip(given, inputs))
    if unknown := inputs.keys() - names:
        raise InputError(
            f"gradcheck: forward{signature} has no argument {', '.join(sorted(unknown))}"
        )
    return {name: inputs[name] for name in names if name in inputs}
