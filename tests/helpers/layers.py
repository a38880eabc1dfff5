"""The blocks of `minitransformer gradcheck` (checking/blocks.py) in many sizes, for the tests of
every layer.
"""

import inspect
from functools import cache
from typing import NamedTuple

import numpy as np

from minitransformer.checking.blocks import SIZES, Sizes, TrainingLoss, blocks
from minitransformer.layers import Layer


class Case(NamedTuple):
    """A layer in float64 with its inputs."""

    layer: Layer
    inputs: tuple  # or {name of an argument: value}


def call(function, inputs, **options):
    return (
        function(**inputs, **options) if isinstance(inputs, dict) else function(*inputs, **options)
    )


def changed(inputs, change):
    """`inputs` with change(value) in the place of each value."""
    if isinstance(inputs, dict):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(map(change, inputs))


NAMES = [
    name
    for name, (block, _) in blocks().items()
    if isinstance(block, Layer) and not isinstance(block, TrainingLoss)
]


def sizes_of(draw):
    """Of draw 0 those of the command, all different; of 1 ones; of 2 equal ones; of 3 small ones
    above 1; then at random.
    """
    if draw < 4:
        return (
            SIZES,
            Sizes(1, 1, 1, 1, 2, 4, 1, 1, 11, 1, 1, 0.0),
            Sizes(4, 4, 4, 4, 4, 4, 4, 4, 11, 2, 3, 0.3),
            Sizes(3, 3, 4, 2, 4, 5, 3, 4, 11, 2, 2, 0.3),
        )[draw]
    rng = np.random.default_rng(draw)
    batch, t_q, t_k, d_k, d_ff, groups, kernel = map(int, rng.integers(1, 5, 7))
    return Sizes(
        batch,
        t_q,
        t_k,
        d_k,
        int(rng.choice([2, 4, 6])),
        int(rng.integers(4, 8)),
        d_ff,
        groups * int(rng.integers(1, 3)),
        11,
        groups,
        kernel,
        float(rng.choice([0.0, 0.3])),
    )


@cache
def table(sizes):
    return blocks(seed=1, sizes=sizes)


def case(name, sizes=0):
    """The Case of a block in these Sizes, or in those of a draw."""
    layer, inputs = table(sizes if isinstance(sizes, Sizes) else sizes_of(sizes))[name]
    return Case(
        layer.astype(np.float64),
        changed(inputs, lambda value: value.copy() if isinstance(value, np.ndarray) else value),
    )


def forward(layer, inputs, seed=0):
    """Forward with a fresh generator if the layer takes one, so that dropout repeats."""
    takes_rng = "rng" in inspect.signature(layer.forward).parameters
    return call(
        layer.forward, inputs, **({"rng": np.random.default_rng(seed)} if takes_rng else {})
    )


def backward(layer, dy, cache):
    """The input gradients, as a tuple."""
    gradients = layer.backward(dy, cache)
    return gradients if isinstance(gradients, tuple) else () if gradients is None else (gradients,)


def upstream(y, seed=7):
    """A random gradient of y, which a recurrent layer has of two arrays: all hidden states, and the
    last state.
    """
    if isinstance(y, tuple):
        return tuple(upstream(one, seed + i) for i, one in enumerate(y))
    return np.asarray(np.random.default_rng(seed).standard_normal(np.shape(y)))


def flat_gradient(layer):
    return np.concatenate([p.grad.ravel() for p in layer.parameters().values()] or [np.empty(0)])
