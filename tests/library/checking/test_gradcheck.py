"""The checker itself: it must detect every wrong gradient, and only wrong ones."""

import math
import pkgutil
import re
from importlib import import_module

import numpy as np
import pytest

import minitransformer
from minitransformer import gradcheck
from minitransformer import functional as F
from minitransformer import layers as L
from minitransformer import models as M
from minitransformer.checking import BOUNDS, Report, Result
from minitransformer.checking.blocks import blocks
from minitransformer.checking.blocks import TrainingLoss
from minitransformer.dispatch import plugged
from minitransformer.zoo.baselines import RNN
from minitransformer_course.diagnosis.operations import OPERATIONS

X = np.random.default_rng(3).standard_normal((2, 3, 5))


@pytest.mark.parametrize("name", ["transformer", "language-model", "classifier", "lstm-model"])
def test_a_whole_model_is_checked_with_dropout(name, without_the_doctor):
    with plugged(F.dropout_backward, lambda dy, cache: dy):
        assert not gradcheck(*blocks()[name], methods=("complex",), projection=True).passed


def subclasses(cls):
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


def test_every_layer_is_among_the_blocks():
    """Or a class that is made of it; and every model is there as training runs it, with and without
    what its loss shares.
    """
    for room in ("layers", "models", "zoo"):
        for module in pkgutil.walk_packages(
            [f"{minitransformer.__path__[0]}/{room}"], f"minitransformer.{room}."
        ):
            import_module(module.name)
    instances = [block for block, _ in blocks().values() if isinstance(block, L.Layer)]
    classes = [
        cls
        for cls in subclasses(L.Layer)
        if re.match(r"minitransformer\.(layers|models|zoo)\.", cls.__module__)
        and cls is not L.LinearCrossEntropy  # with the layer that it asks: in every TrainingLoss
    ]
    assert len(classes) > 50
    assert not [cls for cls in classes if not any(isinstance(one, cls) for one in instances)]
    assert {type(block.model) for block in instances if isinstance(block, TrainingLoss)} == set(
        map(M.MODELS.__getitem__, M.MODELS)
    )


def test_the_doctor_knows_every_operation():
    """A room of the package that it does not scan would be lost without a word."""
    rooms = [operation.forward.__module__.split(".")[1] for operation in OPERATIONS.values()]
    assert {room: rooms.count(room) for room in rooms} == {
        "functional": 7,
        "layers": 23,
        "models": 5,
        "zoo": 26,
    }


class WrongLinear(L.Linear):
    """Linear with a selectable mistake in its backward."""

    def __init__(self, mistake):
        super().__init__(5, 4, np.random.default_rng(0))
        self.mistake = mistake

    def backward(self, dy, cache):
        old = self.weight.grad.copy()
        dx = super().backward(dy, cache)
        if self.mistake == "dx a little too large":
            dx = dx * (1 + 1e-6)
        elif self.mistake == "no bias gradient":
            self.bias.grad[...] = 0
        elif self.mistake == "wrong sign":
            self.weight.grad[...] = old - (self.weight.grad - old)
        elif self.mistake == "one element of nan":
            dx[1, 0, 2] = np.nan
        elif self.mistake == "bias of nan":
            self.bias.grad[0] = np.nan
        return dx


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize(
    "mistake, wrt",
    [
        ("dx a little too large", "x"),
        ("no bias gradient", "bias"),
        ("wrong sign", "weight"),
        ("one element of nan", "x"),
        ("bias of nan", "bias"),
    ],
)
def test_a_wrong_gradient_fails(mistake, wrt, projection):
    report = gradcheck(WrongLinear(mistake), (X,), methods=("complex",), projection=projection)
    assert not report.passed
    assert {result.wrt for result in report.results if not result.passed} == {wrt}
    assert "1 of 3 checks FAILED" in str(report)
    assert ("nan (bound" in str(report)) == ("nan" in mistake)


def test_where_the_error_is():
    report = gradcheck(WrongLinear("one element of nan"), (X,), methods=("central",))
    (failed,) = [result for result in report.results if not result.passed]
    assert failed.index == (1, 0, 2)
    assert math.isnan(failed.analytic) and math.isfinite(failed.numeric)


def test_both_methods_by_default_and_the_size_decides():
    report = gradcheck(L.Linear(5, 4, np.random.default_rng(0)), (X,))
    assert {result.method for result in report.results} == {"central", "complex"}
    report = gradcheck(L.Linear(5, 800, np.random.default_rng(0)), (X,))
    assert {result.method for result in report.results} == {
        "central projection",
        "complex projection",
    }


def test_the_error_is_relative_with_a_floor():
    """An error of 1e-9 in a gradient that is 0 counts against a tenth of the largest gradient."""

    def forward(x, z):
        return np.concatenate([100 * x, 0 * z]), None

    def backward(dy, cache):
        return 100 * dy[:3], 1e-9 * np.ones(3)

    report = gradcheck((forward, backward), (np.ones(3), np.ones(3)), methods=("complex",))
    errors = {result.wrt: result.max_relative_error for result in report.results}
    assert (
        1e-9 / (300 / 10) < errors["z"] < 1e-9 / (50 / 10)
    )  # the largest is 100 times a normal number


def test_a_forward_that_returns_its_input():
    assert gradcheck((lambda x: (x, None), lambda dy, cache: dy), (X,)).passed
    assert not gradcheck((lambda x: (x, None), lambda dy, cache: 0 * dy), (X,)).passed


def test_strong_curvature_does_not_excuse_a_wrong_gradient():
    """sin(300 x) curves strongly; a gradient wrong by 1e-3 fails, and none of its places is taken
    for a kink.
    """

    def forward(x):
        return np.sin(300 * x), x

    def wrong(dy, x):
        return dy * 300 * np.cos(300 * x) * (1 + 1e-3)

    report = gradcheck((forward, wrong), (X,), methods=("central",))
    assert not report.passed and report.results[0].left_out == 0


def test_a_jump_is_no_kink():
    x = X.copy()
    x[0, 0, 0] = 0
    assert not gradcheck(
        (lambda x: ((x.real > 0) * 1.0, None), lambda dy, cache: 7 * dy), (x,), methods=("central",)
    ).passed


def test_a_kink_within_the_step():
    x = X.copy()
    x[0, 0, 0] = 1e-6
    report = gradcheck((F.relu_forward, F.relu_backward), (x,), methods=("central",))
    assert report.passed and report.results[0].left_out == 1


def test_a_bias_alone_is_not_single_precision():
    """Where the only hidden unit is off, the output is the bias, whose values are float32's: the
    layer computes in float64.
    """
    layer = L.FeedForward(4, 1, np.random.default_rng(0))
    layer.outer.bias.data[...] = [0.1, 0.2, 0.3, 0.4]
    for seed in range(8):
        assert gradcheck(layer, [np.random.default_rng(seed).standard_normal((1, 1, 4))]).passed


def test_where_all_gradients_are_zero_both_must_be():
    def forward(x):
        return 0 * x, None

    assert gradcheck((forward, lambda dy, cache: 0 * dy), (X,)).passed
    assert not gradcheck((forward, lambda dy, cache: 0 * dy + 1e-300), (X,)).passed


def test_inputs_by_name():
    inputs = {"mask": np.array([True, False, True, True, True]), "x": X}
    assert gradcheck((F.softmax_forward, F.softmax_backward), inputs).passed
    layer = L.CrossAttention(5, 1, np.random.default_rng(0))
    assert gradcheck(layer, {"memory": X[:, :2] + 1, "x": X}, methods=("complex",)).passed


class WithoutState(RNN):
    """Its backward ignores the gradient of the last state."""

    def backward(self, dy, cache):
        return super().backward((dy[0], 0 * dy[1]), cache)


@pytest.mark.parametrize("projection", [False, True])
def test_a_forward_that_returns_several_outputs(projection):
    assert gradcheck(RNN(5, 4, np.random.default_rng(0)), (X,), projection=projection).passed
    report = gradcheck(WithoutState(5, 4, np.random.default_rng(0)), (X,), projection=projection)
    assert not report.passed and report.findings


def test_a_dropped_imaginary_part_does_not_pass_with_the_complex_step_alone():
    """The complex step of x / x.std() misses the path through the standard deviation, and so does
    this backward.
    """
    block = lambda x: (x / x.std(), x), lambda dy, x: dy / x.std()
    for methods in (("complex",), ("central",), ("central", "complex")):
        assert not gradcheck(block, (X,), methods=methods).passed


def test_the_bounds():
    assert BOUNDS == {
        "central": 1e-7,
        "complex": 1e-12,
        "central projection": 1e-6,
        "complex projection": 1e-12,
        "kernels float32": 2e-5,
        "kernels float64": 1e-12,
    }


def test_the_layer_is_left_alone():
    layer = L.Linear(5, 4, np.random.default_rng(0))
    before = layer.weight.data.copy()
    gradcheck(layer, (X,))
    np.testing.assert_array_equal(layer.weight.data, before)
    assert not layer.weight.grad.any()


def test_the_worst_row_of_a_block():
    rows = [
        Result("a", "x", "complex", 1e-15, None, 1, 1),
        Result("a", "y", "complex", 1e-3, None, 1, 2),
    ]
    (row,) = Report(rows).worst_rows
    assert (
        row.wrt == "y"
        and not row.passed
        and Report(rows).conclusions[0].startswith("1 of 2 checks FAILED")
    )


def test_an_optional_argument_before_others_may_be_left_out():
    def forward(x, mask=None, *others):
        return x * x, x

    assert gradcheck((forward, lambda dy, x: 2 * x * dy), [np.ones(3)]).passed
