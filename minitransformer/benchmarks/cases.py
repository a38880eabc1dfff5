"""What is measured: the sizes of a model and of a batch, and the settings that all libraries share."""

import math
from typing import NamedTuple

import numpy as np

from minitransformer.data.batches import Batch, make_batch
from minitransformer.models import TransformerConfig

DROPOUT = 0.1      # in all places: embeddings + positions, residuals, attention weights, inside the feed-forward network
SMOOTHING = 0.1    # label smoothing
CLIP = 1.0         # maximum norm of the gradient
LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-4, 0.9, 0.98, 1e-9    # Adam


MODULES = {"minitransformer": "ours", "torch": "torch_eager", "torch.compile": "torch_compiled", "jax": "jax_jit",
           "matmul": "matmul"}


class Case(NamedTuple):
    """A model and a batch of random tokens without padding."""

    size: str            # a named configuration
    vocabulary: int
    sentences: int
    length: int          # tokens in each source and target, with EOS or BOS
    changes: dict = {}   # changes to the configuration

    def config(self) -> TransformerConfig:
        return TransformerConfig.named(self.size, self.vocabulary, dropout=DROPOUT, attention_dropout=DROPOUT,
                                       feed_forward_dropout=DROPOUT, **self.changes)

    def batch(self) -> Batch:
        rng = np.random.default_rng(0)
        ids = rng.integers(3, self.vocabulary, (self.sentences, 2, self.length - 1))    # 0, 1, 2: padding, BOS, EOS
        return make_batch(ids.tolist())

    def batches(self) -> list[Batch]:
        """What a step of the benchmark trains on, one update for each."""
        return [self.batch()]

    def modules(self) -> dict[str, str]:
        """{library: the module in minitransformer.benchmarks whose make_step(case, threads) makes a step}."""
        return MODULES

    def report(self, losses) -> dict:
        """What a worker reports besides time and memory: nothing. Raises FloatingPointError for a loss that is not finite."""
        return check_losses(losses)


def check_losses(losses) -> dict:
    if not all(map(math.isfinite, losses)):
        raise FloatingPointError("the loss is not a number")
    return {}


CASES = {"copy": Case("toy", 64, 64, 16), "tiny": Case("tiny", 10_000, 128, 24), "small": Case("small", 8000, 64, 32),
         "base": Case("base", 8000, 32, 32)}
