"""Matrix products for a NumPy without BLAS, as in a page: `np.einsum` then takes half as long as
`@`, or less. A model whose parameters are such arrays computes with them: no function is replaced.
"""

from typing import Any

import numpy as np

from minitransformer.layers.layer import Layer


class Products(np.ndarray):
    """An array, and all that is computed from it: `@` of two matrices is einsum's."""

    __module__ = "numpy"  # whose functions work on it
    __array_priority__ = 1  # what is joined of these and others is one of these

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _product(other, self)


def _product(a: Any, b: Any) -> Any:
    if a.ndim == b.ndim == 2:
        return np.einsum("ij,jk->ik", a, b).view(Products)
    return np.matmul(a, b)


def with_einsum(model: Layer) -> None:
    """Let the model's products be einsum's, before its parameters move into one vector."""
    for parameter in model.parameters().values():
        parameter.data = parameter.data.view(Products)
