"""Convolutions over time against PyTorch's and against their definition, and what padding and wide
kernels are.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer import InputError
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import Convolution, SeparableConvolution
from tests.helpers.randomised import randomised

KINDS = (Convolution, SeparableConvolution)
B, T, D_IN, D_OUT = 2, 6, 3, 4


def make(kind, kernel_size=3, dilation=1, causal=False, seed=0):
    return randomised(
        kind(D_IN, D_OUT, np.random.default_rng(seed), kernel_size, dilation, causal), seed=seed
    )


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.filterwarnings("ignore:Using padding=.same.:UserWarning")  # it copies, as we do
@pytest.mark.parametrize(
    "kernel_size, dilation",
    [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 3), (9, 1), (9, 2)],
)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_pytorch_has_the_same_numbers(kind, kernel_size, dilation, causal):
    """Outputs and every gradient in float64; an even kernel's extra position and kernels wider than
    the text included.
    """
    torch = pytest.importorskip("torch")
    ours = make(kind, kernel_size, dilation, causal)
    x, dy = array(B, T, D_IN), array(B, T, D_OUT, seed=1)
    y, cache = ours.forward(x)
    dx = ours.backward(dy, cache)

    def tensor(array):
        return torch.from_numpy(np.ascontiguousarray(array)).requires_grad_()

    x_t = tensor(x)
    reach = dilation * (kernel_size - 1)
    left = reach if causal else reach // 2
    padded = torch.nn.functional.pad(x_t.transpose(1, 2), (left, reach - left))
    if kind is Convolution:
        weight = tensor(ours.weight.data.transpose(2, 1, 0))  # (D_out, D_in, K)
        bias = tensor(ours.bias.data)
        y_t = torch.nn.functional.conv1d(padded, weight, bias, dilation=dilation)
        if not causal:  # PyTorch's own name for it means the same
            same = torch.nn.functional.conv1d(
                x_t.transpose(1, 2), weight, bias, padding="same", dilation=dilation
            )
            np.testing.assert_allclose(y, same.transpose(1, 2).detach().numpy(), rtol=0, atol=1e-12)
        gradients = [(weight, ours.weight.grad.transpose(2, 1, 0)), (bias, ours.bias.grad)]
    else:
        weight = tensor(ours.weight.data.T[:, None])  # (D_in, 1, K)
        pointwise, bias = (
            tensor(ours.pointwise.weight.data.T[:, :, None]),
            tensor(ours.pointwise.bias.data),
        )
        h = torch.nn.functional.conv1d(padded, weight, dilation=dilation, groups=D_IN)
        y_t = torch.nn.functional.conv1d(h, pointwise, bias)
        gradients = [
            (weight, ours.weight.grad.T[:, None]),
            (pointwise, ours.pointwise.weight.grad.T[:, :, None]),
            (bias, ours.pointwise.bias.grad),
        ]
    (y_t.transpose(1, 2) * torch.from_numpy(dy)).sum().backward()
    np.testing.assert_allclose(y, y_t.transpose(1, 2).detach().numpy(), rtol=0, atol=1e-12)
    for theirs, gradient in [(x_t, dx), *gradients]:
        np.testing.assert_allclose(gradient, theirs.grad.numpy(), rtol=0, atol=1e-12)


@given(
    length=st.integers(1, 6),
    size=st.integers(1, 9),
    dilation=st.integers(1, 3),
    causal=st.booleans(),
)
def test_windows_are_their_definition(length, size, dilation, causal):
    x = array(B, length, D_IN)
    windows, _ = R.windows_forward(x, size, dilation, causal)
    left = dilation * (size - 1) if causal else dilation * (size - 1) // 2
    for t, k in np.ndindex(length, size):
        at = t + dilation * k - left
        np.testing.assert_array_equal(
            windows[:, t, k], x[:, at] if 0 <= at < length else np.zeros((B, D_IN))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_causal_convolution_sees_nothing_later(kind):
    layer, x = make(kind, 3, 2, causal=True), array(B, T, D_IN)
    y, _ = layer.forward(x)
    changed = x.copy()
    changed[:, 4:] += 1
    other, _ = layer.forward(changed)
    np.testing.assert_array_equal(y[:, :4], other[:, :4])
    assert (y[:, 4:] != other[:, 4:]).any()


def test_initial_weights_keep_the_variance():
    """Of what goes in: about the same comes out, whatever the kernel's size."""
    for kind in KINDS:
        for size in (1, 3, 15):
            layer = kind(200, 200, np.random.default_rng(0), size)
            y, _ = layer.forward(
                np.random.default_rng(1).standard_normal((1, 400, 200)).astype(np.float32)
            )
            assert y[0, 20:-20].std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: make(Convolution, 0), "kernel_size is 0, expected a whole number of at least 1"),
        (lambda: make(SeparableConvolution, 2.5), "kernel_size is 2.5, expected a whole number"),
        (lambda: make(Convolution, 3, 0), "dilation is 0, expected a whole number of at least 1"),
        (
            lambda: make(Convolution).forward(np.ones((B, T, D_IN), int)),
            "Convolution: x has dtype int64, expected real numbers",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, words):
    with pytest.raises(InputError, match=words):
        call()
