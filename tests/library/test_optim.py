"""Adam, the schedules and clipping, against their formulas."""

import copy
import pickle

import numpy as np
import pytest

from minitransformer import Adam, InputError, Layer, NonFiniteError, Parameter, schedule
from minitransformer.layers import Linear
from minitransformer.training.optim import clip_factor, cooldown
from minitransformer.speed.threads import Threads


def make_step(adam, learning_rate, clip=None, threads=None):
    """As training_step does it: threads sum the gradients, and move the pieces."""
    if threads:
        adam.step(learning_rate, clip, threads.sum_gradients(), threads.each_piece)
    else:
        adam.step(learning_rate, clip)


def test_adam_is_algorithm_1():
    layer = Linear(3, 2, np.random.default_rng(0)).astype(np.float64)
    adam, rng = Adam(layer), np.random.default_rng(1)
    w, m, v = layer.flat.data.copy(), 0, 0
    for t in range(1, 6):
        g = rng.standard_normal(w.shape)
        layer.flat.grad[...] = g
        adam.step(0.01 * t)
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g * g
        w = w - 0.01 * t * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.98**t)) + 1e-9)
        np.testing.assert_allclose(layer.flat.data, w, rtol=1e-12)


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize(
    "bad, words",
    [
        (np.nan, "the gradient of bias contains NaN or infinity"),
        (np.inf, "the gradient of bias contains NaN or infinity"),
        (1e200, "the gradient of bias is too large: its square is infinite in float64"),
    ],
)
def test_a_gradient_that_is_not_finite_is_named_and_moves_nothing(bad, words, clip, workers):
    """1e200 is finite, its square is not. The next step is made as if it had never happened."""
    found = []
    for spoiled in (False, True):
        layer = Linear(2, 2, np.random.default_rng(0)).astype(np.float64)
        adam, threads = Adam(layer), workers and Threads(layer, workers)
        for step in range(3):
            layer.flat.grad[...] = step + 1
            make_step(adam, 0.1, clip, threads)
            if spoiled and step == 1:
                layer.flat.grad[...] = 1
                layer.bias.grad[1] = bad
                with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match=words):
                    make_step(adam, 0.1, clip, threads)
                assert not layer.flat.grad.any()
        assert (adam.steps, adam.updates, adam.skipped) == (3, 3, 0)
        found.append(np.concatenate([layer.flat.data, adam.m, adam.v]))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.layers.append(Linear(3, 3, np.random.default_rng(1))),
        lambda model: model.layers.pop(),
        lambda model: setattr(model.layers[0], "weight", Parameter(np.zeros((3, 3), np.float32))),
        lambda model: setattr(model.layers[0], "bias", model.layers[1].bias),
        lambda model: model.layers.reverse(),
    ],
)
def test_adam_says_that_the_model_has_other_parameters(change):
    """It would train only the old ones, and so would its copy. A new Adam and new threads train all
    of them.
    """
    model = Stack()
    adam, threads = Adam(model), Threads(model, 2)
    make_step(adam, 0.1, threads=threads)
    change(model)
    for old in (adam, copy.deepcopy(adam)):
        with pytest.raises(
            InputError,
            match="the parameters of the Stack, or their order, have changed .*; make a new Adam",
        ):
            old.step(0.1)
    adam = Adam(model)
    before = {name: parameter.data.copy() for name, parameter in model.parameters().items()}
    for parameter in model.parameters().values():
        parameter.grad += 1
    make_step(adam, 0.1, threads=Threads(model, 2))
    for name, parameter in model.parameters().items():
        assert (parameter.data < before[name]).all(), name


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_of_a_model_and_its_adam_goes_on_alone(copied):
    def next_step(model, adam):
        adam.grad[...] = np.arange(model.flat.grad.size)
        make_step(adam, 0.1, threads=Threads(model, 2))
        weights = (parameter.data.ravel() for parameter in model.parameters().values())
        return np.concatenate([model.flat.data, adam.m, adam.v, *weights])

    model = Stack()
    adam = Adam(model)
    next_step(model, adam)
    pair, alone = copied((model, adam)), copied(adam)
    before = np.concatenate([model.flat.data, adam.m, adam.v])
    found = [next_step(*pair), next_step(alone.model, alone)]
    np.testing.assert_array_equal(before, np.concatenate([model.flat.data, adam.m, adam.v]))
    expected = next_step(model, adam)
    assert all(np.array_equal(one, expected) for one in found) and repr(pair[1]) == repr(adam)


class Stack(Layer):
    def __init__(self):
        self.layers = [Linear(3, 3, np.random.default_rng(0)) for _ in range(2)]


def test_the_papers_schedule():
    rates = [schedule(step, 512, 4000) for step in range(1, 20_001)]
    assert np.argmax(rates) == 3999
    assert rates[3999] == pytest.approx(1 / np.sqrt(512 * 4000))
    assert rates[999] == pytest.approx(rates[3999] / 4)  # linear
    assert rates[15_999] == pytest.approx(rates[3999] / 2)  # 1 / sqrt(step)
    assert schedule(7, 512, 4000, factor=3) == pytest.approx(3 * rates[6])


@pytest.mark.parametrize(
    "clip, expected", [(1.0, [0.6, 0.8]), (10.0, [3.0, 4.0]), (None, [3.0, 4.0])]
)
def test_clipping(clip, expected):
    """The mean of the gradient after one step is a tenth of the clipped one; the square's, a
    fiftieth of its square.
    """
    layer = Linear(1, 1, np.random.default_rng(0)).astype(np.float64)
    adam = Adam(layer)
    layer.flat.grad[...] = [3.0, 4.0]
    adam.step(0.1, clip)
    np.testing.assert_allclose(adam.m, 0.1 * np.array(expected), rtol=1e-12)
    np.testing.assert_allclose(adam.v, 0.02 * np.square(expected), rtol=1e-12)
    np.testing.assert_array_equal(layer.flat.grad, [3.0, 4.0])  # to be read


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("clip", [np.inf, 1e300, 1e39, 3.5e38])
@pytest.mark.parametrize("gradient", [3.0, 0.0])
def test_a_limit_beyond_all_norms_clips_nothing(dtype, clip, gradient):
    """In float32 each of these limits is infinite, and inf / inf is NaN."""
    results = []
    for limit in (None, clip):
        model = Linear(1, 1, np.random.default_rng(0)).astype(dtype)
        adam = Adam(model)
        model.flat.grad[:] = gradient
        adam.step(0.1, limit)
        results.append(model.flat.data)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "norm, factor",
    [(5.0, 0.2), (1.0, 1.0), (0.5, 1.0), (0.0, 1.0), (np.inf, np.nan), (np.nan, np.nan)],
)
def test_the_factor_of_clipping(norm, factor):
    """Never above 1; NaN for what is not finite, since 0 would hide it."""
    np.testing.assert_allclose(clip_factor(np.float64(norm) ** 2, 1.0), factor)


def test_the_cooldown_is_a_line_to_zero():
    assert [cooldown(step, 10, 0.4) for step in range(1, 11)] == pytest.approx(
        [1] * 7 + [0.75, 0.5, 0.25]
    )
    assert [cooldown(step, 3, 0) for step in (1, 2, 3)] == [1, 1, 1]


def test_the_state_of_adam_is_taken_and_set():
    """A loop goes on from it to the same bits; what was taken does not change any more."""

    def steps(layer, adam, numbers):
        for number in numbers:
            layer.flat.grad[...] = np.random.default_rng(number).standard_normal(
                layer.flat.data.size
            )
            adam.step(0.1)

    whole, layer = (Linear(3, 2, np.random.default_rng(0)) for _ in range(2))
    steps(whole, Adam(whole), range(6))
    adam = Adam(layer)
    steps(layer, adam, range(4))
    state, weights = adam.state(), layer.flat.data.copy()
    kept = copy.deepcopy(state)
    steps(layer, adam, range(9, 12))
    layer.flat.data[...] = weights
    for target in (adam, Adam(layer)):
        layer.flat.data[...] = weights
        target.set_state(state)
        assert (target.steps, target.skipped) == (4, 0)
        steps(layer, target, range(4, 6))
        np.testing.assert_array_equal(layer.flat.data, whole.flat.data)
    assert state.keys() == kept.keys() and all(np.array_equal(state[n], kept[n]) for n in kept)


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(m=np.zeros(3)), r"m has shape \(3,\), expected shape \(8,\)"),
        (dict(steps=np.zeros(1)), r"steps has shape \(1,\), expected shape \(\)"),
        (dict(v=None), r"v has shape \(\), expected"),
    ],
)
def test_another_state_is_refused(change, words):
    layer = Linear(3, 2, np.random.default_rng(0))
    adam = Adam(layer)
    before = adam.state()
    with pytest.raises(InputError, match="Adam.set_state: " + words):
        adam.set_state({**before, **change})
    with pytest.raises(InputError, match="m has nothing, expected shape"):
        adam.set_state({})
    after = adam.state()
    assert all(np.array_equal(after[name], before[name]) for name in before)
