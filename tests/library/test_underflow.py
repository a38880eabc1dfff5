"""Numbers that are meant to become 0 raise nothing, whatever np.seterr says: exp far below its
peak, closed gates.
"""

from contextlib import nullcontext

import numpy as np
import pytest

from minitransformer import Adam, functional as F, training_step
from minitransformer.decoding import beam_search, sample
from minitransformer.layers import OutputProjection
from minitransformer.layers.parameter import Parameter
from minitransformer.speed.kernels import kernels_run
from minitransformer.zoo.baselines import GRU, LSTM, AdditiveAttention
from tests.helpers.kernels import LOSS
from tests.helpers.models import KINDS, make_batch_for, make_model

RNG = np.random.default_rng(0)
FAR = (60 * RNG.standard_normal((2, 3, 8, 16))).astype(
    "float32"
)  # scores up to 200 apart: some exponentials are denormal


def recurrent(kind):
    layer = kind(16, 8, np.random.default_rng(0))
    return layer.forward(FAR[0])[0][0]


def additive():
    layer = AdditiveAttention(16, 16, 9, np.random.default_rng(0))
    layer.weight.data[...] *= 99
    return layer.forward(FAR[0] / 60, FAR[0] / 60)[0]


CALLS = {
    "softmax": lambda: F.softmax_forward(FAR)[0],
    "attention": lambda: F.attention_forward(
        FAR, FAR, FAR / 1e3, dropout_rate=0.1, rng=np.random.default_rng(0)
    )[0],
    "cross-entropy": lambda: F.cross_entropy_forward(
        FAR, np.ones(FAR.shape[:-1], int), padding=None
    )[0],
    "linear-cross-entropy": lambda: LOSS.forward(
        FAR[0],
        OutputProjection(8, 16, weight=Parameter(FAR[1, 0])),
        np.ones((3, 8), int),
        padding=None,
    )[0],
    "lstm": lambda: recurrent(LSTM),
    "gru": lambda: recurrent(GRU),
    "additive": additive,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("fast", [True, False])
def test_forward(name, fast):
    with kernels_run() if fast else nullcontext():
        expected = CALLS[name]()
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(CALLS[name](), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_and_a_search(kind):
    model, batch = make_model(kind, 0, num_layers=1).astype("float32"), make_batch_for(kind, 0, 2)
    model.flat.data[...] *= 40
    with np.errstate(all="raise"):
        training_step(model, Adam(model), batch, 1e-3, smoothing=0.1)
        if kind in ("transformer", "language-model"):
            ids = batch.inputs[0][:, :2]  # a prompt has no padding
            beam_search(model, ids, width=2, max_length=4)
            sample(model, ids, [np.random.default_rng(0)] * len(ids), max_length=4)
