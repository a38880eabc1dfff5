"""What every layer has: the walk over its parameters, and copies of itself in another form."""

import copy
from functools import cached_property

from minitransformer.backend import get_module, module_of, to_device
from minitransformer.parameter import Parameter, bind, flatten


class Layer:
    """A differentiable block with parameters: two methods, and nothing kept between them.

        y, cache = layer.forward(x, ...)       # cache: what backward needs
        dx       = layer.backward(dy, cache)   # also adds to each parameter's grad

    A subclass sets its Parameters and its sub-layers as attributes, alone or in a list, tuple or dict. With
    several array inputs, `backward` returns one gradient for each, in `forward`'s order.
    """

    def parameters(self):
        """{name: Parameter}; a shared parameter once, under the first name that leads to it."""
        return _first_names(self, Parameter)

    def sublayers(self):
        """{path: Layer} of every layer below this one; a shared layer once, under the first path that leads to it."""
        return _first_names(self, Layer)

    def num_parameters(self):
        """How many numbers are learned; shared ones count once."""
        return sum(parameter.data.size for parameter in self.parameters().values())

    @property
    def xp(self):
        """The array module that the parameters live on."""
        return module_of(next(item for _, item in _walk(self) if isinstance(item, Parameter)).data)

    def zero_grad(self):
        """Set every parameter's gradient to zero."""
        for parameter in self.parameters().values():
            parameter.grad[...] = 0

    @cached_property
    def flat(self):
        """All parameters in one vector, their gradients in another (a Flat); each Parameter becomes a view.

        Raises InputError for a part of a model that has its vectors already: only one can own a Parameter.
        """
        return flatten(self.parameters())

    def astype(self, dtype):
        """A copy with every parameter converted to `dtype`: float32, float64 or complex128."""
        return self._copy(lambda parameter: Parameter(parameter.data.astype(dtype)))

    def to(self, backend):
        """A copy on "numpy" or "cupy"."""
        xp = get_module(backend)
        return self._copy(lambda parameter: Parameter(to_device(parameter.data, xp).copy()))

    def replica(self):
        """A copy that shares the parameters' data and owns its gradients.

        Threads and accumulation give each shard of a batch to a replica and add up `flat.grad`.
        """
        data = self.flat.data
        replica = self._copy(lambda parameter: Parameter(parameter.data, parameter.grad))
        replica.flat = bind(list(replica.parameters().values()), data, module_of(data).zeros_like(data))
        return replica

    def _copy(self, convert):
        """The same structure around converted parameters; what was shared stays shared."""
        return copy.deepcopy(self, {id(parameter): convert(parameter) for parameter in self.parameters().values()})

    def __getstate__(self):
        """What copy and pickle take: all but the flat vectors, which a copy makes of its own parameters."""
        return {name: value for name, value in vars(self).items() if name != "flat"}


def _first_names(layer, kind):
    """{name: item} of every Parameter or Layer below `layer`, each once, in the order of definition."""
    named, seen = {}, set()
    for name, item in _walk(layer):
        if isinstance(item, kind) and id(item) not in seen:
            seen.add(id(item))
            named[name] = item
    return named


def _walk(layer, prefix=""):
    """(name, item) of every Parameter and Layer below `layer`, under every name that leads to it."""
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            named = [(f"{name}.{key}", item) for key, item in value.items()]
        elif isinstance(value, (list, tuple)):
            named = [(f"{name}.{i}", item) for i, item in enumerate(value)]
        else:
            named = [(name, value)]
        for key, item in named:
            if isinstance(item, (Parameter, Layer)):
                yield prefix + key, item
            if isinstance(item, Layer):
                yield from _walk(item, f"{prefix}{key}.")
