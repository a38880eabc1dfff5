"""A function of the reader's own runs wherever the replaced one would, and nowhere is it bypassed."""

import numpy as np
import pytest

from minitransformer import (
    Adam,
    InputError,
    Transformer,
    TransformerConfig,
    greedy,
    make_batch,
    training_step,
)
from minitransformer import functional as F
from minitransformer.layers import MultiHeadAttention
from minitransformer.speed.threads import Threads
from minitransformer.dispatch import TABLE, is_replaced, kernels_are_on, plugged, running
from tests.helpers.kernels import (
    LOSS,
    counting,
    kernel_runs,
    loss_cache,
    output_layer,
    textbook,
)

BATCH = make_batch([([4, 5, 6], [6, 5]), ([7], [8, 9, 4, 4]), ([5, 5], [4])])
QUERY, KEY, VALUE = np.random.default_rng(0).standard_normal((3, 2, 3, 4, 5))
SOURCE = np.array([[4, 5, 6, 2], [7, 2, 0, 0]])


def small_model():
    return Transformer(
        TransformerConfig.named("toy", 12, d_model=16, num_heads=2, d_ff=8), seed=1
    ).astype(np.float64)


def test_a_softmax_of_your_own_is_never_bypassed():
    """The fused attention does not run while a softmax is plugged in, nor does any other kernel,
    and only then.
    """
    _, cache = F.attention_forward(QUERY, KEY, VALUE)
    dy = np.ones_like(VALUE)
    expected = F.attention_backward(dy, cache)
    mine = counting(F.softmax_backward)
    with plugged(F.softmax_backward, mine):
        found = F.attention_backward(dy, F.attention_forward(QUERY, KEY, VALUE)[1])
        assert mine.calls == 1
        assert all(entry.own or running()[name] is entry.textbook for name, entry in TABLE.items())
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    F.attention_backward(dy, F.attention_forward(QUERY, KEY, VALUE)[1])
    assert mine.calls == 1
    assert running()["attention_backward"] is not TABLE["attention_backward"].textbook


@pytest.mark.parametrize(
    "function, calls",
    [
        (F.softmax_backward, 6),
        (F.relu_forward, 4),
        (F.relu_backward, 4),
        (F.dropout_forward, 2 + 4 + 10 + 6),
        (F.dropout_backward, 2 + 4 + 10 + 6),
        (F.random_words, 2 + 4 + 10 + 6),
    ],
)
def test_a_part_of_a_fused_function_of_your_own_runs_in_each_place_of_a_model(function, calls):
    """Dropout: of two inputs, in four feed-forward networks, of ten residuals and six attentions."""
    rates = dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), 0.2)
    model = Transformer(
        TransformerConfig.named("toy", 12, d_model=16, num_heads=2, d_ff=8, **rates), seed=1
    )
    mine = counting(function)
    with plugged(function, mine):
        _, cache = model.loss_forward(BATCH, np.random.default_rng(0))
        model.loss_backward(1.0, cache)
    assert mine.calls == calls


@pytest.mark.parametrize("function", [F.cross_entropy_forward, F.cross_entropy_backward])
def test_a_cross_entropy_of_your_own_turns_off_both_halves_of_the_fused_loss(function):
    """One half alone would hand the other a cache that it cannot read."""
    model, mine = small_model().astype(np.float32), counting(function)
    sums, cache = model.loss_forward(BATCH, smoothing=0.1)
    model.loss_backward(0.5, cache)
    expected = model.flat.grad.copy()
    assert kernel_runs(cache.loss)
    model.zero_grad()
    with plugged(function, mine):
        for name in (
            "LinearCrossEntropy.forward",
            "LinearCrossEntropy.backward",
        ):
            assert running()[name] is TABLE[name].textbook
        again, cache = model.loss_forward(BATCH, smoothing=0.1)
        model.loss_backward(0.5, cache)
    assert mine.calls == 1
    assert again.loss == pytest.approx(sums.loss, rel=1e-5)
    np.testing.assert_allclose(model.flat.grad, expected, rtol=0, atol=1e-5)


def test_plugging_one_function_into_another_ends_in_turn():
    outer, inner = counting(F.relu_forward), counting(F.relu_forward)
    with plugged(F.relu_forward, outer):
        with pytest.raises(ZeroDivisionError), plugged(F.relu_forward, inner):
            F.relu_forward(KEY)
            1 / 0
        F.relu_forward(KEY)
        assert is_replaced(F.relu_backward) and not is_replaced(F.gelu_forward)  # the operation is
    F.relu_forward(KEY)
    assert (outer.calls, inner.calls) == (1, 1)
    assert not is_replaced(F.relu_forward)


def test_none_takes_out_what_is_plugged_in():
    own = counting(F.relu_forward)
    with plugged(F.relu_forward, own):
        with plugged(F.relu_forward, None):
            F.relu_forward(QUERY)
            assert not is_replaced(F.relu_forward)
        assert own.calls == 0 and is_replaced(F.relu_forward)


def test_only_a_function_can_be_plugged_in():
    words = "the object plugged in for relu_forward is of type int, expected a function"
    with pytest.raises(InputError, match=words), plugged(F.relu_forward, 3):
        pass


def test_of_overlapping_plugs_the_one_entered_last_decides():
    first, second = counting(F.relu_forward), counting(F.relu_forward)
    one, other = plugged(F.relu_forward, first), plugged(F.relu_forward, second)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    F.relu_forward(QUERY)
    other.__exit__(None, None, None)
    F.relu_forward(QUERY)
    assert (first.calls, second.calls) == (0, 1) and not is_replaced(F.relu_forward)


def test_a_cache_of_another_implementation():
    """A kernel's backward can use the textbook's cache; the textbook names a cache of a kernel."""
    output = output_layer()
    with textbook():
        cache = loss_cache()
        expected = LOSS.backward(1.0, output, cache)
    assert kernels_are_on() and not kernel_runs(cache)
    np.testing.assert_array_equal(LOSS.backward(1.0, output, cache), expected)
    words = r"LinearCrossEntropy.backward: the cache is a LossGradients, expected .* inside one `with fast\(\):`"
    cache = loss_cache()
    with textbook(), pytest.raises(InputError, match=words):
        LOSS.backward(1.0, output, cache)


def test_errors_of_a_function_of_your_own_stay_as_they_are():
    def mine(dp, cache):
        return cache.no_such_field

    _, cache = F.attention_forward(QUERY, KEY, VALUE)
    with plugged(F.softmax_backward, mine), pytest.raises(AttributeError, match="no_such_field"):
        F.attention_backward(QUERY, cache)

    def unpacking(dp, cache):
        _p, _more = dp[0], cache, 3

    with (
        plugged(F.softmax_backward, unpacking),
        pytest.raises(ValueError, match="too many values to unpack") as raised,
    ):
        F.attention_backward(QUERY, cache)
    assert raised.type is ValueError
    with plugged(F.relu_backward, mine), pytest.raises(AttributeError, match="no_such_field"):
        F.relu_backward(QUERY, cache)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        F.relu_backward(QUERY)


def test_what_is_plugged_in_runs_in_every_thread():
    model, mine = small_model(), counting(F.softmax_backward)
    with plugged(F.softmax_backward, mine):
        training_step(model, Adam(model), BATCH, 0.01, workers=Threads(model, 3))
    assert mine.calls == 3 * 6


def decoding_calls(model):
    """How often a plugged MultiHeadAttention.merge is called while `model` decodes; its outputs must
    stay the same.
    """
    expected = greedy(model, SOURCE)
    mine = counting(MultiHeadAttention.merge)
    with plugged(MultiHeadAttention.merge, mine):
        assert greedy(model, SOURCE) == expected
    return mine.calls, expected


def test_a_method_of_your_own_runs_in_cached_decoding_too():
    model = small_model()
    calls, outputs = decoding_calls(model)
    positions = max(map(len, outputs)) + 1  # EOS, too, is predicted
    encoder, each = 2, 2 * 2  # self-attention and cross-attention
    assert calls in (encoder + each * positions, encoder + each * (positions - 1))  # or the limit


def test_a_state_may_outlive_what_was_plugged_in():
    """Started inside, advanced outside, and the other way round."""
    model, mine = small_model(), counting(MultiHeadAttention.merge)
    tokens = np.array([[1], [1]])
    with plugged(MultiHeadAttention.merge, mine):
        inside = model.start(SOURCE)
    outside = model.start(SOURCE)
    calls = mine.calls
    x = inside.advance(tokens)
    assert mine.calls == calls
    with plugged(MultiHeadAttention.merge, mine):
        np.testing.assert_allclose(outside.advance(tokens), x, rtol=1e-12)
    assert mine.calls == calls + 2 * 2


def test_a_method_of_your_own_receives_the_layer():
    """Heads merged without the transpose: the model still runs, and computes something else."""
    model = small_model()
    before, _ = model.forward(SOURCE, SOURCE)
    seen = []

    def merge(layer, x):
        seen.append(type(layer).__name__)
        batch, heads, length, d = x.shape
        return x.reshape(batch, length, heads * d)

    with plugged(MultiHeadAttention.merge, merge):
        after, _ = model.forward(SOURCE, SOURCE)
    assert seen == ["SelfAttention"] * 2 + ["SelfAttention", "CrossAttention"] * 2
    assert np.abs(after - before).max() > 1e-3
