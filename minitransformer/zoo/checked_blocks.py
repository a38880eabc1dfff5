"""The zoo's blocks for the gradient check (checking/blocks.py)."""

from typing import Any

import numpy as np

from minitransformer import models as M
from minitransformer.checking.blocks import CLASSES, Maker
from minitransformer.data.special import PAD
from minitransformer.zoo import baselines as R
from minitransformer.zoo import modern as S


def blocks_of_the_zoo(maker: Maker) -> dict[str, tuple]:
    B, T_Q, T_K, D_K, D_V, D, D_FF, H, V, groups, kernel, dropout = maker.sizes
    rng = maker.rng = maker.rng_of_the_zoo
    seed, layer, grouped = (
        maker.seed,
        maker.layer,
        {"attention": "grouped", "attention_settings": {"kv_heads": groups}},
    )
    x, memory, some, causal, memory_mask, source, target, real = maker.inputs
    longer = np.concatenate([memory, x], axis=1)
    longer_real = np.concatenate([real, target != PAD], axis=1)[:, None, None]
    modern = maker.config(
        M.LanguageModelConfig,
        **grouped,
        norm="rms",
        positions="rotary",
        activation="swiglu",
        d_k=D_V,
        pre_norm=True,
        embedding="unscaled",
        share_output=False,
    )
    # grouped attention without rotary positions
    first_token = maker.config(
        M.ClassifierConfig,
        **grouped,
        num_classes=CLASSES,
        positions="learned",
        pre_norm=True,
        d_v=D_K,
        pooling="first",
    )
    restricted = maker.config(attention="restricted", attention_settings={"radius": 1})
    additive = maker.config(attention="additive", attention_dropout=0.0)
    recurrent_config = R.RecurrentConfig(
        source_vocab=V, target_vocab=V, num_layers=2, d_model=D_V, dropout=dropout
    )
    one_direction = R.RecurrentConfig(
        source_vocab=V + 2,
        target_vocab=V,
        d_model=D,
        bidirectional=False,
        share_embeddings=False,
        share_output=False,
    )

    def recurrent(made: Any) -> tuple:
        """With a state to begin with, and padding at the end of the second sentence."""
        return layer(made), (memory, maker.array(B, made.state_size), real)

    return {
        "rnn": recurrent(R.RNN(D, D_FF, rng, dropout)),
        "gru": recurrent(R.GRU(D, D_FF, rng, dropout)),
        "lstm": recurrent(R.LSTM(D, D_FF, rng, dropout)),
        "bidirectional": recurrent(R.Bidirectional(R.LSTM(D, D_K, rng), R.LSTM(D, D_K, rng))),
        "recurrent-stack": recurrent(
            R.RecurrentStack([R.LSTM(D, D_FF, rng), R.GRU(D_FF, D_K, rng)], dropout=dropout)
        ),
        "additive-attention": (
            layer(R.AdditiveAttention(D, D_V, D_FF, rng)),
            (x, maker.array(B, T_K, D_V), some),
        ),
        "attentional-state": (
            layer(R.AttentionalState(R.AdditiveAttention(D, D_V, D_FF, rng), D, D_V, rng, dropout)),
            (x, maker.array(B, T_K, D_V), some),
        ),
        "convolution": (layer(R.Convolution(D, D_FF, rng, kernel, 2)), (memory,)),
        "causal-convolution": (layer(R.Convolution(D, D_FF, rng, kernel, causal=True)), (memory,)),
        "separable-convolution": (layer(R.SeparableConvolution(D, D_FF, rng, kernel)), (memory,)),
        # The radius takes two queries at a time, that of transformer-restricted one:
        "restricted-self-attention": (
            layer(R.RestrictedSelfAttention(D, H, rng, 3, False, D_K, D_V, dropout)),
            (longer, longer_real),
        ),
        "additive-self-attention": (
            layer(R.AdditiveSelfAttention(D, H, rng, D_K, D_V)),
            (x, causal),
        ),
        "additive-cross-attention": (
            layer(R.AdditiveCrossAttention(D, H, rng, D_K, D_V)),
            (x, memory, memory_mask),
        ),
        "unscaled-self-attention": (
            layer(R.UnscaledSelfAttention(D, H, rng, D_K, D_V)),
            (x, causal),
        ),
        "unscaled-cross-attention": (
            layer(R.UnscaledCrossAttention(D, H, rng, D_K, D_V)),
            (x, memory, memory_mask),
        ),
        "projection": (layer(S.Projection(D, D_FF, rng)), (x,)),
        "unscaled-embedding": (
            layer(S.UnscaledEmbedding(V, D, rng)),
            (np.array([[1, 4, 1], [4, 1, 9]]),),
        ),
        "rms-norm": (layer(S.RMSNorm(D)), (x,)),
        "silu": ((S.silu_forward, S.silu_backward), (maker.array(B, T_Q, D),)),
        "gated-feed-forward": (layer(S.GatedFeedForward(D, D_FF, rng, dropout=dropout)), (x,)),
        "gated-feed-forward-gelu": (layer(S.GatedFeedForward(D, D_FF, rng, "geglu")), (x,)),
        "rotary-positions": (S.RotaryPositions(), (x,)),
        "rotary": (
            (S.rotary_forward, S.rotary_backward),
            (maker.array(B, H, T_Q, D_V), 5 * np.arange(T_Q) % 8, 50.0),
        ),
        "rotary-half": (
            (S.rotary_forward, S.rotary_backward),
            {"x": maker.array(B, H, T_Q, D_V), "base": 50.0, "layout": "half"},
        ),
        "grouped-attention": (
            (S.grouped_attention_forward, S.grouped_attention_backward),
            (
                maker.array(B, H, T_Q, D_K),
                maker.array(B, groups, T_K, D_K),
                maker.array(B, groups, T_K, D_V),
                some,
                dropout,
            ),
        ),
        "grouped-query-attention": (
            layer(S.GroupedQueryAttention(D, H, rng, groups, D_V, dropout, 50.0)),
            (x, causal),
        ),
        "language-model-modern": (layer(M.LanguageModel(modern, seed)), (source,)),
        "rnn-model": (layer(R.RNNModel(one_direction, seed)), (source, target)),
        "gru-model": (layer(R.GRUModel(recurrent_config, seed)), (source, target)),
        "lstm-model": (layer(R.LSTMModel(recurrent_config, seed)), (source, target)),
        "lstm-attention-model": (
            layer(R.LSTMAttentionModel(recurrent_config, seed)),
            (source, target),
        ),
        "transformer-restricted": (layer(M.Transformer(restricted, seed)), (source, target)),
        "transformer-additive": (layer(M.Transformer(additive, seed)), (source, target)),
        "classifier-first-token": (layer(M.Classifier(first_token, seed)), (source,)),
    }
