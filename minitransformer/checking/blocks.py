"""The blocks that `minitransformer gradcheck` checks, each with small inputs.

Sizes are pairwise different (shape mistakes hide in equal ones), dropout is on wherever a block
has it, and in the masks of softmax, attention and multi-head attention, one row may attend to nothing. Each model is also a
block as training runs it: its loss, with label smoothing, for a batch with padding.
"""

from typing import Any

import numpy as np

from minitransformer import functional as F
from minitransformer import layers as L
from minitransformer import models as M
from minitransformer.backend import Array
from minitransformer.checking.training_loss import TrainingLoss
from minitransformer.data.batches import Batch
from minitransformer.data.labelled import LabelledBatch
from minitransformer.data.windows import WindowBatch
from minitransformer.functional.special import PAD
from minitransformer.layers.layer import Layer
from minitransformer.zoo import baselines as R
from minitransformer.zoo import modern as S
from minitransformer.zoo.convolutional.model import ConvolutionalDecoderLayer

B, T_Q, T_K, D_K, D_V, D, D_FF, H, V = 2, 3, 4, 5, 6, 7, 8, 9, 11

CONFIG = M.TransformerConfig(
    source_vocab=V, target_vocab=V, num_layers=1, d_model=D, num_heads=H, d_ff=D_FF, d_k=D_K, d_v=D_V,
    dropout=0.2, attention_dropout=0.2, feed_forward_dropout=0.2)
STACK = {**vars(CONFIG), "num_layers": 2}


def blocks(seed=0) -> dict[str, tuple]:
    """{name: (layer or pair of functions, inputs)} with weights and inputs drawn from `seed`."""
    rng = np.random.default_rng(seed)

    def array(*shape) -> Array:
        return rng.standard_normal(shape)

    def ids(*shape) -> Array:
        return rng.integers(1, V, shape)

    def layer(made) -> Layer:
        """Make every parameter random: zeros and ones (biases, gamma) hide mistakes."""
        for parameter in made.parameters().values():
            parameter.data += 0.3 * array(*parameter.shape).astype(np.float32)
        return made

    def recurrent(made) -> tuple:
        """With a state to begin with, and padding at the end of the second sentence."""
        return layer(made), (memory, array(B, made.state_size), real)

    x, memory = array(B, T_Q, D), array(B, T_K, D)
    some = np.array([[True, False, True, True], [False] * T_K, [True] * T_K])      # (T_q, T_k)
    memory_mask = np.array([[True] * T_K, [True, True, False, False]])[:, None, None, :]
    causal = np.tri(T_Q, dtype=bool)
    pre_norm = M.TransformerConfig(**{**vars(CONFIG), "pre_norm": True, "activation": "gelu"})
    stack = M.TransformerConfig(**STACK)
    pre_norm_stack = M.TransformerConfig(**{**STACK, "pre_norm": True, "activation": "gelu"})
    unshared = M.TransformerConfig(**{**STACK, "source_vocab": V + 2, "positions": "learned", "max_length": 5,
                                      "share_embeddings": False, "share_output": False})
    sizes = {name: value for name, value in STACK.items() if not name.startswith(("source", "target", "share"))}
    language = M.LanguageModelConfig(**sizes, vocab_size=V)
    successors = M.LanguageModelConfig(**{
        **sizes, "norm": "rms", "positions": "rotary", "attention": "grouped", "attention_settings": {"kv_heads": 3},
        "activation": "swiglu", "d_k": D_V,
        "pre_norm": True}, vocab_size=V, embedding="unscaled", share_output=False)
    classifier = M.ClassifierConfig(**sizes, vocab_size=V, num_classes=3)
    first_token = M.ClassifierConfig(**{    # grouped attention without rotary positions
        **sizes, "positions": "learned", "pre_norm": True, "attention": "grouped",
        "attention_settings": {"kv_heads": 3}, "d_v": D_K}, vocab_size=V,
        num_classes=3, pooling="first")
    restricted = M.TransformerConfig(**{**STACK, "attention": "restricted", "attention_settings": {"radius": 1}})
    recurrent_config = R.RecurrentConfig(source_vocab=V, target_vocab=V, num_layers=2, d_model=D_V, dropout=0.2)
    one_direction = R.RecurrentConfig(source_vocab=V + 2, target_vocab=V, d_model=D, bidirectional=False,
                                      share_embeddings=False, share_output=False)
    convolutional = R.ConvolutionalConfig(source_vocab=V, target_vocab=V, num_layers=2, d_model=D, kernel_size=3, dropout=0.2)
    source, target = ids(B, T_K), ids(B, T_Q)
    source[0, -1] = source[1, -2:] = target[1, -1] = PAD
    real = source != PAD
    longer = np.concatenate([memory, x], axis=1)
    longer_real = np.concatenate([real, target != PAD], axis=1)[:, None, None]
    heads = array(B, H, T_Q, D_K), array(B, H, T_K, D_K), array(B, H, T_K, D_V)
    attention = CONFIG.d_model, H, rng, D_K, D_V, 0.2
    feed_forward = layer(L.FeedForward(D, D_FF, rng, dropout=0.2))
    found = {
        "relu": ((F.relu_forward, F.relu_backward), (array(B, T_Q, D),)),
        "gelu": ((F.gelu_forward, F.gelu_backward), (array(B, T_Q, D),)),
        "softmax": ((F.softmax_forward, F.softmax_backward), (array(B, T_Q, T_K), some)),
        "dropout": ((F.dropout_forward, F.dropout_backward), (array(B, T_Q, D), 0.3)),
        "attention": ((F.attention_forward, F.attention_backward), (*heads, some, 0.2)),
        # Scores so far apart that the kernels' one exponential for all cannot hold them:
        "attention-far-apart": ((F.attention_forward, F.attention_backward), (40 * heads[0], *heads[1:], some, 0.2)),
        "cross-entropy": ((F.cross_entropy_forward, F.cross_entropy_backward),
                          {"logits": array(B, T_Q, V), "targets": target, "smoothing": 0.1, "padding": PAD}),
        "linear": (layer(L.Linear(D, D_FF, rng)), (x,)),
        "embedding": (layer(L.Embedding(V, D, rng)), (np.array([[1, 4, 1], [4, 1, 9]]),)),
        "output-projection": (layer(L.OutputProjection(V, D, rng)), (x,)),
        "sinusoidal-positions": (L.SinusoidalPositions(), (x,)),
        "learned-positions": (layer(L.LearnedPositions(5, D, rng)), (x,)),
        "input": (layer(L.Input(L.Embedding(V, D, rng), L.LearnedPositions(5, D, rng), 0.2)), (ids(B, T_K),)),
        "layer-norm": (layer(L.LayerNorm(D)), (x,)),
        "feed-forward": (feed_forward, (x,)),
        "feed-forward-gelu": (layer(L.FeedForward(D, D_FF, rng, "gelu", 0.2)), (x,)),
        "feed-forward-without-dropout": (layer(L.FeedForward(D, D_FF, rng)), (x,)),
        "multi-head-attention": (layer(L.MultiHeadAttention(*attention)),
                               (x, memory, array(B, T_K, D), some)),
        "self-attention": (layer(L.SelfAttention(*attention)), (x, causal)),
        "self-attention-without-dropout": (layer(L.SelfAttention(D, H, rng, D_K, D_V)), (x, causal)),
        "cross-attention": (layer(L.CrossAttention(*attention)), (x, memory, memory_mask)),
        "residual": (layer(L.Residual(feed_forward, D, dropout=0.2)), (x,)),
        "residual-pre-norm": (layer(L.Residual(feed_forward, D, dropout=0.2, pre_norm=True)), (x,)),
        "encoder-layer": (layer(L.EncoderLayer(CONFIG, rng)), (x, causal)),
        "encoder-layer-pre-norm": (layer(L.EncoderLayer(pre_norm, rng)), (x, causal)),
        "decoder-layer": (layer(L.DecoderLayer(CONFIG, rng)), (x, memory, causal, memory_mask)),
        "decoder-layer-pre-norm": (layer(L.DecoderLayer(pre_norm, rng)), (x, memory, causal, memory_mask)),
        "encoder": (layer(L.Encoder(stack, rng)), (x, causal)),
        "decoder": (layer(L.Decoder(stack, rng)), (x, memory, causal, memory_mask)),
        "transformer": (layer(M.Transformer(stack, seed)), (source, target)),
        "transformer-pre-norm": (layer(M.Transformer(pre_norm_stack, seed)), (source, target)),
        "transformer-unshared": (layer(M.Transformer(unshared, seed)), (source, target)),
        "linear-cross-entropy": ((F.linear_cross_entropy_forward, F.linear_cross_entropy_backward),
                                 {"x": x, "weight": array(V, D), "targets": target, "smoothing": 0.1, "padding": PAD}),
        "linear-cross-entropy-layer": (layer(L.LinearCrossEntropy(L.OutputProjection(V, D, rng).weight)),
                                       {"x": x, "targets": target, "smoothing": 0.1, "padding": PAD}),
        "mean-over-tokens": (L.MeanOverTokens(), (memory, real)),
        "mean-over-tokens-padding-alone": (L.MeanOverTokens(), (memory, real & [[True], [False]])),
        "first-token": (L.FirstToken(), (memory, real)),
        "rnn": recurrent(R.RNN(D, D_FF, rng, 0.2)),
        "gru": recurrent(R.GRU(D, D_FF, rng, 0.2)),
        "lstm": recurrent(R.LSTM(D, D_FF, rng, 0.2)),
        "bidirectional": recurrent(R.Bidirectional(R.LSTM(D, D_K, rng), R.LSTM(D, D_K, rng))),
        "recurrent-stack": recurrent(R.RecurrentStack([R.LSTM(D, D_FF, rng), R.GRU(D_FF, D_K, rng)], dropout=0.2)),
        "additive-attention": (layer(R.AdditiveAttention(D, D_V, D_FF, rng)), (x, array(B, T_K, D_V), some)),
        "dot-product-attention": (R.DotProductAttention(), (x, memory, some)),
        "attentional-state": (layer(R.AttentionalState(R.AdditiveAttention(D, D_V, D_FF, rng), D, D_V, rng, 0.2)),
                              (x, array(B, T_K, D_V), some)),
        "glu": ((R.glu_forward, R.glu_backward), (array(B, T_Q, 2 * D),)),
        "convolution": (layer(R.Convolution(D, D_FF, rng, 3, 2)), (memory, real)),
        "causal-convolution": (layer(R.Convolution(D, D_FF, rng, 3, causal=True)), (memory, real)),
        "separable-convolution": (layer(R.SeparableConvolution(D, D_FF, rng, 3)), (memory, real)),
        "separable-convolution-without-mask": (layer(R.SeparableConvolution(D, D_FF, rng, 3)), (memory,)),
        "gated-convolution": (layer(R.GatedConvolution(D, rng, 3, dropout=0.2)), (memory, real)),
        "convolutional-decoder-layer": (layer(ConvolutionalDecoderLayer(convolutional, rng)), (x, memory, memory_mask)),
        # The radius takes two queries at a time, that of transformer-restricted one:
        "restricted-self-attention": (layer(R.RestrictedSelfAttention(D, H, rng, 3, False, D_K, D_V, 0.2)), (longer, longer_real)),
        "additive-self-attention": (layer(R.AdditiveSelfAttention(D, H, rng, D_K, D_V)), (x, causal)),
        "additive-cross-attention": (layer(R.AdditiveCrossAttention(D, H, rng, D_K, D_V)), (x, memory, memory_mask)),
        "unscaled-self-attention": (layer(R.UnscaledSelfAttention(D, H, rng, D_K, D_V)), (x, causal)),
        "unscaled-cross-attention": (layer(R.UnscaledCrossAttention(D, H, rng, D_K, D_V)), (x, memory, memory_mask)),
        "projection": (layer(S.Projection(D, D_FF, rng)), (x,)),
        "unscaled-embedding": (layer(S.UnscaledEmbedding(V, D, rng)), (np.array([[1, 4, 1], [4, 1, 9]]),)),
        "rms-norm": (layer(S.RMSNorm(D)), (x,)),
        "silu": ((S.silu_forward, S.silu_backward), (array(B, T_Q, D),)),
        "gated-feed-forward": (layer(S.GatedFeedForward(D, D_FF, rng, dropout=0.2)), (x,)),
        "gated-feed-forward-gelu": (layer(S.GatedFeedForward(D, D_FF, rng, "geglu")), (x,)),
        "rotary-positions": (S.RotaryPositions(), (x,)),
        "rotary": ((S.rotary_forward, S.rotary_backward), (array(B, H, T_Q, D_V), np.array([0, 5, 2]), 50.0)),
        "rotary-half": ((S.rotary_forward, S.rotary_backward), {"x": array(B, H, T_Q, D_V), "base": 50.0, "layout": "half"}),
        "grouped-attention": ((S.grouped_attention_forward, S.grouped_attention_backward),
                              (array(B, H, T_Q, D_K), array(B, 3, T_K, D_K), array(B, 3, T_K, D_V), some, 0.2)),
        "grouped-query-attention": (layer(S.GroupedQueryAttention(D, H, rng, 3, D_V, 0.2, 50.0)), (x, causal)),
        "language-model": (layer(M.LanguageModel(language, seed)), (source,)),
        "language-model-of-successors": (layer(M.LanguageModel(successors, seed)), (source,)),
        "rnn-model": (layer(R.RNNModel(one_direction, seed)), (source, target)),
        "gru-model": (layer(R.GRUModel(recurrent_config, seed)), (source, target)),
        "lstm-model": (layer(R.LSTMModel(recurrent_config, seed)), (source, target)),
        "lstm-attention-model": (layer(R.LSTMAttentionModel(recurrent_config, seed)), (source, target)),
        "lstm-dot-attention-model": (layer(R.LSTMDotAttentionModel(recurrent_config, seed)), (source, target)),
        "convolutional-model": (layer(R.ConvolutionalModel(convolutional, seed)), (source, target)),
        "transformer-restricted": (layer(M.Transformer(restricted, seed)), (source, target)),
        "transformer-additive": (layer(M.Transformer(M.TransformerConfig(**{**STACK, "attention": "additive",
                                                                            "attention_dropout": 0.0}), seed)), (source, target)),
        "classifier": (layer(M.Classifier(classifier, seed)), (source,)),
        "classifier-first-token": (layer(M.Classifier(first_token, seed)), (source,)),
    }
    for name, (model, _) in list(found.items()):
        if isinstance(model, Layer) and hasattr(model, "loss_forward"):
            found[f"{name}-loss"] = TrainingLoss(model), (batch_for(model, source, target), 0.1)
    return found


def batch_for(model, source, target) -> Any:
    """A batch of these ids, padding included, for a model of any kind."""
    after = np.roll(target, -1, axis=1)
    if isinstance(model, M.Classifier):
        return LabelledBatch(source, np.array([2, 0]))
    if isinstance(model, M.LanguageModel):
        return WindowBatch(target, after, int((after != PAD).sum()))
    return Batch(source, target, after, int((after != PAD).sum()))
