"""Recurrent layers against PyTorch's, and what padding, states and the first weights are."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minitransformer import InputError, gradcheck
from minitransformer.layers import Linear
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import GRU, LSTM, RNN, Bidirectional, RecurrentStack
from minitransformer.zoo.initial import orthogonal
from tests.helpers.randomised import randomised

KINDS = (RNN, GRU, LSTM)
D, H, B, T = 3, 4, 2, 6


def make(kind, seed=0, d_in=D, size=H):
    return randomised(kind(d_in, size, np.random.default_rng(seed)), seed=seed)


def make_any(kind, sides=1):
    return make(kind) if sides == 1 else Bidirectional(make(kind), make(kind, 1))


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("lengths", [(6, 6), (6, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_pytorch_has_the_same_numbers(kind, lengths, sides):
    """States, final state and every gradient in float64; sentences of two lengths are a packed
    sequence there.

    PyTorch's gates lie in the same order: i, f, g, o of the LSTM; r, z, n of the GRU, whose reset
    gate multiplies the product. It has two biases where one would do; only the GRU's candidate
    needs both.
    """
    torch = pytest.importorskip("torch")
    ours = make_any(kind, sides)
    theirs = getattr(torch.nn, kind.__name__)(
        D, H, batch_first=True, bidirectional=sides == 2
    ).double()
    halves = [ours] if sides == 1 else [ours.left_to_right, ours.right_to_left]
    for layer, end in zip(halves, ("", "_reverse")):
        values = {
            f"weight_ih_l0{end}": layer.input.weight.data.T,
            f"weight_hh_l0{end}": layer.weight.data.T,
            f"bias_ih_l0{end}": layer.input.bias.data,
            f"bias_hh_l0{end}": np.zeros(layer.gates * H),
        }
        if kind is GRU:
            values[f"bias_hh_l0{end}"][2 * H :] = layer.candidate_bias.data
        theirs.load_state_dict(
            {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in values.items()},
            strict=False,
        )
    rng = np.random.default_rng(2)
    x, state = rng.standard_normal((B, T, D)), rng.standard_normal((B, ours.state_size))
    mask = np.arange(T) < np.array(lengths)[:, None]
    dy, dfinal = (
        rng.standard_normal((B, T, sides * H)) * mask[..., None],
        rng.standard_normal(state.shape),
    )

    (y, final), cache = ours.forward(x, state, mask)
    dx, dstate = ours.backward((dy, dfinal), cache)

    def parts(array):  # (B, S) -> PyTorch's (directions, B, H) of h, and of c
        return [
            torch.from_numpy(part).requires_grad_()
            for part in array.reshape(B, -1, sides, H).transpose(1, 2, 0, 3).copy()
        ]

    x_t, state_t = torch.from_numpy(x).requires_grad_(), parts(state)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x_t, lengths, batch_first=True)
    packed, last = theirs(packed, tuple(state_t) if kind is LSTM else state_t[0])
    y_t, _ = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    last = last if kind is LSTM else (last,)
    loss = (y_t * torch.from_numpy(dy)).sum() + sum(
        (one * d).sum() for one, d in zip(last, parts(dfinal))
    )
    loss.backward()

    def joined(arrays):
        return (
            np.stack([array.detach().numpy() for array in arrays])
            .transpose(2, 0, 1, 3)
            .reshape(B, -1)
        )

    near = dict(rtol=0, atol=1e-12)
    np.testing.assert_allclose(y * mask[..., None], y_t.detach().numpy(), **near)
    np.testing.assert_allclose(final, joined(last), **near)
    np.testing.assert_allclose(dx, x_t.grad.numpy(), **near)
    np.testing.assert_allclose(dstate, joined([part.grad for part in state_t]), **near)
    for layer, end in zip(halves, ("", "_reverse")):
        theirs_named = {
            name: parameter.grad.numpy() for name, parameter in theirs.named_parameters()
        }
        np.testing.assert_allclose(
            layer.input.weight.grad.T, theirs_named[f"weight_ih_l0{end}"], **near
        )
        np.testing.assert_allclose(layer.weight.grad.T, theirs_named[f"weight_hh_l0{end}"], **near)
        np.testing.assert_allclose(layer.input.bias.grad, theirs_named[f"bias_ih_l0{end}"], **near)
        if kind is GRU:
            np.testing.assert_allclose(
                layer.candidate_bias.grad, theirs_named[f"bias_hh_l0{end}"][2 * H :], **near
            )


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("scale", [1, 30])
def test_the_gradient_of_one_step(name, scale):
    """Saturated gates too: at 30 most of them are 0 or 1 to the last digit."""
    rng = np.random.default_rng(0)
    gates, parts = {"rnn": (1, 1), "gru": (3, 1), "lstm": (4, 2)}[name]
    inputs = [
        scale * rng.standard_normal((B, gates * H)),
        rng.standard_normal((B, parts * H)),
        rng.standard_normal((H, gates * H)),
        *([rng.standard_normal(H)] if name == "gru" else []),
    ]
    report = gradcheck(
        (getattr(R, f"{name}_step_forward"), getattr(R, f"{name}_step_backward")), inputs
    )
    assert report.passed, f"\n{report}"


@pytest.mark.parametrize("kind", KINDS)
@given(length=st.integers(1, 5), batch=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_a_sequence_is_its_steps(kind, length, batch, seed):
    """One position at a time, the final state handed on: what decoding does."""
    layer, rng = make(kind, seed), np.random.default_rng(seed)
    x, state = (
        rng.standard_normal((batch, length, D)),
        rng.standard_normal((batch, layer.state_size)),
    )
    (y, final), _ = layer.forward(x, state)
    for t in range(length):
        (one, state), _ = layer.forward(x[:, [t]], state)
        np.testing.assert_allclose(one[:, 0], y[:, t], rtol=0, atol=1e-12)
    np.testing.assert_allclose(state, final, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind, sides):
    """Before, between and behind the tokens: the same states, final state and gradients as without
    it.
    """
    layer, rng = make_any(kind, sides), np.random.default_rng(0)
    x, state = rng.standard_normal((B, 3, D)), rng.standard_normal((B, layer.state_size))
    dy, dfinal = rng.standard_normal((B, 3, sides * H)), rng.standard_normal(state.shape)
    real = np.array([False, True, True, False, True, False])
    wide, dwide = np.full((B, 6, D), 7.0), np.zeros((B, 6, sides * H))
    wide[:, real], dwide[:, real] = x, dy
    found = []
    for values, upstream, mask in ((x, dy, None), (wide, dwide, np.tile(real, (B, 1)))):
        layer.zero_grad()
        (y, final), cache = layer.forward(values, state, mask)
        dx, dstate = layer.backward((upstream, dfinal), cache)
        at = slice(None) if mask is None else real
        found.append(
            [
                y[:, at],
                final,
                dx[:, at],
                dstate,
                *(p.grad.copy() for p in layer.parameters().values()),
            ]
        )
        assert mask is None or not dx[:, ~real].any()
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_of_padding_alone_keeps_its_state(kind, sides):
    layer, rng = make_any(kind, sides), np.random.default_rng(0)
    x, state = rng.standard_normal((B, T, D)), rng.standard_normal((B, layer.state_size))
    mask = np.ones((B, T), bool)
    mask[1] = False
    (y, final), cache = layer.forward(x, state, mask)
    np.testing.assert_array_equal(final[1], state[1])
    dx, dstate = layer.backward((np.zeros_like(y), final), cache)
    np.testing.assert_array_equal(dstate[1], final[1])
    assert not dx[1].any()
    (y, final), _ = layer.forward(x, mask=mask)
    assert not final[1].any() and not y[1].any()


def test_huge_inputs_are_finite():
    """exp(-x) of 1 / (1 + exp(-x)) would overflow, and be a warning, which is an error here."""
    assert R.sigmoid(np.array([-1e4, 0, 1e4])).tolist() == [0, 0.5, 1]
    assert R.sigmoid(np.array([-1e4 + 1e-20j, 1e4 + 1e-20j])).tolist() == [0, 1]
    for kind in KINDS:
        (y, _), cache = make(kind).forward(np.full((1, 2, D), 1e5))
        assert np.isfinite(y).all() and np.abs(y).max() <= 1


def test_a_closed_gate_is_not_zero():
    """In float32 each gate has at most a relative error of 1e-6 from -80 to 80: at 0 it could never
    open again.
    """
    x = np.linspace(-80, 80, 1601, dtype=np.float32)
    y = R.sigmoid(x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6, atol=0)


def test_the_two_directions_are_side_by_side():
    """The second half reads from the end; states of LSTMs are h, h, c, c: the state of one that is
    twice as wide.
    """
    layer = make_any(LSTM, 2)
    x = np.random.default_rng(0).standard_normal((B, T, D))
    (y, final), _ = layer.forward(x)
    (left, left_final), _ = layer.left_to_right.forward(x)
    (right, right_final), _ = layer.right_to_left.forward(x[:, ::-1])
    np.testing.assert_array_equal(y, np.concatenate([left, right[:, ::-1]], axis=2))
    np.testing.assert_array_equal(
        final,
        np.concatenate(
            [left_final[:, :H], right_final[:, :H], left_final[:, H:], right_final[:, H:]], axis=1
        ),
    )
    assert layer.hidden_size == 2 * H and layer.state_size == 4 * H


def test_the_states_of_a_stack_are_side_by_side():
    stack = RecurrentStack([make(LSTM), make(GRU, 1, H, 5)])
    rng = np.random.default_rng(0)
    x, state = rng.standard_normal((B, T, D)), rng.standard_normal((B, stack.state_size))
    (y, final), _ = stack.forward(x, state)
    (h, first), _ = stack.layers[0].forward(x, state[:, : 2 * H])
    (expected, second), _ = stack.layers[1].forward(h, state[:, 2 * H :])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(final, np.concatenate([first, second], axis=1))


def test_initial_weights():
    """Orthogonal between states, Xavier's on the input, and zeros but for the LSTM's forget gate."""
    for kind in KINDS:
        layer = kind(50, 40, np.random.default_rng(0))
        for block in np.split(layer.weight.data, layer.gates, axis=1):
            np.testing.assert_allclose(block @ block.T, np.eye(40), atol=1e-6)
        limit = np.sqrt(6 / (50 + layer.gates * 40))
        assert layer.input.weight.data.max() == pytest.approx(limit, rel=0.01)
        bias = layer.input.bias.data
        assert bias[40:80].tolist() == [1] * 40 if kind is LSTM else not bias.any()
        assert bias.sum() == (40 if kind is LSTM else 0)
    first, second = np.split(orthogonal(np.random.default_rng(0), 40, 2).data, 2, axis=1)
    assert np.abs(first - second).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_state_there_is_no_gradient_of_one(kind):
    """As if it were zeros; and gradcheck takes the layer with x alone."""
    x = np.random.default_rng(0).standard_normal((B, T, D))
    for layer in (make(kind), make_any(kind, 2), RecurrentStack([make(kind), make(kind, 1, H)])):
        report = gradcheck(layer, [x], methods=("complex",))
        assert report.passed, f"\n{report}"
        (y, final), cache = layer.forward(x)
        zeros = layer.forward(x, np.zeros_like(final))
        np.testing.assert_array_equal(y, zeros[0][0])
        np.testing.assert_array_equal(
            layer.backward((y, final), cache), layer.backward((y, final), zeros[1])[0]
        )


def back(layer, dy):
    return layer.backward(dy, layer.forward(np.ones((B, T, D)))[1])


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: make(RNN).forward(np.ones((B, T, D)), (np.ones((B, H)),)),
            "RNN: state is a tuple, expected an array",
        ),
        (
            lambda: make(RNN).forward(np.ones((B, T, D)), None, np.ones((B, T))),
            r"RNN: mask has dtype float64, expected bool \(True =",
        ),
        (
            lambda: Bidirectional(make(RNN), make(GRU)),
            "expected two recurrent layers of one kind and of the same sizes",
        ),
        (
            lambda: Bidirectional(make(RNN), make(RNN, 0, D, 9)),
            "expected two recurrent layers of one kind and of the same sizes",
        ),
        (
            lambda: Bidirectional(*[Linear(3, 3, np.random.default_rng(0))] * 2),
            "expected two recurrent layers",
        ),
        (
            lambda: RNN(D, 0, np.random.default_rng(0)),
            "hidden_size is 0, expected a whole number of at least 1",
        ),
        (
            lambda: make(RNN).forward(np.ones((B, T, D), int)),
            "RNN: x has dtype int64, expected real numbers such as float32",
        ),
        (lambda: RNN(D, H, np.random.default_rng(0), 1.0), "the dropout rate is 1.0, expected"),
        (lambda: RecurrentStack([]), "RecurrentStack: expected one or more recurrent layers"),
        (
            lambda: RecurrentStack([Linear(3, 3, np.random.default_rng(0))]),
            "RecurrentStack: expected one or more recurrent layers",
        ),
        (lambda: back(make(RNN), np.ones((B, T, H))), r"RNN: dy has shape"),
        (
            lambda: back(RecurrentStack([make(GRU)]), np.ones((B, T, H))),
            r"RecurrentStack: dy has shape",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, words):
    """Other shapes are refused by every layer: tests/library/layers/test_shapes.py."""
    with pytest.raises(InputError, match=words):
        call()
