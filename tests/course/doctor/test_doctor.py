"""The doctor says what it can prove, says nothing if nothing is wrong; evidence is called so."""

import numpy as np
import pytest

from minitransformer import InputError, functional as F, gradcheck, layers as L
from minitransformer.checking.blocks import blocks
from minitransformer.checking.report import EVIDENCE, NAMED, OBSERVED
from minitransformer.checking.subject import Subject
from minitransformer.dispatch import plugged
from minitransformer_course.diagnosis.operations import OPERATIONS
from minitransformer_course.doctor import doctor, mistakes
from minitransformer_course.doctor.case import case_or_none, other_cases
from minitransformer_course.doctor.doctor import diagnose
from minitransformer_course.doctor.known_mistakes import mistakes_of
from minitransformer_course.doctor.mistakes import mistake
from tests import campaign_but
from tests.helpers.finding import ALL, X, finding


@pytest.mark.parametrize(
    "name",
    campaign_but(
        ALL, "softmax", "linear", "embedding", "encoder-layer", "lstm", "transformer-loss"
    ),
)
def test_silent_on_right_gradients(name):
    block, inputs = blocks(seed=2)[name]
    report = gradcheck(block, inputs, methods=("complex",), projection=True)
    assert report.passed and not report.findings
    assert diagnose(Subject(block, inputs), None) is None


@pytest.mark.parametrize(
    "name",
    campaign_but(
        (
            "linear layer-norm self-attention cross-attention residual feed-forward "
            "encoder-layer learned-positions"
        ).split(),
        "linear",
        "self-attention",
        "residual",
    ),
)
def test_noise_is_no_mistake(name):
    """Right gradients with noise of 1 in 1,000 fail the check, but no mistake is named."""
    block, inputs = blocks(seed=2)[name]

    class Noisy(type(block)):
        def backward(self, dy, cache):
            noise = np.random.default_rng(0)
            before = {name: p.grad.copy() for name, p in self.parameters().items()}
            gradients = super().backward(dy, cache)
            for name, p in self.parameters().items():
                p.grad[...] = before[name] + (p.grad - before[name]) * (
                    1 + 1e-3 * noise.standard_normal(p.shape)
                )
            several = gradients if isinstance(gradients, tuple) else (gradients,)
            several = tuple(g * (1 + 1e-3 * noise.standard_normal(g.shape)) for g in several)
            return several if isinstance(gradients, tuple) else several[0]

    block.__class__ = Noisy
    assert finding(block, inputs).kind in (EVIDENCE, OBSERVED)


def doubled(dy, cache):
    return 2 * F.relu_backward(dy, cache)


def averaged(dy, cache):
    return F.relu_backward(dy, cache) * len(dy)


def test_at_a_batch_of_two_twice_and_times_the_batch_are_kept_apart():
    assert "twice" in finding((F.relu_forward, doubled), (X,)).sentence
    found = finding((F.relu_forward, averaged), (X,))
    assert found.kind == NAMED and "batch" in found.sentence and "twice" not in found.sentence


def test_the_innermost_wrong_block_is_named_in_a_whole_model():
    with plugged(F.softmax_backward, lambda dp, cache: cache.p * (1 - cache.p) * dp):
        found = finding(*ALL["transformer"])
    assert found.kind == NAMED and "diagonal" in found.sentence
    assert found.place.endswith("attention.softmax")
    assert found.after < 1e-10 < found.before
    assert "functional.softmax" in found.read


def test_every_innermost_wrong_block_is_named():
    """Two mistakes in one layer: each is wrong in itself, and neither hides the other."""
    with (
        plugged(F.softmax_backward, lambda dp, cache: cache.p * dp),
        plugged(F.relu_backward, lambda dy, cache: 2 * dy * cache.positive),
    ):
        found = finding(*ALL["decoder-layer"])
    assert found.place == "feed_forward.relu" and found.kind == NAMED
    assert found.also == ("cross_attention.softmax", "self_attention.softmax")
    assert "also wrong: cross_attention.softmax, self_attention.softmax" in str(found)
    with plugged(F.softmax_backward, lambda dp, cache: cache.p * dp):
        assert finding(*ALL["decoder-layer"]).also == ("softmax in 1 other place",)


@pytest.mark.parametrize(
    "factor, kind",
    [(2, NAMED), (0.7, NAMED), (2 / 3, NAMED), (0.7548776662, OBSERVED), (np.sqrt(1.3), OBSERVED)],
)
def test_a_constant_is_named_only_if_it_is_simple(factor, kind):
    assert (
        finding((F.relu_forward, lambda dy, cache: factor * F.relu_backward(dy, cache)), (X,)).kind
        == kind
    )


def test_an_upstream_gradient_of_one_number_is_no_constant():
    """A loss has one number: if it is forgotten, the doctor must not report a factor."""

    def forgotten(dloss, cache):
        return F.cross_entropy_backward.textbook(1.0, cache)

    with plugged(F.cross_entropy_backward, forgotten):
        found = finding(*ALL["cross-entropy"])
    assert found.kind == NAMED and "lacks the factor `dloss`" in found.sentence
    case = case_or_none(Subject(*ALL["cross-entropy"]))
    upstream = [float(one.dy) for one in (case, *other_cases(case))]
    assert len(set(upstream)) == len(upstream) > 1


def test_a_parameter_that_the_forward_does_not_use():
    class WithoutBias(L.Linear):
        def forward(self, x):
            return x @ self.weight.data, L.Linear.forward(self, x)[1]

    found = finding(WithoutBias(5, 4, np.random.default_rng(0)), (X,))
    assert (
        found.kind == NAMED and found.array == "bias" and "does not depend on it" in found.sentence
    )


def test_a_forward_that_rounds_is_not_taken_for_one_that_does_not_use_its_input():
    found = finding((lambda x: (np.round(x * x, 2), x), lambda dy, x: 2 * x * dy), (X,))
    assert found.kind != NAMED and "does not use" not in found.sentence
    found = finding(
        (lambda x: (x[:1], x), lambda dy, x: np.repeat(dy, len(x), axis=0)), (X,)
    )  # y is a view of x
    assert "does not use" not in found.sentence


def test_what_the_doctor_itself_gets_wrong_is_raised(monkeypatch):
    def broken(case):
        raise IndexError("a mistake of the doctor's own")

    monkeypatch.setattr(doctor, "find_counterpart", broken)
    with pytest.raises(IndexError):
        gradcheck((F.relu_forward, doubled), (X,))


def test_where_the_worst_number_is():
    def wrong(dy, cache):
        dx = F.relu_backward(dy, cache)
        dx[1, 0, 2] += 7
        return dx

    found = finding((F.relu_forward, wrong), (X,))
    assert found.kind == EVIDENCE
    assert (
        found.array == "x"
        and found.index == (1, 0, 2)
        and abs(found.analytic - found.numeric - 7) < 1e-9
    )
    assert found.where.startswith("x[1, 0, 2]: ")


def test_a_class_of_the_readers_own_that_computes_a_known_block():
    class MyLinear(L.Layer):
        def __init__(self):
            made = L.Linear(5, 4, np.random.default_rng(0))
            self.weight, self.bias = made.weight, made.bias

        def forward(self, x):
            return x @ self.weight.data + self.bias.data, x

        def backward(self, dy, x):
            self.weight.grad += x.reshape(-1, 5).T @ dy.reshape(-1, 4)
            return dy @ self.weight.data.T

    found = finding(MyLinear(), (X,))
    assert found.kind == NAMED and "bias" in found.sentence and "missing" in found.sentence


class OwnNorm(L.Layer):
    """A LayerNorm whose author uses different names for everything."""

    def __init__(this, width):
        made = L.LayerNorm(width)
        this.shift, this.scale = made.beta, made.gamma
        this.scale.data += np.arange(width, dtype="f4")

    def forward(this, z):
        c = z - z.mean(-1, keepdims=True)
        s = 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)
        return this.shift.data + this.scale.data * c * s, (c * s, s)

    def backward(this, dy, cache):
        n, s = cache
        this.scale.grad += (dy * n).sum((0, 1))
        this.shift.grad += dy.sum((0, 1))
        dn = dy * this.scale.data
        return s * (dn - n * (dn * n).mean(-1, keepdims=True))


class OwnNet(L.Layer):
    def __init__(this):
        this.first, this.norm = L.Linear(5, 4, np.random.default_rng(0)), OwnNorm(4)

    def forward(this, z):
        h, a = this.first.forward(z)
        y, b = this.norm.forward(h)
        return y, (a, b)

    def backward(this, dy, cache):
        return this.first.backward(this.norm.backward(dy, cache[1]), cache[0])


def test_layers_of_the_readers_own_with_names_of_their_own():
    found = finding(OwnNet(), (X,))
    assert (
        found.kind == NAMED
        and found.place == "norm (OwnNorm)"
        and "backward takes `z.mean(-1, keepdims=True)`" in found.sentence
    )


def test_two_mistakes_at_once_in_one_block_are_not_taken_for_a_third():
    def two(dy, cache):
        dx, dgamma, dbeta = F.layer_norm_backward.textbook(dy, cache)
        return dx + cache.inverse * dy.mean(-1, keepdims=True), dgamma * cache.gamma, dbeta

    assert finding((F.layer_norm_forward, two), (X, X[0, 0], X[1, 1])).kind == EVIDENCE


def test_a_block_that_is_nothing_known():
    found = finding((lambda x: (np.sin(x), x), lambda dy, x: dy * np.cos(x) ** 2), (X,))
    assert found.kind == EVIDENCE and "no mistake is proven" in str(found)
    found = finding(
        (
            lambda x, z: (np.sin(x) * z, (x, z)),
            lambda dy, c: (dy * np.sin(c[0]), dy * np.cos(c[0]) * c[1]),
        ),
        (X, X + 1),
    )
    assert found.kind == NAMED and "swapped" in found.sentence


def test_a_forward_for_real_numbers_only():
    def forward(x):
        return np.cbrt(x), x

    block = forward, lambda dy, x: -dy / (3 * np.cbrt(x) ** 2)
    assert finding(block, (X,), methods=("central",)).kind == EVIDENCE
    assert "complex" in finding(block, (X,)).sentence
    assert gradcheck(
        (forward, lambda dy, x: dy / (3 * np.cbrt(x) ** 2)), (X,), methods=("central",)
    ).passed


def test_a_block_that_runs_at_one_size_only_gets_evidence():
    found = finding((lambda x: ((x * x).reshape(2, 3, 5), x), lambda dy, x: x * dy), (X,))
    assert found.kind == EVIDENCE and "only at the given sizes" in found.sentence


def test_the_report():
    report = gradcheck((F.relu_forward, doubled), [X], name="mine", methods=("complex",))
    assert f"mine: {report.findings['mine']}" in str(report).splitlines()
    assert str(report).splitlines()[-1].startswith("1 of 1 checks FAILED")
    assert "with this undone the error falls from 5e-01 to" in str(report)
    assert report.findings["mine"].kind == NAMED
    passed = gradcheck(L.Linear(5, 4, np.random.default_rng(0)), [X])
    passed.raise_if_failed()
    assert (report + passed).findings == report.findings and not (report + passed).passed


def test_a_mistake_can_be_taught():
    def to_the_fifth(dp, cache):
        return cache.p**5 * dp

    sentence = "p to the fifth power, which nobody does"
    with plugged(F.softmax_backward, to_the_fifth):
        assert finding(*ALL["softmax"]).kind == EVIDENCE
        mistake("softmax", sentence)(to_the_fifth)
        try:
            assert finding(*ALL["softmax"]).sentence == sentence
        finally:
            mistakes.TAUGHT.pop()
    with pytest.raises(InputError, match="no operation 'sofmax'; did you mean softmax"):
        mistake("sofmax", sentence)
    with pytest.raises(InputError, match="takes 'z'"):
        mistake("softmax", sentence)(lambda dp, cache, z: dp)


def test_every_taught_mistake_is_a_sentence_of_its_own():
    taught = [(one.of, one.sentence) for name in OPERATIONS for one in mistakes_of([name])]
    assert len(set(taught)) == len(taught)


def test_a_sublayer_may_be_called_dropout():
    class Dropped(L.Layer):
        def __init__(self):
            self.dropout = L.Linear(5, 5, np.random.default_rng(0))

        def forward(self, x):
            return self.dropout.forward(x)

        def backward(self, dy, cache):
            return 1.7 * self.dropout.backward(dy, cache)

    report = gradcheck(
        Dropped(), [np.random.default_rng(1).standard_normal((2, 3, 5))], name="mine"
    )
    assert "1.7 times" in report.findings["mine"].sentence


def test_a_bias_that_is_still_zero_can_be_diagnosed():
    class FirstRow(L.Linear):
        def backward(self, dy, cache):
            self.weight.grad += cache.x.T @ dy
            self.bias.grad += dy[0]
            return dy @ self.weight.data.T

    layer = FirstRow(3, 2, np.random.default_rng(0))
    report = gradcheck(layer, [np.random.default_rng(1).standard_normal((4, 3))], name="mine")
    assert "could not examine" not in str(report.findings["mine"])


def test_a_wrong_backward_of_the_library_is_not_blamed_on_its_forward(monkeypatch):
    """The mean of x * centred is the variance, too: a changed forward that gives the same y
    explains nothing.
    """
    function, right = F.layer_norm_backward, F.layer_norm_backward.textbook

    def wrong(dy, cache):
        dx, dgamma, dbeta = right(dy, cache)
        return dx + dx.mean(axis=-2, keepdims=True), dgamma, dbeta

    monkeypatch.setattr(function, "textbook", wrong)
    function.choose()
    try:
        report = str(gradcheck(L.LayerNorm(5), [X]))
    finally:
        monkeypatch.undo()
        function.choose()
    assert "FAILED" in report and "in forward" not in report, report
