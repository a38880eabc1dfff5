"""What is measured: the sizes of a model and its batches, and the settings that all libraries
share.
"""

import math
from typing import NamedTuple

import numpy as np

from minitransformer.data.batches import Batch, make_batch
from minitransformer.data.special import PAD
from minitransformer.models import TransformerConfig

# in all places: embeddings + positions, residuals, attention weights, inside the feed-forward
# network
DROPOUT = 0.1
SMOOTHING = 0.1  # label smoothing
CLIP = 1.0  # maximum norm of the gradient
LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-4, 0.9, 0.98, 1e-9  # Adam


class Case(NamedTuple):
    """A model, and a batch of random tokens without padding or the batches of a text."""

    size: str  # a named configuration
    vocabulary: int
    sentences: int = 0
    length: int = 0  # tokens in each source and target, with EOS or BOS
    changes: dict = {}  # changes to the configuration
    text: str | None = None  # the file of a text's batches, in place of random tokens

    def config(self) -> TransformerConfig:
        return TransformerConfig.named(
            self.size,
            self.vocabulary,
            dropout=DROPOUT,
            attention_dropout=DROPOUT,
            feed_forward_dropout=DROPOUT,
            **self.changes,
        )

    def batches(self) -> list[Batch]:
        """What a step of the benchmark trains on, one update for each."""
        if self.text:
            with np.load(self.text) as arrays:
                saved = list(arrays.values())
            return [
                Batch(source, target, next_target, terms=int((next_target != PAD).sum()))
                for source, target, next_target in zip(saved[::3], saved[1::3], saved[2::3])
            ]
        rng = np.random.default_rng(0)
        ids = rng.integers(
            3, self.vocabulary, (self.sentences, 2, self.length - 1)
        )  # 0, 1, 2: padding, BOS, EOS
        return [make_batch(ids.tolist())]

    def report(self, losses) -> dict:
        """What a worker reports besides time and memory: nothing. Raises FloatingPointError for a
        loss that is not finite.
        """
        if not all(map(math.isfinite, losses)):
            raise FloatingPointError("the loss is not a number")
        return {}


CASES = {
    "copy": Case("toy", 64, 64, 16),
    "tiny": Case("tiny", 10_000, 128, 24),
    "small": Case("small", 8000, 64, 32),
    "base": Case("base", 8000, 32, 32),
}
