"""The base class of every layer: it finds the parameters, and makes copies with another dtype or on another device."""

import copy
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, ClassVar, TypeVar

from numpy.typing import DTypeLike

from minitransformer.backend import get_module, module_of, to_device
from minitransformer.errors import InputError
from minitransformer.layers.summary import as_tree
from minitransformer.layers.parameter import Flat, Parameter, bind, fills, flatten

Same = TypeVar("Same", bound="Layer")    # a copy has its original's class


class Layer:
    """A differentiable block with parameters: two methods that keep nothing on the layer.

        y, cache = layer.forward(x, ...)       # cache: what backward needs
        dx       = layer.backward(dy, cache)   # also adds to each parameter's grad

    A subclass assigns its Parameters and its sub-layers to attributes, directly or in a list, tuple or dict. With
    several array inputs, `backward` returns one gradient for each, in the order of `forward`'s arguments.
    """

    forward: Callable[..., Any]     # each subclass defines the two
    backward: Callable[..., Any]
    stepwise: ClassVar[bool] = False    # whether decoding may call it for one position at a time; each class says so itself
    _shares_weight = False    # whether its weight is another layer's, too, because the model's configuration says so
    aliases: ClassVar[tuple[str, ...]] = ()    # the names of its Alias attributes

    def parameters(self) -> dict[str, Parameter]:
        """{name: Parameter}; a shared parameter once, under the first name that leads to it."""
        return _first_names(self, Parameter)

    def sublayers(self) -> "dict[str, Layer]":
        """{path: Layer} of every layer below this one; a shared layer once, under the first path that leads to it."""
        return _first_names(self, Layer)

    def num_parameters(self) -> int:
        """The number of learned numbers; shared ones count once."""
        return sum(parameter.data.size for parameter in self.parameters().values())

    @property
    def xp(self) -> ModuleType:
        """The array module of the parameters. Raises InputError if there are none."""
        return module_of(next(iter(self._some_parameters().values())).data)

    def zero_grad(self) -> None:
        """Set every parameter's gradient to zero."""
        for parameter in self.parameters().values():
            parameter.grad[...] = 0

    @property
    def flat(self) -> Flat:
        """All parameters in one vector, their gradients in another (a Flat); each Parameter becomes a view.

        A layer whose parameters, or their order, have changed gets new vectors; an optimiser of the old ones reports this. Raises
        InputError for a part of a model that already has its vectors (only one can own a Parameter), for parameters of
        different dtypes, and if there are none.
        """
        parameters, flat = self._some_parameters(), vars(self).get("_flat")
        if flat is None or not fills(flat, parameters.values()):
            self._flat = flatten(parameters, flat)
        return self._flat

    def astype(self: Same, dtype: DTypeLike) -> Same:
        """A copy with every parameter converted to `dtype`: float32, float64 or complex128."""
        return self._copy(lambda parameter: Parameter(parameter.data.astype(dtype)))

    def to(self: Same, backend: str) -> Same:
        """A copy on "numpy" or "cupy"."""
        xp = get_module(backend)
        return self._copy(lambda parameter: Parameter(to_device(parameter.data, xp).copy()))

    def replica(self: Same) -> Same:
        """A copy that shares the parameters' data and owns its gradients.

        For threads and gradient accumulation, each shard of a batch goes to a replica, and their `flat.grad` are summed.
        """
        data = self.flat.data
        replica = self._copy(lambda parameter: Parameter(parameter.data, parameter.grad))
        replica._flat = bind(list(replica.parameters().values()), data, module_of(data).zeros_like(data))
        return replica

    def _some_parameters(self) -> dict[str, Parameter]:
        """The parameters, of which there must be at least one."""
        parameters = self.parameters()
        if not parameters:
            raise InputError(f"{type(self).__name__} has no parameters: it belongs to no array module and has nothing to train; "
                             "if modules of minitransformer were reloaded, restart Python")
        return parameters

    def _copy(self: Same, convert: Callable[[Parameter], Parameter]) -> Same:
        """The same structure with converted parameters; shared ones stay shared."""
        return copy.deepcopy(self, {id(parameter): convert(parameter) for parameter in self.parameters().values()})

    def __getstate__(self) -> dict[str, Any]:
        """For copy and pickle: everything but the flat vectors, which a copy makes from its own parameters."""
        return {name: value for name, value in vars(self).items() if name != "_flat"}

    def __repr__(self) -> str:
        """The tree of sub-layers with their parameters' shapes and counts."""
        return as_tree(self, members)


class Alias:
    """A model's own name for a layer further down, which has no other owner: `embedding = Alias("input", "embedding")`."""

    def __init__(self, holder: str, name: str):
        self.holder = holder
        self.name = name

    def __set_name__(self, owner: type[Layer], name: str) -> None:
        owner.aliases = (*owner.aliases, name)

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        return getattr(getattr(model, self.holder), self.name)

    def __set__(self, model: Layer, layer: Layer) -> None:
        setattr(getattr(model, self.holder), self.name, layer)


def members(layer: Layer) -> Iterator[tuple[str, Parameter | Layer]]:
    """(name, item) of every Parameter and Layer that is an attribute of `layer`, or in a list, tuple or dict attribute."""
    aliases = {name: getattr(layer, name, None) for name in layer.aliases}
    for name, value in (*aliases.items(), *vars(layer).items()):
        if isinstance(value, (Parameter, Layer)):
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{key}", item) for key, item in value.items() if isinstance(item, (Parameter, Layer)))
        elif isinstance(value, (list, tuple)):
            yield from ((f"{name}.{i}", item) for i, item in enumerate(value) if isinstance(item, (Parameter, Layer)))


def _first_names(layer: Layer, kind: type) -> dict[str, Any]:
    """{name: item} of every Parameter or Layer below `layer`, each once, in the order of definition."""
    named, seen = {}, {id(layer)}
    _walk(layer, "", seen, named)
    return {name: item for name, item in named.items() if isinstance(item, kind)}


def _walk(layer: Layer, prefix: str, seen: set[int], named: dict[str, Parameter | Layer]) -> None:
    """Add every Parameter and Layer below `layer` to `named`, under the first name that leads to it."""
    for name, item in members(layer):
        if id(item) not in seen:
            seen.add(id(item))
            named[prefix + name] = item
            if isinstance(item, Layer):
                _walk(item, f"{prefix}{name}.", seen, named)
