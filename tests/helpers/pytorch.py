"""What a comparison with PyTorch needs."""

import numpy as np

from minitransformer import Transformer, TransformerConfig
from tests.fixtures.cases import CASES, SIZES
from tests.helpers.randomised import randomised

BOUND = 1e-10


def error(ours, theirs, largest=0.0):
    """max|a - n| / max(max|a|, max|n|, G / 10), as in the gradient check."""
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / max(np.abs(ours).max(), np.abs(theirs).max(), largest / 10)


UNSHARED = {**SIZES, "source_vocab": 19, "share_embeddings": False}
CONFIGS = {
    **CASES,
    "learned": TransformerConfig(**UNSHARED, positions="learned", max_length=9, share_output=False),
    "learned_pre_norm": TransformerConfig(
        **SIZES, positions="learned", max_length=9, pre_norm=True
    ),
    "two_heads": TransformerConfig(**{**SIZES, "num_heads": 2}, d_k=6, d_v=6),
}  # an even number, for the fused path


def random_model(config, dtype=np.float64):
    return randomised(Transformer(config), 0.2, dtype=dtype)
