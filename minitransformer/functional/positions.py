"""The table of sinusoids (section 3.5 of the paper)."""

from functools import lru_cache
from types import ModuleType

import numpy as np
from numpy.typing import DTypeLike

from minitransformer.backend import Array, to_device
from minitransformer.dispatch import replaceable


@replaceable
@lru_cache(maxsize=64)
def sinusoids(length: int, d_model: int, xp: ModuleType = np,
              dtype: DTypeLike = "float64") -> Array:
    """PE[t, 2i] = sin(t / 10000^(2i / d_model)), PE[t, 2i+1] = cos(same); (length, d_model).

    Made in float64 on the host, then given `dtype` on the array module `xp`. If d_model is odd,
    the last column is a sine without its cosine. The array is shared between calls: do not write to it.
    """
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)     # (ceil(d_model / 2),)
    angles = np.arange(length)[:, None] * rates
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)[:, : d_model // 2]
    return to_device(table.astype(dtype), xp)
