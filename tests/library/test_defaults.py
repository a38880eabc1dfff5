"""The defaults: the paper's values, and no dropout. A changed default is a changed result."""

import inspect

import numpy as np
import pytest

from minitransformer import (
    Adam,
    Search,
    TransformerConfig,
    beam_search,
    functional as F,
    sample,
    schedule,
    training_step,
)
from minitransformer.decoding import generate
from minitransformer.layers import (
    Encoder,
    EncoderLayer,
    FeedForward,
    LinearCrossEntropy,
    MultiHeadAttention,
    Residual,
    StackConfig,
)
from minitransformer.layers.config import NAMED
from minitransformer.models import Classifier, LanguageModel, LanguageModelConfig, Transformer
from minitransformer.training.step import add_gradients
from minitransformer.speed.local import LocalProcesses
from minitransformer.speed.processes import Processes
from minitransformer.speed.threads import Threads
from minitransformer.zoo import baselines as R, modern as S
from minitransformer.zoo.baselines import (
    GRU,
    LSTM,
    RNN,
    AttentionalState,
    Convolution,
    RecurrentConfig,
    RecurrentStack,
    RestrictedSelfAttention,
    SeparableConvolution,
)
from minitransformer.zoo.recurrent.model import NAMED as RECURRENT

DEFAULTS = [
    (F.attention_forward, dict(mask=None, dropout_rate=0.0, rng=None)),
    (F.cross_entropy_forward, dict(smoothing=0.0)),
    (F.layer_norm_forward, dict(epsilon=1e-5)),  # PyTorch's
    *[
        (function, dict(dilation=1, causal=False))
        for function in (R.windows_forward, R.convolution_forward, R.depthwise_convolution_forward)
    ],
    (R.restricted_attention_forward, dict(causal=False, mask=None, dropout_rate=0.0, rng=None)),
    *[(function, dict(epsilon=1e-5)) for function in (S.rms_norm_forward, S.RMSNorm)],
    (
        S.rotary_forward,
        dict(positions=None, base=10000.0, layout="interleaved"),
    ),  # as in their paper
    (S.grouped_attention_forward, dict(mask=None, dropout_rate=0.0, rng=None)),
    (
        S.GroupedQueryAttention,
        dict(
            kv_heads=None,
            d_k=None,
            dropout=0.0,
            rotary_base=None,
            rotary_layout="interleaved",
            biases=False,
        ),
    ),
    (S.GatedFeedForward, dict(activation="swiglu", dropout=0.0)),
    (LanguageModelConfig, dict(embedding="scaled", share_output=True)),
    (MultiHeadAttention, dict(d_k=None, d_v=None, dropout=0.0)),
    (FeedForward, dict(activation="relu", dropout=0.0)),
    *[
        (kind, dict(kernel_size=3, dilation=1, causal=False))
        for kind in (Convolution, SeparableConvolution)
    ],
    (RestrictedSelfAttention, dict(causal=False, d_k=None, d_v=None, dropout=0.0)),
    *[(kind, dict(dropout=0.0)) for kind in (AttentionalState, RecurrentStack, RNN, LSTM, GRU)],
    *[(kind, dict(causal=False)) for kind in (Encoder, EncoderLayer)],
    (Residual, dict(dropout=0.0, pre_norm=False)),
    (
        StackConfig,
        dict(
            num_layers=6,
            d_model=512,
            num_heads=8,
            d_ff=2048,
            d_k=None,
            d_v=None,
            dropout=0.1,
            embedding_dropout=None,
            attention_dropout=0.0,
            feed_forward_dropout=0.0,
            activation="relu",
            pre_norm=False,
            norm="layer",
            norm_epsilon=1e-5,
            positions="sinusoidal",
            max_length=512,
            attention="scaled",
        ),
    ),  # sections 3 and 5.4
    (TransformerConfig, dict(share_embeddings=True, share_output=True)),  # section 3.4
    (
        RecurrentConfig,
        dict(
            num_layers=1,
            d_model=64,
            dropout=0.0,
            bidirectional=True,
            share_embeddings=True,
            share_output=True,
        ),
    ),
    (Adam, dict(beta1=0.9, beta2=0.98, epsilon=1e-9)),  # section 5.3
    (schedule, dict(factor=1.0)),
    (training_step, dict(smoothing=0.0, clip=1.0)),
    (add_gradients, dict(rng=None, smoothing=0.0)),
    (Threads, dict(count=1)),
    (Processes, dict(count=1)),
    (LocalProcesses, dict(count=1)),
    (beam_search, dict(alpha=0.6, min_length=0, max_length=None)),  # section 6.1
    (Search, dict(beam=1, alpha=0.6, min_length=0, max_length=None)),
    (sample, dict(count=1, temperature=1.0, top_k=0, top_p=1.0, min_length=0, max_length=None)),
    (generate, dict(temperature=1.0, top_k=0, top_p=1.0)),
    (LinearCrossEntropy.forward, dict(smoothing=0.0)),
    *[(model, dict(seed=0)) for model in (Classifier, LanguageModel, Transformer)],
    *[
        (model.loss_forward, dict(rng=None, smoothing=0.0))
        for model in (Classifier, LanguageModel, Transformer)
    ],
]


@pytest.mark.parametrize(
    "function, expected", DEFAULTS, ids=lambda value: getattr(value, "__qualname__", "")
)
def test_defaults(function, expected):
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in expected} == expected


def test_named_configurations():
    """base and big are rows of the paper's table 3."""
    columns = "num_layers", "d_model", "num_heads", "d_ff", "dropout"
    assert {name: tuple(sizes[column] for column in columns) for name, sizes in NAMED.items()} == {
        "base": (6, 512, 8, 2048, 0.1),
        "big": (6, 1024, 16, 4096, 0.3),
        "small": (3, 256, 8, 1024, 0.1),
        "tiny": (4, 128, 4, 256, 0.1),
        "toy": (2, 64, 4, 256, 0.0),
    }
    assert {name: (*sizes.values(),) for name, sizes in RECURRENT.items()} == {
        "toy": (1, 64, 0.0),
        "tiny": (2, 176, 0.1),
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: MultiHeadAttention(6, 2, rng),
        lambda rng: FeedForward(6, 8, rng),
        lambda rng: Residual(6),
    ],
    ids=["attention", "feed-forward", "residual"],
)
def test_layers_drop_nothing_unless_told(make):
    layer, x = (
        make(np.random.default_rng(0)),
        np.random.default_rng(1).standard_normal((2, 3, 6)).astype("float32"),
    )
    inputs = {MultiHeadAttention: (x, x, x), Residual: (x, x)}.get(type(layer), (x,))
    np.testing.assert_array_equal(
        layer.forward(*inputs, rng=np.random.default_rng(2))[0], layer.forward(*inputs)[0]
    )


def test_the_rate_on_embeddings_is_the_one_of_the_sublayers_unless_given():
    for given, expected in ((None, 0.25), (0.0, 0.0), (0.5, 0.5)):
        assert StackConfig(dropout=0.25, embedding_dropout=given).input_dropout == expected
