"""The two masks of the Transformer: boolean, True = may attend; on the host, like the token ids."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.dispatch import replaceable
from minitransformer.data.special import PAD


@replaceable
def causal_mask(ids: Array) -> np.ndarray:
    """(T, T): position t may attend to positions up to t (section 3.2.3). ids: (B, T)."""
    positions = np.arange(ids.shape[1])
    return positions[:, None] >= positions


@replaceable
def padding_mask(ids: Array) -> np.ndarray:
    """(B, 1, 1, T): every head and query may attend to real tokens only. ids: (B, T)."""
    return (ids != PAD)[:, None, None, :]
