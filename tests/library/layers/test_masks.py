"""A mask has the axes (T_q, T_k) or all of the scores'. Others could mean heads or sentences, as their numbers happen to be."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer.layers import CrossAttention
from tests.library.layers.cases import NAMES, _make
from tests.library.layers.test_contract import forward

B, T_Q, T_K = 3, 4, 5    # and as many heads as sentences


def masked(name):
    """[(a layer, its inputs, which of them is a mask of queries and keys)], one for each such mask."""
    layer, inputs = _make(name, np.random.default_rng(0), batch=B, t_q=T_Q, t_k=T_K, heads=B, d_k=2, d_v=2, d_model=6, d_ff=5,
                          pre_norm=True, activation="relu", positions="learned", share=True, dropout_rate=0.0, seed=0)
    shapes = (T_Q, T_Q), (T_Q, T_K), (1, T_K)
    return [(layer.astype("float64"), inputs, i) for i, one in enumerate(inputs)
            if isinstance(one, np.ndarray) and one.dtype == bool and one.shape[-2:] in shapes]


MASKED = [(name, *case) for name in NAMES if not name.endswith("Model") for case in masked(name)]


def test_all_layers_with_masks_are_here():
    assert len({name for name, *_ in MASKED}) == 16 and len(MASKED) == 18    # a decoder has two


@pytest.mark.parametrize("name, layer, inputs, i", MASKED)
def test_other_axes_are_refused(name, layer, inputs, i):
    """Though NumPy would broadcast each of them."""
    *_, T_q, T_k = inputs[i].shape
    alone = name in ("AdditiveAttention", "DotProductAttention", "AttentionalState")    # without heads, three axes are clear
    for shape in ((T_k,), (1, T_k), (B, T_k), (T_q, 1), *([] if alone else [(B, T_q, T_k), (1, T_q, T_k)]), (1, 1, B, T_q, T_k)):
        if shape != (T_q, T_k):
            with pytest.raises(InputError, match="mask has shape .*, expected") as error:
                forward(layer, (*inputs[:i], np.ones(shape, bool), *inputs[i + 1:]))
            if name != "RestrictedSelfAttention":
                assert ("mask[:, None, :]" if alone else "mask[:, None, None, :]") in str(error.value)
    if T_q > 1:    # the same for all sentences and heads
        two = np.tri(T_q, T_k, dtype=bool)
        y, same = (forward(layer, (*inputs[:i], one, *inputs[i + 1:]))[0] for one in (two, two[None] if alone else two[None, None]))
        np.testing.assert_array_equal(y, same)


def test_the_forms_that_the_message_shows():
    """Sentence by sentence, they mask what they should."""
    rng = np.random.default_rng(0)
    layer = CrossAttention(6, B, rng).astype("float64")
    x, memory = rng.standard_normal((B, T_Q, 6)), rng.standard_normal((B, T_K, 6))
    real, pairs = np.arange(T_K) < np.array([[2], [5], [3]]), rng.random((B, T_Q, T_K)) < 0.6
    for one, mask in ((real[:, None].repeat(T_Q, axis=1), real[:, None, None, :]), (pairs, pairs[:, None])):
        y = layer.forward(x, memory, mask)[0]
        for b in range(B):
            np.testing.assert_allclose(y[b], layer.forward(x[b:b + 1], memory[b:b + 1], one[b])[0][0], rtol=1e-12)
