"""What a user gives to the gradient check, as the arguments of a forward by their names."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitransformer.errors import InputError, counted

GENERATORS = np.random.Generator, np.random.RandomState


class Arguments:
    """The arguments of one call of `forward`.

    named: {name: value} in the order of its parameters, which is that of backward's gradients;
    those of *others are others[0], ..., and the arrays of a tuple `state` are state[0], ... Raises
    InputError for inputs that are not forward's.
    """

    def __init__(self, forward: Callable, inputs: Any):
        self.signature = _without_types(inspect.signature(forward))
        given = _by_name(self.signature, inputs)
        self._packs = {
            name: value for name, value in given.items() if isinstance(value, (tuple, list))
        }
        self.named = _unpacked(self.signature, given)

    def bound(self, values: dict[str, Any]) -> inspect.BoundArguments:
        """Other values of these names, as forward takes them: which of them by position."""
        taken = dict(values)
        for name, parameter in self.signature.parameters.items():
            parts = [value for key, value in values.items() if key.startswith(f"{name}[")]
            if parts:
                taken[name] = _packed(self._packs.get(name), parts)
            elif parameter.kind is parameter.VAR_KEYWORD and name in values:  # **rng
                taken[name] = {name: values[name]}
        return inspect.BoundArguments(self.signature, taken)


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def _without_types(signature: inspect.Signature) -> inspect.Signature:
    """As messages show it."""
    empty = inspect.Signature.empty
    named = [one.replace(annotation=empty) for one in signature.parameters.values()]
    return signature.replace(parameters=named, return_annotation=empty)


def check_real(name: str, array: Any) -> None:
    if array.dtype.kind == "c":
        raise InputError(
            f"gradcheck: {name} is {array.dtype}, expected real numbers: give its real and its "
            "imaginary part as two arrays"
        )


def _by_name(signature: inspect.Signature, inputs: Any) -> dict[str, Any]:
    """{argument's name: value} in forward's order, which is that of backward's gradients; *others
    is a tuple.
    """
    if isinstance(inputs, np.ndarray):
        inputs = [inputs]
    if not isinstance(inputs, (Sequence, Mapping)) or isinstance(inputs, str):
        raise InputError(
            f"gradcheck: the inputs are a {type(inputs).__name__}, expected a list of forward's "
            "arguments, such as [x], or {name: value}"
        )
    named = dict(inputs) if isinstance(inputs, Mapping) else _in_order(signature, list(inputs))
    bases = {name: name.partition("[")[0] for name in named}
    order = list(signature.parameters)
    if unknown := [name for name, base in bases.items() if base not in order]:
        raise InputError(
            f"gradcheck: forward{signature} has no argument {', '.join(sorted(unknown))}"
        )
    missing = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in bases.values()
        and name != "rng"
    ]
    if missing:
        raise InputError(f"gradcheck: forward{signature} needs {', '.join(missing)}")
    return {name: named[name] for name in sorted(named, key=lambda key: order.index(bases[key]))}


def _in_order(signature: inspect.Signature, inputs: list) -> dict[str, Any]:
    """{argument's name: value} of a sequence, in which a generator is forward's rng, wherever it
    stands.
    """
    named: dict[str, Any] = {}
    parameters = signature.parameters.items()
    rest = next((name for name, one in parameters if one.kind is one.VAR_POSITIONAL), None)
    names = [name for name, _ in parameters if name != rest]
    if "rng" in names:
        names = [name for name in names if name != "rng"]
        given = [value for value in inputs if isinstance(value, GENERATORS)]
        if len(given) == 1:
            named["rng"] = given[0]
            inputs = [value for value in inputs if value is not given[0]]
    if len(inputs) > len(names) and not rest:
        raise InputError(f"gradcheck: {counted(len(inputs), 'input')} for forward{signature}")
    named |= dict(zip(names, inputs))
    if rest and len(inputs) > len(names):
        named[rest] = tuple(inputs[len(names) :])
    return named


def _unpacked(signature: inspect.Signature, named: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the items of a tuple or list of arrays each by a name of its own."""
    arguments = {}
    for name, value in named.items():
        several = isinstance(value, (tuple, list))
        kind = signature.parameters[name.partition("[")[0]].kind
        rest = kind is inspect.Parameter.VAR_POSITIONAL
        if several and (rest or any(is_float(one) for one in value)):
            arguments |= {f"{name}[{i}]": one for i, one in enumerate(value)}
        else:
            arguments[name] = value
    for name, value in arguments.items():
        if is_float(value):
            check_real(name, value)
        if isinstance(value, list) and _has_floats(value):
            raise InputError(
                f"gradcheck: {name} is a list of numbers, expected an array: np.array(...)"
            )
    return arguments


def _has_floats(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_floats, value))
    return isinstance(value, float)


def _packed(like: Any, parts: list) -> Any:
    """The items of a tuple or list, as they were given."""
    if hasattr(like, "_fields"):
        return type(like)(*parts)
    return parts if isinstance(like, list) else tuple(parts)
