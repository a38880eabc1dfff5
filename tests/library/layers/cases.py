"""Every layer in every shape worth trying: what hypothesis draws for the contract test."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from minitransformer import layers as L, models as M
from minitransformer.functional.special import PAD
from minitransformer.zoo import baselines as R, modern as S

V = 9


@dataclass
class Case:
    """A layer in float64 with its inputs, and what a failing example shows."""

    name: str
    layer: L.Layer
    inputs: tuple    # or {name of an argument: value}
    sizes: dict

    def __repr__(self):
        return f"Case({self.name}, {self.sizes})"


def call(function, inputs, **options):
    return function(**inputs, **options) if isinstance(inputs, dict) else function(*inputs, **options)


def changed(inputs, change):
    """`inputs` with change(value) in the place of each value."""
    if isinstance(inputs, dict):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(map(change, inputs))


NAMES = ("Linear", "Embedding", "OutputProjection", "SinusoidalPositions", "LearnedPositions", "LayerNorm",
         "FeedForward", "MultiHeadAttention", "SelfAttention", "CrossAttention", "Residual", "Input",
         "EncoderLayer", "DecoderLayer", "Encoder", "Decoder", "LinearCrossEntropy", "MeanOverTokens", "FirstToken",
         "RNN", "GRU", "LSTM", "Bidirectional", "RecurrentStack", "AdditiveAttention", "DotProductAttention", "AttentionalState",
         "Convolution", "SeparableConvolution", "GatedConvolution", "RestrictedSelfAttention", "AdditiveSelfAttention",
         "AdditiveCrossAttention", "UnscaledSelfAttention", "UnscaledCrossAttention",
         "Projection", "UnscaledEmbedding", "RMSNorm", "GatedFeedForward", "RotaryPositions", "GroupedQueryAttention",
         "Transformer", "LanguageModel", "Classifier", "RNNModel", "GRUModel", "LSTMModel", "LSTMAttentionModel",
         "LSTMDotAttentionModel", "ConvolutionalModel")


@st.composite
def cases(draw, name):
    """A Case of the layer called `name`: sizes from 1 up, equal or not, masks with empty rows."""
    size = st.integers(1, 4)
    sizes = dict(batch=draw(size), t_q=draw(size), t_k=draw(size), heads=draw(st.integers(1, 3)),
                 d_k=draw(size), d_v=draw(size), d_model=draw(st.integers(4, 7)), d_ff=draw(st.integers(1, 6)),
                 pre_norm=draw(st.booleans()), activation=draw(st.sampled_from(["relu", "gelu"])),
                 positions=draw(st.sampled_from(["sinusoidal", "learned"])),
                 share=draw(st.booleans()), dropout_rate=draw(st.sampled_from([0.0, 0.3])), seed=draw(st.integers(0, 99)))
    return make_case(name, sizes)


def make_case(name, sizes):
    """The Case of the layer called `name` with these sizes, every parameter random."""
    layer, inputs = _make(name, np.random.default_rng(sizes["seed"]), **sizes)
    for i, parameter in enumerate(layer.parameters().values()):    # no zeros or ones: they hide mistakes
        noise = np.random.default_rng([sizes["seed"], i]).standard_normal(parameter.shape)
        parameter.data += (0.3 * noise).astype(np.float32)
    return Case(name, layer.astype(np.float64), inputs, sizes)


def _make(name, rng, batch, t_q, t_k, heads, d_k, d_v, d_model, d_ff, pre_norm, activation, positions, share,
          dropout_rate, seed):
    def array(*shape):
        return rng.standard_normal(shape)

    stack = dict(
        num_layers=2, d_model=d_model, num_heads=heads, d_ff=d_ff, d_k=d_k, d_v=d_v, dropout=dropout_rate,
        attention_dropout=dropout_rate, feed_forward_dropout=dropout_rate, activation=activation, pre_norm=pre_norm,
        positions=positions, max_length=6)
    kind = ("scaled", "unscaled", "additive", "restricted")[seed % 4]
    of_models = {**stack, "attention": kind, "radius": d_k - 1 if kind == "restricted" else None}
    if seed % 5 == 4:
        of_models = {**stack, "norm": "rms", "positions": "rotary", "kv_heads": 1, "activation": "swiglu",
                     "d_k": 2 * d_k, "d_v": None}
    of_models = L.StackConfig.field_values(of_models)
    config = L.StackConfig(**stack)
    transformer = M.TransformerConfig(**of_models, source_vocab=V, target_vocab=V, share_embeddings=share, share_output=share)
    language = M.LanguageModelConfig(**of_models, vocab_size=V, share_output=share,
                                    embedding="scaled" if share else "unscaled")
    classifier = M.ClassifierConfig(**of_models, vocab_size=V, num_classes=3, pooling="mean" if share else "first")
    recurrent = R.RecurrentConfig(source_vocab=V, target_vocab=V, num_layers=heads, d_model=2 * d_k, dropout=dropout_rate,
                                  bidirectional=pre_norm, share_embeddings=share, share_output=share)
    convolutional = R.ConvolutionalConfig(source_vocab=V, target_vocab=V, num_layers=heads, d_model=d_model, kernel_size=d_k,
                                          dropout=dropout_rate, share_embeddings=share, share_output=share)
    x, memory = array(batch, t_q, d_model), array(batch, t_k, d_model)
    mask = rng.random((batch, 1, t_q, t_k)) < 0.6
    mask[0, 0, 0] = False
    square = rng.random((t_q, t_q)) < 0.6
    attention = d_model, heads, rng, d_k, d_v, dropout_rate
    real = rng.random((batch, t_k)) < 0.6
    real[0] = share    # all tokens of the first sentence, or none
    convolved = d_k, heads, pre_norm    # kernel size, dilation, causal
    one_kind = (R.RNN, R.GRU, R.LSTM)[seed % 3]

    def recurrent_case(layer):
        return layer, (memory, array(batch, layer.state_size), real if pre_norm else None)

    ids = rng.integers(1, V, (batch, t_k))
    ids[0, -1] = PAD
    return {
        "Linear": lambda: (L.Linear(d_model, d_ff, rng), (x,)),
        "Embedding": lambda: (L.Embedding(V, d_model, rng), (ids,)),
        "OutputProjection": lambda: (L.OutputProjection(V, d_model, rng), (x,)),
        "SinusoidalPositions": lambda: (L.SinusoidalPositions(), (x,)),
        "LearnedPositions": lambda: (L.LearnedPositions(6, d_model, rng), (x,)),
        "LayerNorm": lambda: (L.LayerNorm(d_model), (x,)),
        "FeedForward": lambda: (L.FeedForward(d_model, d_ff, rng, activation, dropout_rate), (x,)),
        "MultiHeadAttention": lambda: (L.MultiHeadAttention(*attention), (x, memory, array(batch, t_k, d_model), mask)),
        "SelfAttention": lambda: (L.SelfAttention(*attention), (x, square)),
        "CrossAttention": lambda: (L.CrossAttention(*attention), (x, memory, mask)),
        "Residual": lambda: (L.Residual(d_model, dropout_rate, pre_norm), (x, array(batch, t_q, d_model))),
        "Input": lambda: (L.Input(L.Embedding(V, d_model, rng), L.LearnedPositions(6, d_model, rng), dropout_rate), (ids,)),
        "EncoderLayer": lambda: (L.EncoderLayer(config, rng), (x, square)),
        "DecoderLayer": lambda: (L.DecoderLayer(config, rng), (x, memory, square, mask)),
        "Encoder": lambda: (L.Encoder(config, rng), (x, square)),
        "Decoder": lambda: (L.Decoder(config, rng), (x, memory, square, mask)),
        "LinearCrossEntropy": lambda: (L.LinearCrossEntropy(L.OutputProjection(V, d_model, rng).weight), {
            "x": memory, "targets": ids, "smoothing": 0.1 if share else 0.0, "padding": PAD if pre_norm else None}),
        "MeanOverTokens": lambda: (L.MeanOverTokens(), (memory, rng.random((batch, t_k)) < 0.6)),
        "FirstToken": lambda: (L.FirstToken(), (memory, rng.random((batch, t_k)) < 0.6)),
        "RNN": lambda: recurrent_case(R.RNN(d_model, d_ff, rng, dropout_rate)),
        "GRU": lambda: recurrent_case(R.GRU(d_model, d_ff, rng, dropout_rate)),
        "LSTM": lambda: recurrent_case(R.LSTM(d_model, d_ff, rng, dropout_rate)),
        "Bidirectional": lambda: recurrent_case(R.Bidirectional(*(one_kind(d_model, d_ff, rng, dropout_rate) for _ in "ab"))),
        "RecurrentStack": lambda: recurrent_case(R.RecurrentStack(
            [one_kind(d_model, d_ff, rng), R.Bidirectional(R.LSTM(d_ff, d_k, rng), R.LSTM(d_ff, d_k, rng))], dropout_rate)),
        "AdditiveAttention": lambda: (R.AdditiveAttention(d_model, d_ff, d_k, rng), (x, array(batch, t_k, d_ff), mask[:, 0])),
        "DotProductAttention": lambda: (R.DotProductAttention(), (x, memory, mask[:, 0])),
        "AttentionalState": lambda: (
            R.AttentionalState(R.AdditiveAttention(d_model, d_ff, d_k, rng) if share else R.DotProductAttention(),
                               d_model, d_ff if share else d_model, rng, dropout_rate),
            (x, array(batch, t_k, d_ff if share else d_model), mask[:, 0])),
        **{name: lambda name=name: (getattr(R, name)(d_model, d_ff, rng, *convolved), (memory, real if share else None))
           for name in ("Convolution", "SeparableConvolution")},
        "GatedConvolution": lambda: (R.GatedConvolution(d_model, rng, heads + 1, pre_norm, dropout_rate), (memory, real)),
        "RestrictedSelfAttention": lambda: (R.RestrictedSelfAttention(d_model, heads, rng, d_k - 1, pre_norm, *attention[3:]),
                                            (memory, real[:, None, None] if share else None)),
        **{name: lambda name=name: (getattr(R, name)(*attention), (x, square))
           for name in ("AdditiveSelfAttention", "UnscaledSelfAttention")},
        **{name: lambda name=name: (getattr(R, name)(*attention), (x, memory, mask))
           for name in ("AdditiveCrossAttention", "UnscaledCrossAttention")},
        "Projection": lambda: (S.Projection(d_model, d_ff, rng), (x,)),
        "UnscaledEmbedding": lambda: (S.UnscaledEmbedding(V, d_model, rng), (ids,)),
        "RMSNorm": lambda: (S.RMSNorm(d_model), (x,)),
        "GatedFeedForward": lambda: (S.GatedFeedForward(d_model, d_ff, rng, "swiglu" if share else "geglu", dropout_rate), (x,)),
        "RotaryPositions": lambda: (S.RotaryPositions(), (x,)),
        "GroupedQueryAttention": lambda: (S.GroupedQueryAttention(
            d_model, heads * d_v, rng, heads, 2 * d_k, dropout_rate, 50.0 if share else None,
            "half" if pre_norm else "interleaved"),
            (x, square)),
        "Transformer": lambda: (M.Transformer(transformer, seed), (ids, rng.integers(1, V, (batch, t_q)))),
        "LanguageModel": lambda: (M.LanguageModel(language, seed), (ids,)),
        "Classifier": lambda: (M.Classifier(classifier, seed), (ids,)),
        "ConvolutionalModel": lambda: (R.ConvolutionalModel(convolutional, seed), (ids, rng.integers(1, V, (batch, t_q)))),
        **{name: lambda name=name: (getattr(R, name)(recurrent, seed), (ids, rng.integers(1, V, (batch, t_q))))
           for name in NAMES if name.endswith("Model") and name not in ("LanguageModel", "ConvolutionalModel")},
    }[name]()
