"""Signatures of mistakes: what the analytic gradient is of the numeric one.

Each takes a Patient and returns the sentence that names the mistake, or None.
"""

import numpy as np

from minitransformer.checking.patient import equal, layers_of, same


def wrong_sign(patient):
    ratio = patient.ratio()
    if ratio is not None and same(ratio, -1):
        return f"wrong sign: the gradient of {patient.names} is the negative of the true one"


def divided_by_a_size(patient):
    ratio = patient.ratio()
    for size, what in patient.sizes() if ratio else ():
        if size > 1 and same(ratio, 1 / size):
            return f"the gradient of {patient.names} is 1/{size} of the true one: it was averaged over {what}"
        if size > 1 and same(ratio, 1 / size ** 2):
            return f"the gradient of {patient.names} is 1/{size}^2 of the true one: it was divided by {what} twice"
        if size > 1 and same(ratio, size):
            return f"the gradient of {patient.names} is {size} times the true one: a division by {what} is missing"


def scale_forgotten(patient):
    ratio = patient.ratio()
    if ratio is None:
        return None
    widths = {pair[0].shape[-1] for pair in patient.wrong_pairs() if pair[0].ndim}
    widths |= {width // layer.num_heads for width in widths for layer in layers_of(patient.block)
               if hasattr(layer, "num_heads")}
    for width in widths:
        if width > 1 and same(ratio, width ** 0.5):
            return f"the factor 1/sqrt(d_k) is missing in the backward of {patient.names} (sqrt({width}) too large)"


def counted_twice(patient):
    ratio = patient.ratio()
    if ratio is not None and same(ratio, 2):
        return f"the gradient of {patient.names} is twice the true one: it is added in two places"


def transposed(patient):
    pairs = [pair for pair in patient.wrong_pairs() if pair[0].ndim == 2 and pair[0].shape[0] == pair[0].shape[1]]
    if pairs and all(equal(analytic.T, numeric) for analytic, numeric in pairs):
        return f"missing transpose: the gradient of {patient.names} is the transpose of the true one"


def shifted(patient):
    for analytic, numeric in patient.wrong_pairs():
        if analytic.ndim and len(analytic) > 1 and (
                equal(analytic[1:], numeric[:-1]) or equal(analytic[:-1], numeric[1:])):
            return f"positions off by one: the gradient of {patient.names} is the true one shifted by one row"


def residual_dropped(patient):
    missing = [numeric - patient.analytic[name] for name, numeric in patient.numeric.items()
               if name in patient.inputs]
    if any(equal(difference, patient.dy) for difference in missing):
        return f"the residual path is dropped: the gradient of {patient.names} lacks dy itself"


def mean_term_forgotten(patient):
    """LayerNorm: dx = (dn - mean(dn) - n mean(dn n)) / sigma; what lacks the first mean is off by a constant a row."""
    for name, numeric in patient.numeric.items():
        off = patient.analytic[name] - numeric
        if name not in patient.inputs or off.ndim < 2:
            continue
        if equal(off, np.broadcast_to(off.mean(axis=-1, keepdims=True), off.shape)):
            return f"the gradient of {name} is off by a constant in each row: the term mean(dn) of LayerNorm is missing"
        x = patient.inputs[name]
        centred = x - x.mean(axis=-1, keepdims=True)
        along = (off * centred).sum(axis=-1, keepdims=True) / (centred * centred).sum(axis=-1, keepdims=True)
        if equal(off, along * centred):
            return f"the gradient of {name} is off along x - mean(x): the term n mean(dn n) of LayerNorm is missing"
