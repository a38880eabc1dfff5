"""Small models of each kind in float64, and batches for them."""

import numpy as np

from minitransformer.data.batches import make_batch
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.data.windows import consecutive_windows
from minitransformer.models import (
    MODELS,
    Classifier,
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
)
from minitransformer.zoo.baselines import RecurrentConfig
from tests.helpers.randomised import randomised

V, CLASSES = 13, 3
SIZES = dict(num_layers=2, d_model=12, num_heads=3, d_ff=10, dropout=0.0)
RECURRENT = ("rnn", "gru", "lstm", "lstm-attention")
KINDS = ("transformer", "language-model", "classifier", *RECURRENT)
OF_TRANSFORMERS = (
    "num_heads",
    "d_ff",
    "attention_dropout",
    "feed_forward_dropout",
    "activation",
    "pre_norm",
    "positions",
    "max_length",
)  # what other models have no use for


OTHER_ATTENTION = {
    "restricted": {"attention": "restricted", "radius": 2},
    "alone": {"attention": "restricted", "radius": 0},
    "additive": {"attention": "additive"},
    "unscaled": {"attention": "unscaled"},
}


def make_model(kind, seed=0, **changes):
    """A model in float64 with every parameter random."""
    sizes = {**SIZES, **changes}
    model = (
        recurrent(kind, sizes, seed)
        if kind in RECURRENT
        else {
            "transformer": lambda: Transformer(
                of(TransformerConfig, source_vocab=V, target_vocab=V, **sizes), seed
            ),
            "language-model": lambda: LanguageModel(
                of(LanguageModelConfig, vocab_size=V, **sizes), seed
            ),
            "classifier": lambda: Classifier(
                of(ClassifierConfig, vocab_size=V, num_classes=CLASSES, **sizes), seed
            ),
        }[kind]()
    )
    return randomised(model, 0.2, seed)


def of(config, **sizes):
    return config(**config.field_values(sizes))


def recurrent(kind, sizes, seed):
    """An encoder-decoder; the context vector's are read from one end, those with attention from
    both.
    """
    bidirectional = {"bidirectional": "attention" in kind, **own(sizes)}
    return MODELS[kind](RecurrentConfig(source_vocab=V, target_vocab=V, **bidirectional), seed)


def own(sizes):
    """Without what is the Transformer's alone."""
    return {name: value for name, value in sizes.items() if name not in OF_TRANSFORMERS}


def random_ids(rng, *shape):
    """Ids of tokens, none of them padding."""
    return rng.integers(1, V, shape)


def make_batch_for(kind, seed=0, sentences=5):
    """A batch with padding."""
    rng = np.random.default_rng(seed)

    def ids():
        return random_ids(rng, rng.integers(1, 6)).tolist()

    if kind in ("transformer", *RECURRENT):
        return make_batch([(ids(), ids()) for _ in range(sentences)])
    if kind == "classifier":
        return make_labelled_batch([(ids(), int(rng.integers(CLASSES))) for _ in range(sentences)])
    (batch,) = consecutive_windows(
        random_ids(rng, 6 * sentences - 2), 6, sentences
    )  # the last window is shorter
    return batch


def make(seed=0, **changes):
    """A Transformer in float64, as it is initialised."""
    config = TransformerConfig.named("toy", V, **{**SIZES, **changes})
    return Transformer(config, seed).astype(np.float64)
