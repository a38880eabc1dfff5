"""Signatures of mistakes: what the analytic gradient is of the numeric one.

Each takes a FailedCheck and returns the sentence that names the mistake, or None.
"""

import numpy as np

from minitransformer.checking.failed_check import equal, layers_of, same


def wrong_sign(check):
    ratio = check.ratio()
    if ratio is not None and same(ratio, -1):
        return f"wrong sign: the gradient of {check.names} is the negative of the true one"


def divided_by_a_size(check):
    ratio = check.ratio()
    for size, what in check.sizes() if ratio else ():
        if size > 1 and same(ratio, 1 / size):
            return f"the gradient of {check.names} is 1/{size} of the true one: it was averaged over {what}"
        if size > 1 and same(ratio, 1 / size ** 2):
            return f"the gradient of {check.names} is 1/{size}^2 of the true one: it was divided by {what} twice"
        if size > 1 and same(ratio, size):
            return f"the gradient of {check.names} is {size} times the true one: a division by {what} is missing"


def scale_forgotten(check):
    ratio = check.ratio()
    if ratio is None:
        return None
    widths = {pair[0].shape[-1] for pair in check.wrong_pairs() if pair[0].ndim}
    widths |= {width // layer.num_heads for width in widths for layer in layers_of(check.block)
               if hasattr(layer, "num_heads")}
    for width in widths:
        if width > 1 and same(ratio, width ** 0.5):
            return f"the factor 1/sqrt(d_k) is missing in the backward of {check.names} (sqrt({width}) too large)"


def counted_twice(check):
    ratio = check.ratio()
    if ratio is not None and same(ratio, 2):
        return f"the gradient of {check.names} is twice the true one: it is added in two places"


def transposed(check):
    pairs = [pair for pair in check.wrong_pairs() if pair[0].ndim == 2 and pair[0].shape[0] == pair[0].shape[1]]
    if pairs and all(equal(analytic.T, numeric) for analytic, numeric in pairs):
        return f"missing transpose: the gradient of {check.names} is the transpose of the true one"


def shifted(check):
    for analytic, numeric in check.wrong_pairs():
        if analytic.ndim and len(analytic) > 1 and (
                equal(analytic[1:], numeric[:-1]) or equal(analytic[:-1], numeric[1:])):
            return f"positions off by one: the gradient of {check.names} is the true one shifted by one row"


def residual_dropped(check):
    missing = [numeric - check.analytic[name] for name, numeric in check.numeric.items()
               if name in check.inputs]
    if any(equal(difference, check.dy) for difference in missing):
        return f"the residual path is dropped: the gradient of {check.names} lacks dy itself"


def mean_term_forgotten(check):
    """LayerNorm: dx = (dn - mean(dn) - n mean(dn n)) / sigma; what lacks the first mean is off by a constant a row."""
    for name, numeric in check.numeric.items():
        off = check.analytic[name] - numeric
        if name not in check.inputs or off.ndim < 2:
            continue
        if equal(off, np.broadcast_to(off.mean(axis=-1, keepdims=True), off.shape)):
            return f"the gradient of {name} is off by a constant in each row: the term mean(dn) of LayerNorm is missing"
        x = check.inputs[name]
        centred = x - x.mean(axis=-1, keepdims=True)
        along = (off * centred).sum(axis=-1, keepdims=True) / (centred * centred).sum(axis=-1, keepdims=True)
        if equal(off, along * centred):
            return f"the gradient of {name} is off along x - mean(x): the term n mean(dn n) of LayerNorm is missing"
