"""A mask has the axes (T_q, T_k) or all of the scores'. Others could mean heads or sentences, as
their numbers happen to be.
"""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.checking.blocks import Sizes
from minitransformer.layers import CrossAttention
from minitransformer.zoo.baselines import RestrictedSelfAttention
from tests.helpers.layers import NAMES, case
from tests.helpers.layers import forward

B, T_Q, T_K = 3, 4, 5  # and as many heads as sentences


def masked(name):
    """[(a layer, its inputs, which of them is a mask of queries and keys)], one for each such mask."""
    layer, inputs = case(name, Sizes(B, T_Q, T_K, 2, 2, 6, 5, heads=B, groups=B, dropout=0.0))
    shapes = (T_Q, T_Q), (T_Q, T_K), (1, T_K), (1, T_Q + T_K)
    return [
        (layer, inputs, i)
        for i, one in enumerate(inputs)
        if isinstance(one, np.ndarray) and one.dtype == bool and one.shape[-2:] in shapes
    ]


MASKED = [(name, *case) for name in NAMES for case in masked(name)]


def test_all_layers_with_masks_are_here():
    assert len(MASKED) > 20  # a decoder has two


@pytest.mark.parametrize("name, layer, inputs, i", MASKED)
def test_other_axes_are_refused(name, layer, inputs, i):
    """Though NumPy would broadcast each of them."""
    *_, T_q, T_k = inputs[i].shape
    alone = name in (
        "additive-attention",
        "attentional-state",
    )  # without heads, three axes are clear
    for shape in (
        (T_k,),
        (1, T_k),
        (B, T_k),
        (T_q, 1),
        *([] if alone else [(B, T_q, T_k), (1, T_q, T_k)]),
        (1, 1, B, T_q, T_k),
    ):
        if shape != (T_q, T_k):
            with pytest.raises(InputError, match="mask has shape .*, expected") as error:
                forward(layer, (*inputs[:i], np.ones(shape, bool), *inputs[i + 1 :]))
            if not isinstance(layer, RestrictedSelfAttention):
                assert ("mask[:, None, :]" if alone else "mask[:, None, None, :]") in str(
                    error.value
                )
    if T_q > 1:  # the same for all sentences and heads
        two = np.tri(T_q, T_k, dtype=bool)
        y, same = (
            forward(layer, (*inputs[:i], one, *inputs[i + 1 :]))[0]
            for one in (two, two[None] if alone else two[None, None])
        )
        np.testing.assert_array_equal(y, same)


def test_the_forms_that_the_message_shows():
    """Sentence by sentence, they mask what they should."""
    rng = np.random.default_rng(0)
    layer = CrossAttention(6, B, rng).astype("float64")
    x, memory = rng.standard_normal((B, T_Q, 6)), rng.standard_normal((B, T_K, 6))
    real, pairs = np.arange(T_K) < np.array([[2], [5], [3]]), rng.random((B, T_Q, T_K)) < 0.6
    for one, mask in (
        (real[:, None].repeat(T_Q, axis=1), real[:, None, None, :]),
        (pairs, pairs[:, None]),
    ):
        y = layer.forward(x, memory, mask)[0]
        for b in range(B):
            np.testing.assert_allclose(
                y[b], layer.forward(x[b : b + 1], memory[b : b + 1], one[b])[0][0], rtol=1e-12
            )
