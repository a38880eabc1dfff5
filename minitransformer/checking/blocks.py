"""The blocks that `minitransformer gradcheck` checks, each with small inputs; the tests check the
same ones in other sizes.

Sizes are pairwise different (shape mistakes hide in equal ones), dropout is on wherever a block
has it, and in the masks of softmax, attention and multi-head attention, one row may attend to
nothing. Each model is also a block as training runs it: its loss, with label smoothing, for a batch
with padding.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from minitransformer import functional as F
from minitransformer import layers as L
from minitransformer import models as M
from minitransformer.backend import Array, Generator
from minitransformer.data.batches import Batch
from minitransformer.data.labelled import LabelledBatch
from minitransformer.data.windows import WindowBatch
from minitransformer.data.special import PAD
from minitransformer.layers.config import ModelConfig
from minitransformer.layers.layer import Layer, Same
from minitransformer.lookup import Table
from minitransformer.models.model import AnyBatch


CLASSES = 3


class TrainingLoss(Layer):
    """The summed loss of a `model` (...) as training runs it: batch -> a number, with dropout,
    label smoothing and padding.
    """

    def __init__(self, model: M.Model):
        self.model = model

    def forward(
        self, batch: AnyBatch, smoothing: float = 0.0, rng: Generator | None = None
    ) -> tuple[Array, Any]:
        sums, cache = self.model.loss_forward(batch, rng, smoothing)
        return sums.loss, cache

    def backward(self, dloss: float | Array, cache: Any) -> None:
        self.model.loss_backward(dloss, cache)


class Sizes(NamedTuple):
    batch: int = 2
    t_q: int = 3
    t_k: int = 4
    d_k: int = 5
    d_v: int = 6  # even: two directions share it, and rotary positions turn pairs
    d_model: int = 7
    d_ff: int = 8
    heads: int = 9
    vocab: int = 11
    groups: int = 3  # a divisor of the heads
    kernel: int = 3  # positions that a convolution sees
    dropout: float = 0.2


SIZES = Sizes()


class Maker:
    """Makes what blocks consist of: sizes, configurations, and weights and inputs drawn from
    `seed`.
    """

    rng_of_the_zoo: Generator  # whose draws do not depend on what the library draws later

    def __init__(self, seed: int = 0, sizes: Sizes = SIZES):
        self.seed, self.sizes, self.rng = seed, sizes, np.random.default_rng(seed)
        B, T_Q, T_K, D_K, D_V, D, D_FF, H, V, _, _, dropout = sizes
        self.stack = dict(
            num_layers=2,
            d_model=D,
            num_heads=H,
            d_ff=D_FF,
            d_k=D_K,
            d_v=D_V,
            dropout=dropout,
            attention_dropout=dropout,
            feed_forward_dropout=dropout,
        )
        x, memory = self.array(B, T_Q, D), self.array(B, T_K, D)
        some, causal = np.ones((T_Q, T_K), bool), np.tri(T_Q, dtype=bool)
        some[0, 1:2] = some[1:2] = False
        memory_mask = np.ones((B, 1, 1, T_K), bool)
        memory_mask[1:, ..., (T_K + 1) // 2 :] = False
        source, target = self.ids(B, T_K), self.ids(B, T_Q)
        source[0, -1] = source[1:2, -2:] = target[1:2, -1] = PAD
        self.source, self.target = source, target
        self.inputs = x, memory, some, causal, memory_mask, source, target, source != PAD

    def array(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape)

    def ids(self, *shape: int) -> Array:
        return self.rng.integers(1, self.sizes.vocab, shape)

    def layer(self, made: Same) -> Same:
        """Make every parameter random: zeros and ones (biases, gamma) hide mistakes."""
        for parameter in made.parameters().values():
            parameter.data += 0.3 * self.array(*parameter.shape).astype(np.float32)
        return made

    def config(self, kind: type[ModelConfig] = M.TransformerConfig, **changes: Any) -> Any:
        """The configuration of a small model of that kind."""
        vocabularies = {
            name: self.sizes.vocab
            for name in kind.required()
            if name.endswith("vocab") or name == "vocab_size"
        }
        return kind(**{**self.stack, **vocabularies, **changes})


def blocks(seed: int = 0, sizes: Sizes = SIZES, zoo: bool = True) -> dict[str, tuple]:
    """{name: (layer or pair of functions, inputs)} with weights and inputs drawn from `seed`;
    `zoo`: whether with the zoo's.
    """
    maker = Maker(seed, sizes)
    found = {
        name: block
        for room in (BLOCKS if zoo else ["library"])
        for name, block in BLOCKS[room](maker).items()
    }
    for name, (model, _) in list(found.items()):
        if isinstance(model, M.Model):
            found[f"{name}-loss"] = (
                TrainingLoss(model),
                (batch_for(model, maker.source, maker.target), 0.1),
            )
    return found


def blocks_of_the_library(maker: Maker) -> dict[str, tuple]:
    B, T_Q, T_K, D_K, D_V, D, D_FF, H, V, _, _, dropout = maker.sizes
    rng, seed, layer = maker.rng, maker.seed, maker.layer
    x, memory, some, causal, memory_mask, source, target, real = maker.inputs
    heads = (
        maker.array(B, H, T_Q, D_K),
        maker.array(B, H, T_K, D_K),
        maker.array(B, H, T_K, D_V),
    )
    attention = D, H, rng, D_K, D_V, dropout
    half_real = real & (np.arange(B) == 0)[:, None]
    one, pre_norm_one = (
        maker.config(num_layers=1),
        maker.config(num_layers=1, pre_norm=True, activation="gelu"),
    )
    stack, pre_norm_stack = maker.config(), maker.config(pre_norm=True, activation="gelu")
    unshared = maker.config(
        source_vocab=V + 2,
        positions="learned",
        max_length=5,
        share_embeddings=False,
        share_output=False,
    )
    feed_forward = layer(L.FeedForward(D, D_FF, rng, dropout=dropout))
    found = {
        "relu": ((F.relu_forward, F.relu_backward), (maker.array(B, T_Q, D),)),
        "gelu": ((F.gelu_forward, F.gelu_backward), (maker.array(B, T_Q, D),)),
        "softmax": ((F.softmax_forward, F.softmax_backward), (maker.array(B, T_Q, T_K), some)),
        "dropout": ((F.dropout_forward, F.dropout_backward), (maker.array(B, T_Q, D), 0.3)),
        "attention": ((F.attention_forward, F.attention_backward), (*heads, some, dropout)),
        # Scores so far apart that the kernels' one exponential for all cannot hold them:
        "attention-far-apart": (
            (F.attention_forward, F.attention_backward),
            (40 * heads[0], *heads[1:], some, dropout),
        ),
        "cross-entropy": (
            (F.cross_entropy_forward, F.cross_entropy_backward),
            {"logits": maker.array(B, T_Q, V), "targets": target, "smoothing": 0.1, "padding": PAD},
        ),
        "linear": (layer(L.Linear(D, D_FF, rng)), (x,)),
        "embedding": (layer(L.Embedding(V, D, rng)), (np.array([[1, 4, 1], [4, 1, 9]]),)),
        "output-projection": (layer(L.OutputProjection(V, D, rng)), (x,)),
        "sinusoidal-positions": (L.SinusoidalPositions(), (x,)),
        "learned-positions": (layer(L.LearnedPositions(5, D, rng)), (x,)),
        "input": (
            layer(L.Input(L.Embedding(V, D, rng), L.LearnedPositions(5, D, rng), dropout)),
            (maker.ids(B, T_K),),
        ),
        "layer-norm": (layer(L.LayerNorm(D)), (x,)),
        "feed-forward": (feed_forward, (x,)),
        "feed-forward-gelu": (layer(L.FeedForward(D, D_FF, rng, "gelu", dropout)), (x,)),
        "feed-forward-without-dropout": (layer(L.FeedForward(D, D_FF, rng)), (x,)),
        "multi-head-attention": (
            layer(L.MultiHeadAttention(*attention)),
            (x, memory, maker.array(B, T_K, D), some),
        ),
        "self-attention": (layer(L.SelfAttention(*attention)), (x, causal)),
        "self-attention-without-dropout": (
            layer(L.SelfAttention(D, H, rng, D_K, D_V)),
            (x, causal),
        ),
        "cross-attention": (layer(L.CrossAttention(*attention)), (x, memory, memory_mask)),
        "residual": (layer(L.Residual(D, dropout=dropout)), (x, maker.array(B, T_Q, D))),
        "residual-pre-norm": (
            layer(L.Residual(D, dropout=dropout, pre_norm=True)),
            (x, maker.array(B, T_Q, D)),
        ),
        "encoder-layer": (layer(L.EncoderLayer(one, rng)), (x, causal)),
        "encoder-layer-pre-norm": (layer(L.EncoderLayer(pre_norm_one, rng)), (x, causal)),
        "decoder-layer": (layer(L.DecoderLayer(one, rng)), (x, memory, causal, memory_mask)),
        "decoder-layer-pre-norm": (
            layer(L.DecoderLayer(pre_norm_one, rng)),
            (x, memory, causal, memory_mask),
        ),
        "encoder": (layer(L.Encoder(stack, rng)), (x, causal)),
        "decoder": (layer(L.Decoder(stack, rng)), (x, memory, causal, memory_mask)),
        "transformer": (layer(M.Transformer(stack, seed)), (source, target)),
        "transformer-pre-norm": (layer(M.Transformer(pre_norm_stack, seed)), (source, target)),
        "transformer-unshared": (layer(M.Transformer(unshared, seed)), (source, target)),
        "mean-over-tokens": (L.MeanOverTokens(), (memory, real)),
        "mean-over-tokens-padding-alone": (L.MeanOverTokens(), (memory, half_real)),
        "first-token": (L.FirstToken(), (memory, real)),
    }
    maker.rng_of_the_zoo = deepcopy(rng)
    return {
        **found,
        "language-model": (
            layer(M.LanguageModel(maker.config(M.LanguageModelConfig), seed)),
            (source,),
        ),
        "classifier": (
            layer(M.Classifier(maker.config(M.ClassifierConfig, num_classes=CLASSES), seed)),
            (source,),
        ),
    }


BLOCKS = Table("blocks", {"library": blocks_of_the_library})  # {a room: its blocks}


def batch_for(model: Layer, source: Array, target: Array) -> Any:
    """A batch of these ids, padding included, for a model of any kind."""
    after = np.roll(target, -1, axis=1)
    if isinstance(model, M.Classifier):
        return LabelledBatch(source, 2 * np.arange(len(source))[::-1] % CLASSES)
    if isinstance(model, M.LanguageModel):
        return WindowBatch(target, after, int((after != PAD).sum()))
    return Batch(source, target, after, int((after != PAD).sum()))
