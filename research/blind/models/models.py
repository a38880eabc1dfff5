"""Random small models in float64, and batches for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import own_blocks
from library import (
    BOS,
    EOS,
    PAD,
    Classifier,
    ClassifierConfig,
    GRUModel,
    LabelledBatch,
    LanguageModel,
    LanguageModelConfig,
    LSTMAttentionModel,
    LSTMModel,
    RecurrentConfig,
    RNNModel,
    Transformer,
    TransformerConfig,
    WindowBatch,
    make_batch,
    pad,
)

VOCAB, WIDTH, CLASSES, MAX_LENGTH = 11, 8, 3, 24
KINDS = ["transformer", "language", "classifier", "recurrent"]
RECURRENT = [RNNModel, GRUModel, LSTMModel, LSTMAttentionModel]
OWN_MODELS = {
    "transformer": [own_blocks.ColdTransformer, own_blocks.ShiftedMemory, own_blocks.ShiftedDecode],
    "language": [own_blocks.ColdLanguageModel],
    "recurrent": [own_blocks.ColdGRUModel, own_blocks.ColdLSTMAttentionModel],
}


@dataclass(frozen=True)
class Recipe:
    """How to make a model: the same each time."""

    kind: str
    cls: type
    config: Any
    seed: int

    def make(self):
        return self.cls(self.config, seed=self.seed).astype(np.float64)

    def __str__(self) -> str:
        defaults = type(self.config).__dataclass_fields__
        shown = {
            name: value
            for name, value in vars(self.config).items()
            if name not in SIZES and value != getattr(defaults.get(name), "default", None)
        }
        settings = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{self.cls.__name__}({settings})"


SIZES = {
    "d_model",
    "num_heads",
    "d_ff",
    "vocab_size",
    "source_vocab",
    "target_vocab",
    "num_classes",
    "dropout",
    "max_length",
}


def draw_recipe(rng) -> Recipe:
    kind = str(rng.choice(KINDS, p=[0.4, 0.3, 0.12, 0.18]))
    own = kind in OWN_MODELS and rng.random() < 0.06
    cls = pick(rng, OWN_MODELS[kind] if own else CLASSES_OF[kind])
    return Recipe(kind, cls, CONFIGS[kind](rng), int(rng.integers(1000)))


CLASSES_OF = {
    "transformer": [Transformer],
    "language": [LanguageModel],
    "classifier": [Classifier],
    "recurrent": RECURRENT,
}


def pick(rng, things):
    things = list(things)
    return things[rng.integers(len(things))]


def stack_settings(rng) -> dict:
    """The settings that Transformer, language model and classifier have in common."""
    settings = dict(
        num_layers=int(rng.integers(1, 3)),
        d_model=WIDTH,
        num_heads=2,
        d_ff=12,
        dropout=0.0,
        max_length=MAX_LENGTH,
    )
    settings["pre_norm"] = bool(rng.random() < 0.5)
    settings["activation"] = pick(
        rng, ["relu", "relu", "gelu", "swiglu", "geglu", "silu", "squared"]
    )
    settings["norm"] = pick(rng, ["layer", "layer", "layer", "rms", "own"])
    settings["norm_epsilon"] = pick(rng, [1e-5, 1e-5, 1e-2])
    settings["positions"] = pick(rng, ["sinusoidal", "sinusoidal", "learned", "rotary"])
    if settings["positions"] == "rotary":
        return {**settings, "attention": "grouped", "attention_settings": grouped_settings(rng)}
    attention = pick(
        rng,
        ["scaled", "scaled", "scaled", "scaled", "grouped", "unscaled", "additive", "restricted"],
    )
    settings["attention"] = attention
    if attention == "grouped":
        settings["attention_settings"] = {"kv_heads": int(rng.integers(1, 3))}
    elif attention == "restricted":
        settings["attention_settings"] = {"radius": int(rng.integers(0, 4))}
    elif rng.random() < 0.2:
        settings.update(d_k=3, d_v=5)
    return settings


def grouped_settings(rng) -> dict:
    return {
        "kv_heads": int(rng.integers(1, 3)),
        "rotary_layout": pick(rng, ["interleaved", "half"]),
        "rotary_base": pick(rng, [10000.0, 100.0]),
    }


def sharing(rng) -> dict:
    return {"share_embeddings": bool(rng.random() < 0.5), "share_output": bool(rng.random() < 0.5)}


def transformer_config(rng) -> TransformerConfig:
    return TransformerConfig(
        source_vocab=VOCAB, target_vocab=VOCAB, **sharing(rng), **stack_settings(rng)
    )


def language_config(rng) -> LanguageModelConfig:
    return LanguageModelConfig(
        vocab_size=VOCAB,
        share_output=bool(rng.random() < 0.5),
        embedding=pick(rng, ["scaled", "scaled", "unscaled"]),
        **stack_settings(rng),
    )


def classifier_config(rng) -> ClassifierConfig:
    return ClassifierConfig(
        vocab_size=VOCAB,
        num_classes=CLASSES,
        pooling=pick(rng, ["mean", "first"]),
        **stack_settings(rng),
    )


def recurrent_config(rng) -> RecurrentConfig:
    return RecurrentConfig(
        source_vocab=VOCAB,
        target_vocab=VOCAB,
        num_layers=int(rng.integers(1, 3)),
        d_model=WIDTH,
        bidirectional=bool(rng.random() < 0.5),
        **sharing(rng),
    )


CONFIGS = {
    "transformer": transformer_config,
    "language": language_config,
    "classifier": classifier_config,
    "recurrent": recurrent_config,
}


# ---- batches


def sentence(rng, least=1, most=5) -> list[int]:
    return rng.integers(3, VOCAB, size=rng.integers(least, most)).tolist()


def draw_batch(kind, rng):
    """A batch to train on, of five sentences of several lengths."""
    if kind in ("transformer", "recurrent"):
        return make_batch([(sentence(rng), sentence(rng)) for _ in range(5)])
    if kind == "classifier":
        return LabelledBatch(pad([sentence(rng) for _ in range(5)]), rng.integers(CLASSES, size=5))
    texts = [sentence(rng, 2, 7) for _ in range(5)]
    targets = pad([text[1:] for text in texts])
    return WindowBatch(pad([text[:-1] for text in texts]), targets, int((targets != PAD).sum()))


def draw_source(kind, rng, count):
    """What decoding begins from: `count` sources, or prompts of one length for a language model."""
    if kind == "language":
        return rng.integers(3, VOCAB, size=(count, rng.integers(1, 4)))
    return pad([sentence(rng) + [EOS] for _ in range(count)])


def forced(kind, source, outputs):
    """(the model's inputs, the ids that follow, PAD where none counts) for teacher forcing.

    outputs: a list of (row of the source, ids without EOS).
    """
    rows = [row for row, _ in outputs]
    if kind == "language":
        prompts = [source[row].tolist() for row in rows]
        inputs = pad([prompt + ids for prompt, (_, ids) in zip(prompts, outputs)])
        targets = pad(
            [[PAD] * (len(prompt) - 1) + ids + [EOS] for prompt, (_, ids) in zip(prompts, outputs)]
        )
        return (inputs,), targets
    return (source[rows], pad([[BOS] + ids for _, ids in outputs])), pad(
        [ids + [EOS] for _, ids in outputs]
    )
