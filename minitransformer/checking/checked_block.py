"""What is checked: a block that can be run again and again, the same way each time."""

import inspect
from collections.abc import Mapping

import numpy as np

from minitransformer.errors import InputError


class CheckedBlock:
    """A layer, or a pair (forward, backward), with its inputs in one dtype.

    arguments: {name: value} of forward's arguments; inputs: the names of the float arrays among them.
    variables: {name: array} of everything that has a gradient, inputs and parameters; moving an
    array in place moves the block. make_rng() gives each evaluation its generator.
    """

    def __init__(self, block, inputs, dtype, make_rng):
        if isinstance(block, tuple):
            self._forward, self._backward = block
            self.parameters = {}
        else:
            block = block.astype(dtype)
            self._forward, self._backward = block.forward, block.backward
            self.parameters = block.parameters()
        signature = inspect.signature(self._forward)
        named = _in_order(signature, inputs) if isinstance(inputs, Mapping) else _named(signature, inputs)
        self.arguments = {key: value.astype(dtype) if _is_float(value) else value
                           for key, value in named.items()}
        self._by_keyword = isinstance(inputs, Mapping)
        self.takes_rng = "rng" in signature.parameters
        self._make_rng = make_rng
        self.inputs = [key for key, value in self.arguments.items() if _is_float(value)]
        self.variables = {**{key: self.arguments[key] for key in self.inputs},
                          **{key: parameter.data for key, parameter in self.parameters.items()}}

    def forward(self):
        """y, cache; with a fresh generator where forward takes one."""
        rng = {"rng": self._make_rng()} if self.takes_rng else {}
        if self._by_keyword:
            return self._forward(**self.arguments, **rng)
        return self._forward(*self.arguments.values(), **rng)

    def evaluate(self):
        return self.forward()[0]

    def gradients(self, dy, cache):
        """{name: what backward says}, for every variable."""
        given = dy.copy()
        returned = self._backward(given, cache)
        if not np.array_equal(given, dy):
            raise InputError("gradcheck: backward changed dy in place; it belongs to the caller")
        returned = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
        if len(returned) != len(self.inputs):
            raise InputError(f"gradcheck: backward returned {len(returned)} gradients, expected "
                             f"{len(self.inputs)}: one each for {', '.join(self.inputs) or 'no input'}")
        gradients = {**dict(zip(self.inputs, returned)),
                     **{key: parameter.grad for key, parameter in self.parameters.items()}}
        for key, gradient in gradients.items():
            got, expected = np.shape(gradient), self.variables[key].shape
            if got != expected:
                hint = "; sum it over the axes along which it was broadcast" if len(got) > len(expected) else ""
                raise InputError(f"gradcheck: the gradient for {key} has shape {got}, expected {expected}{hint}")
        return gradients


def _in_order(signature, inputs):
    """`inputs` in the order of forward's arguments, which is the order of backward's gradients."""
    unknown = inputs.keys() - signature.parameters.keys()
    if unknown:
        raise InputError(f"gradcheck: forward{signature} has no argument {', '.join(sorted(unknown))}")
    return {name: inputs[name] for name in signature.parameters if name in inputs}


def _named(signature, inputs):
    """{argument's name: value} for positional inputs; those of *others are others[0], others[1], ..."""
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(len(inputs) - len(names))]
        elif parameter.name != "rng":
            names.append(parameter.name)
    if len(inputs) > len(names):
        raise InputError(f"gradcheck: {len(inputs)} inputs for forward{signature}")
    return dict(zip(names, inputs))


def _is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"
