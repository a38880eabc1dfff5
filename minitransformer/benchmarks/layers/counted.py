"""Arrays that note the products made of them: how many multiplications, and how long the chain of products that wait for others."""

from contextlib import contextmanager
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.layers.parameter import Parameter
from minitransformer.replaceable import textbook


class Counted(np.ndarray):
    """A NumPy array of which every matmul and einsum is noted, from the shapes of the two arrays that are multiplied.

    `chain`: the products that had to be made one after the other for it. A product's chain is one longer than the longer one of
    its factors; whatever else is made of arrays, a sum or a view, has the longest of theirs. Products number by number, such as
    a mask or a scale, are not counted: they are as many as the results of those that are.
    """

    __module__ = "numpy"    # by which module_of finds its module
    multiplications = 0     # of all, since `counting` began
    chain = 0

    def __array_finalize__(self, source) -> None:
        self.chain = getattr(source, "chain", 0)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options) -> Any:
        plain = tuple(map(_plain, out)) if out else None
        result = getattr(ufunc, method)(*map(_plain, inputs), **({"out": plain} if plain else {}), **options)
        chain = _longest(inputs)
        if ufunc is np.matmul:
            Counted.multiplications += result.size * inputs[0].shape[-1]
            chain += 1
        if out:
            for array in out:
                if isinstance(array, Counted):
                    array.chain = max(array.chain, chain)
            return out[0]
        return _counted(result, chain)

    def __array_function__(self, function, types, arguments, options) -> Any:
        result = function(*_all_plain(arguments), **_all_plain(options))
        chain = _longest([arguments, options])
        if function is np.einsum:
            Counted.multiplications += _terms(*arguments)
            chain += 1
        return _counted(result, chain)

    def __setitem__(self, key, value) -> None:
        np.asarray(self)[key] = _plain(value)
        self.chain = max(self.chain, _longest([value]))
        if isinstance(self.base, Counted):    # a view was written to
            self.base.chain = max(self.base.chain, self.chain)


@contextmanager
def counting() -> Iterator[None]:
    """Within it, the textbook runs, and the count begins at zero."""
    Counted.multiplications = 0
    with textbook():
        yield


def counted_copy(layer) -> Any:
    """The layer with Counted parameters."""
    return layer._copy(lambda parameter: Parameter(parameter.data.copy().view(Counted), parameter.grad.copy().view(Counted)))


def _terms(subscripts, *factors) -> int:
    """The multiplications of an einsum of two arrays: the product of the sizes of all its indices."""
    names = subscripts.partition("->")[0].split(",")
    return prod({name: size for indices, factor in zip(names, factors) for name, size in zip(indices, factor.shape)}.values())


def _plain(value) -> Any:
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def _all_plain(value) -> Any:
    if isinstance(value, dict):
        return {name: _all_plain(item) for name, item in value.items()}
    return type(value)(map(_all_plain, value)) if isinstance(value, (tuple, list)) else _plain(value)


def _longest(values) -> int:
    """The longest chain of the arrays in `values`, however deep."""
    found = 0
    for value in values.values() if isinstance(values, dict) else values:
        found = max(found, _longest(value) if isinstance(value, (tuple, list, dict)) else getattr(value, "chain", 0))
    return found


def _counted(result, chain) -> Array:
    if not isinstance(result, np.ndarray):
        return result
    found = result.view(Counted)
    found.chain = chain
    return found
