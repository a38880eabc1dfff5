"""What strangers give to the checker works, or is refused in a line that says what to write."""

from typing import NamedTuple

import numpy as np
import pytest

from minitransformer import InputError, Parameter, gradcheck
from minitransformer.layers import Layer

pytestmark = pytest.mark.usefixtures("without_the_doctor")
RNG = np.random.default_rng
X = RNG(3).standard_normal((2, 3))
H, C = RNG(4).standard_normal((2, 2, 3))


class Scale(Layer):
    """y = a x, with a number a."""

    def __init__(self, a, factor=1):
        self.a, self.factor = Parameter(a), factor

    def forward(self, x):
        return self.a.data * x, x

    def backward(self, dy, x):
        self.a.grad += self.factor * (dy * x).sum()
        return self.a.data * dy


class Reassigned(Scale):
    def backward(self, dy, x):
        self.a.grad = self.a.grad + self.factor * (dy * x).sum()
        return self.a.data * dy


@pytest.mark.parametrize("a", [np.array(3.0), np.float64(3.0), np.float32(3.0), np.array(0.0)])
@pytest.mark.parametrize("layer", [Scale, Reassigned])
def test_a_parameter_without_axes(layer, a):
    gradcheck(layer(a), [X]).raise_if_failed()
    assert not gradcheck(layer(a, 2), [X]).passed


def test_an_input_without_axes():
    gradcheck(Scale(np.array(3.0)), [np.array(2.0)]).raise_if_failed()


def test_a_parameter_without_numbers():
    layer = Scale(np.array(3.0))
    layer.bias = Parameter(np.zeros((0, 4)))
    gradcheck(layer, [X]).raise_if_failed()


def test_a_bare_array_is_an_input():
    square = lambda x: (x * x, x), lambda dy, x: 2 * x * dy
    assert gradcheck(square, X).results == gradcheck(square, [X]).results


class State(NamedTuple):
    h: np.ndarray
    c: np.ndarray


def step(x, state):
    h, c = state
    y = np.tanh(x + h)
    return State(y * c, y), (y, c)


def step_backward(dy, cache):
    y, c = cache
    da = (dy.h * c + dy.c) * (1 - y * y)
    return da, (da, dy.h * y)


@pytest.mark.parametrize("state", [(H, C), [H, C], State(H, C)])
def test_a_tuple_of_inputs_and_a_named_tuple_of_outputs(state):
    report = gradcheck((step, step_backward), [X, state])
    report.raise_if_failed()
    assert {result.wrt for result in report.results} == {"x", "state[0]", "state[1]"}
    swapped = lambda dy, cache: (step_backward(dy, cache)[0], step_backward(dy, cache)[1][::-1])
    assert not gradcheck((step, swapped), [X, state]).passed


def test_a_named_tuple_is_given_to_forward_as_it_is():
    def forward(x, state):
        return x * state.h, (x, state.h)

    backward = lambda dy, cache: (dy * cache[1], dy * cache[0], np.zeros(dy.shape))
    gradcheck((forward, backward), [X, State(H, C)]).raise_if_failed()


def test_outputs_within_outputs():
    forward = lambda x: ((x * x, (x.sum(), 2 * x)), x)
    backward = lambda dy, x: 2 * x * dy[0] + dy[1][0] + 2 * dy[1][1]
    gradcheck((forward, backward), [X]).raise_if_failed()
    assert not gradcheck((forward, lambda dy, x: 2 * x * dy[0] + 2 * dy[1][1]), [X]).passed


def test_an_input_and_a_parameter_of_one_name():
    class Twice(Layer):
        def __init__(self, factor):
            self.x, self.factor = Parameter(H.copy()), factor

        def forward(self, x):
            return x * self.x.data, x

        def backward(self, dy, x):
            self.x.grad += dy * x
            return self.factor * dy * self.x.data

    report = gradcheck(Twice(1), [X])
    report.raise_if_failed()
    assert {result.wrt for result in report.results} == {"x", "self.x"}
    assert not gradcheck(Twice(2), [X]).passed


def dropped(x, rng):
    mask = rng.random(x.shape) > 0.5
    return x * mask, mask


def dropped_by(x, generator):
    return dropped(x, generator)


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (dropped, [X, RNG(0)]),
        (dropped, [RNG(0), X]),
        (dropped, {"x": X, "rng": RNG(0)}),
        (dropped_by, [X, RNG(0)]),
    ],
)
def test_a_generator_begins_each_evaluation_in_the_same_state(forward, inputs):
    gradcheck((forward, lambda dy, mask: dy * mask), inputs).raise_if_failed()


def test_no_generator_where_none_is_given():
    forward = lambda x, rng=None: (x if rng is None else 0 * x, None)
    gradcheck((forward, lambda dy, cache: dy), {"x": X, "rng": None}).raise_if_failed()


SQUARE = lambda x: (x * x, x), lambda dy, x: 2 * x * dy


@pytest.mark.parametrize(
    "block, inputs, words",
    [
        (
            SQUARE,
            3.0,
            r"the inputs are a float, expected a list of forward's arguments, such as \[x",
        ),
        (SQUARE, "x", "the inputs are a str, expected a list"),
        (SQUARE, [[1.0, 2.0]], r"x is a list of numbers, expected an array: np.array\(...\)"),
        (SQUARE, [1j * X], "x is complex128, expected real numbers"),
        (Scale(np.array(1j)), [X], "a is complex128, expected real numbers"),
        (SQUARE, [X[:0]], r"x of <lambda> has shape \(0, 3\): no numbers to check; give it some"),
        (SQUARE, [None], "nothing to check: no parameter, and no input is a float array"),
    ],
)
def test_what_is_refused(block, inputs, words):
    with pytest.raises(InputError, match=words) as refused:
        gradcheck(block, inputs)
    assert "\n" not in str(refused.value)


def test_an_integer_parameter_is_refused_where_it_is_made():
    with pytest.raises(InputError, match="data is int64, expected float32, float64 or complex128"):
        Scale(np.array(3))


@pytest.mark.parametrize(
    "forward, backward, words",
    [
        (lambda x: ([x, x], x), lambda dy, x: dy, "forward returns a list as y, expected an array"),
        (lambda x: ({"y": x}, x), lambda dy, x: dy, "forward returns a dict as y"),
        (lambda x: (x * x, x), lambda dy, x: [2 * x * dy], "backward returns a list"),
        (lambda x: (x * x, x), lambda dy, x: None, "backward returned 0 gradients, expected 1"),
        (lambda x: (x * x, x), lambda dy, x: (None,), "backward returns None for x"),
        (lambda x: (x * x, x), lambda dy, x: np, "the gradient for x is not an array"),
    ],
)
def test_what_a_block_returns_is_said_in_a_line(forward, backward, words):
    report = gradcheck((forward, backward), [X], name="it")
    assert not report.passed and words in str(report)


def test_functions_that_no_module_has():
    """As a string, or a cell that is executed, makes them."""
    made = {}
    exec("def forward(x): return x * x, x\ndef backward(dy, x): return dy * x", made)
    assert made["forward"].__module__ is None
    report = gradcheck((made["forward"], made["backward"]), [np.array([1.0, 2.0])])
    assert not report.passed
