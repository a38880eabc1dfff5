"""Table 1 of the paper, counted: the multiplications of each kind of layer, and the steps that wait
for each other.
"""

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minitransformer.layers import SelfAttention
from minitransformer.layers.parameter import Parameter
from minitransformer.zoo.baselines import (
    RNN,
    Convolution,
    RestrictedSelfAttention,
    SeparableConvolution,
)

KERNEL = 3  # positions that a convolution sees
RADIUS = 32  # positions to each side that restricted attention sees


class Kind(NamedTuple):
    make: Callable[[int], Any]  # takes d and returns the layer
    operations: Callable[
        [int, int], int
    ]  # takes n and d and returns the multiplications of a forward pass, as derived below


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# For one sequence of n vectors of width d, as tutorials/16_why_self_attention derives them:
KINDS = {
    # 4 projections of d x d at each position; n x n scores of d terms each, and as many for the
    # values.
    "self-attention": Kind(
        lambda d: SelfAttention(d, 1, _rng()), lambda n, d: 4 * n * d * d + 2 * n * n * d
    ),
    # A product with d x d for the input, and another one for the state.
    "recurrent": Kind(lambda d: RNN(d, d, _rng()), lambda n, d: 2 * n * d * d),
    # A product with d x d for each of k positions.
    "convolutional": Kind(
        lambda d: Convolution(d, d, _rng(), KERNEL), lambda n, d: KERNEL * n * d * d
    ),
    # k numbers for each of d dimensions, then a product with d x d.
    "separable": Kind(
        lambda d: SeparableConvolution(d, d, _rng(), KERNEL),
        lambda n, d: KERNEL * n * d + n * d * d,
    ),
    # As self-attention, with 2 r + 1 keys for each query.
    "restricted": Kind(
        lambda d: RestrictedSelfAttention(d, 1, _rng(), RADIUS),
        lambda n, d: 4 * n * d * d + 2 * n * (2 * RADIUS + 1) * d,
    ),
}


def count(layer, n, d) -> tuple[int, int]:
    """(multiplications of a forward pass, the longest chain of products in it) for one sequence of
    n vectors of width d.
    """
    products = at_steps(layer, n, d)
    return products.total(), max(products)


def at_steps(layer, n, d) -> Counter[int]:
    """{step: multiplications} of a forward pass; a product is one step after those that it needs."""
    x = np.random.default_rng(0).standard_normal((1, n, d)).astype(np.float32).view(Counted)
    counted = layer._copy(
        lambda parameter: Parameter(
            parameter.data.copy().view(Counted), parameter.grad.copy().view(Counted)
        )
    )
    Counted.at_step.clear()
    counted.forward(x)
    return Counter(Counted.at_step)


class Counted(np.ndarray):
    """A NumPy array that counts every matmul and einsum made of it, from the shapes of the two
    arrays that are multiplied.

    `chain`: how many products had to be computed one after the other to get it. A product's chain
    is one longer than the longer chain of its factors; any other result, such as a sum or a view,
    has the longest chain of its arrays. Elementwise products, such as a mask or a scale, are not
    counted, as there are few: about one for each number that a counted product gives.
    """

    __module__ = "numpy"  # module_of finds its module by this
    at_step: ClassVar[Counter] = (
        Counter()
    )  # {chain of a product: multiplications}, of all arrays since it was cleared
    chain = 0

    def __array_finalize__(self, source) -> None:
        self.chain = getattr(source, "chain", 0)

    def __array_ufunc__(self, ufunc, method, *inputs, **options) -> Any:
        result = getattr(ufunc, method)(*_plain(inputs), **_plain(options))
        return _noted(
            result, inputs, options, result.size * inputs[0].shape[-1] if ufunc is np.matmul else 0
        )

    def __array_function__(self, function, types, arguments, options) -> Any:
        result = function(*_plain(arguments), **_plain(options))
        return _noted(
            result, arguments, options, _terms(*arguments) if function is np.einsum else 0
        )

    def __setitem__(self, key, value) -> None:
        np.asarray(self)[key] = _plain(value)
        self.chain = max(self.chain, _longest(value))
        if isinstance(self.base, Counted):  # a view was written to
            self.base.chain = max(self.base.chain, self.chain)


def _terms(subscripts, *factors) -> int:
    """The multiplications of an einsum of two arrays: the product of the sizes of all its indices."""
    names = subscripts.partition("->")[0].split(",")
    return prod(
        {
            name: size
            for indices, factor in zip(names, factors)
            for name, size in zip(indices, factor.shape)
        }.values()
    )


def _plain(value) -> Any:
    """`value` with NumPy's own arrays in place of Counted ones, however deep."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def _longest(value) -> int:
    """The longest chain of the arrays in `value`, however deep."""
    if isinstance(value, (tuple, list, dict)):
        return max(map(_longest, value.values() if isinstance(value, dict) else value), default=0)
    return getattr(value, "chain", 0)


def _noted(result, arguments, options, multiplications) -> Any:
    """The result of a function, as a Counted array; `multiplications`: of a product."""
    chain = _longest([arguments, options]) + (multiplications > 0)
    if multiplications:
        Counted.at_step[chain] += multiplications
    out = options.get("out")
    found = (
        out[0]
        if isinstance(out, tuple)
        else result.view(Counted)
        if isinstance(result, np.ndarray)
        else result
    )
    if isinstance(found, Counted):
        found.chain = chain
    return found
