"""The normaliser of beam search's logits: the exponentials are summed as they are computed, and none is stored."""

import numpy as np

from minitransformer.backend import Array
from minitransformer.decoding.top_k import log_normaliser
from minitransformer.kernels.exponential import exp
from minitransformer.kernels.loops import loop, packed
from minitransformer.replaceable import replaces


@replaces(log_normaliser, "numpy", "float32")
def log_normaliser_compiled(blocks, peak) -> Array:
    total = np.zeros(peak.shape, peak.dtype)
    for logits in blocks:
        add_exponentials(packed(logits, peak.size, logits.shape[-1]), packed(peak, peak.size), total)
    return np.log(total) + peak


@loop("matrix vector vector")
def add_exponentials(logits, peak, total) -> None:
    """logits: (R, n); peak, total: (R,). Adds to total."""
    for row in range(len(logits)):
        part = logits.dtype.type(0)
        for i in range(logits.shape[1]):
            part += exp(logits[row, i] - peak[row])
        total[row] += part
