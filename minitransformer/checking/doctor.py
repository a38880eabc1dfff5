"""The gradient doctor: names the likely mistake behind a gradient that failed its check.

It sees what the check saw: the block, its inputs, the analytic and the numeric gradients. It has two
kinds of evidence. A *signature* is an equation between the two gradients: one is the other's negative,
its transpose, a constant times it. An *experiment* runs the block again with something taken away (the
dropout, the mask, a gamma that is not 1, all of the batch but one): if the gradients are then right,
that was it. Where nothing fits, it says so rather than guess.
"""

import numpy as np

from minitransformer.checking.patient import EXPLAINED, Patient
from minitransformer.checking.subject import Subject
from minitransformer.functional import PAD
from minitransformer.layers import Layer

UNKNOWN = "no known pattern"


def diagnose(block, inputs, seed=0):
    """One sentence that names the likely mistake in the backward of `block`, or "no known pattern".

    block, inputs, seed: as for gradcheck, which asks this when a check fails. The patterns are tried
    from the most specific to the least; the first that fits names the mistake.
    """
    patient = Patient(block, inputs, seed)
    if patient.wrong:
        for pattern in PATTERNS:
            sentence = pattern(patient)
            if sentence:
                return sentence
    return UNKNOWN


# Signatures: what the analytic gradient is of the numeric one.

def wrong_sign(patient):
    ratio = patient.ratio()
    if ratio is not None and _same(ratio, -1):
        return f"wrong sign: the gradient of {patient.names} is the negative of the true one"


def divided_by_a_size(patient):
    ratio = patient.ratio()
    for size, what in patient.sizes() if ratio else ():
        if size > 1 and _same(ratio, 1 / size):
            return f"the gradient of {patient.names} is 1/{size} of the true one: it was averaged over {what}"
        if size > 1 and _same(ratio, 1 / size ** 2):
            return f"the gradient of {patient.names} is 1/{size}^2 of the true one: it was divided by {what} twice"
        if size > 1 and _same(ratio, size):
            return f"the gradient of {patient.names} is {size} times the true one: a division by {what} is missing"


def scale_forgotten(patient):
    ratio = patient.ratio()
    if ratio is None:
        return None
    widths = {pair[0].shape[-1] for pair in patient.wrong_pairs() if pair[0].ndim}
    widths |= {width // layer.num_heads for width in widths for layer in _layers(patient.block)
               if hasattr(layer, "num_heads")}
    for width in widths:
        if width > 1 and _same(ratio, width ** 0.5):
            return f"the factor 1/sqrt(d_k) is missing in the backward of {patient.names} (sqrt({width}) too large)"


def counted_twice(patient):
    ratio = patient.ratio()
    if ratio is not None and _same(ratio, 2):
        return f"the gradient of {patient.names} is twice the true one: it is added in two places"


def transposed(patient):
    pairs = [pair for pair in patient.wrong_pairs() if pair[0].ndim == 2 and pair[0].shape[0] == pair[0].shape[1]]
    if pairs and all(_equal(analytic.T, numeric) for analytic, numeric in pairs):
        return f"missing transpose: the gradient of {patient.names} is the transpose of the true one"
    symmetric = patient.changed(_make_symmetric)
    if symmetric and patient.right(block=symmetric):
        return f"missing transpose: the gradient of {patient.names} is right only for a symmetric weight"


def shifted(patient):
    for analytic, numeric in patient.wrong_pairs():
        if analytic.ndim and len(analytic) > 1 and (
                _equal(analytic[1:], numeric[:-1]) or _equal(analytic[:-1], numeric[1:])):
            return f"positions off by one: the gradient of {patient.names} is the true one shifted by one row"


def residual_dropped(patient):
    missing = [numeric - patient.analytic[name] for name, numeric in patient.numeric.items()
               if name in patient.inputs]
    if any(_equal(difference, patient.dy) for difference in missing):
        return f"the residual path is dropped: the gradient of {patient.names} lacks dy itself"


def residual_dropped_before_norm(patient):
    """With a sub-layer of zeros only the residual path is left; a gradient of 0 then means it is not there."""
    silent = patient.changed(_silence)
    if not silent or not hasattr(silent, "norm") or not any(name in patient.inputs for name in patient.wrong):
        return None
    subject = Subject(silent, list(patient.inputs.values()), np.float64, lambda: None)
    y, cache = subject.forward()
    gradients = subject.gradients(np.random.default_rng(0).standard_normal(y.shape), cache)
    if not any(gradients[name].any() for name in patient.wrong if name in patient.inputs):
        return f"the residual path is dropped: only the sub-layer's gradient reaches {patient.names}"


def mean_term_forgotten(patient):
    """LayerNorm: dx = (dn - mean(dn) - n mean(dn n)) / sigma; what lacks the first mean is off by a constant a row."""
    for name, numeric in patient.numeric.items():
        off = patient.analytic[name] - numeric
        if name not in patient.inputs or off.ndim < 2:
            continue
        if _equal(off, np.broadcast_to(off.mean(axis=-1, keepdims=True), off.shape)):
            return f"the gradient of {name} is off by a constant in each row: the term mean(dn) of LayerNorm is missing"
        x = patient.inputs[name]
        centred = x - x.mean(axis=-1, keepdims=True)
        along = (off * centred).sum(axis=-1, keepdims=True) / (centred * centred).sum(axis=-1, keepdims=True)
        if _equal(off, along * centred):
            return f"the gradient of {name} is off along x - mean(x): the term n mean(dn n) of LayerNorm is missing"


# Experiments: what makes the gradients right when it is taken away.

def dropout(patient):
    if not patient.takes_rng or not patient.right(make_rng=lambda: None):
        return None
    if not patient.right(make_rng=_KeepAll):
        return "right without dropout: its scale 1 / (1 - rate) is forgotten in backward"
    if patient.right(make_rng=_SameDraw):
        return "right without dropout: one mask is shared by several uses, and backward sees the last one's"
    return "right without dropout: backward does not apply the mask of the forward"


def gamma_outside(patient):
    block = patient.changed(lambda copy: _set(copy, "gamma", 1.0))
    inputs = {name: np.ones_like(value) for name, value in patient.inputs.items() if name == "gamma"}
    if (block or inputs) and patient.right(block=block, inputs=inputs):
        return "right where gamma is 1: gamma is multiplied outside the two means of LayerNorm's backward, not inside"


def mask_in_forward_only(patient):
    open_masks = {name: np.ones_like(value) for name, value in patient.inputs.items()
                  if isinstance(value, np.ndarray) and value.dtype == bool}
    if open_masks and patient.right(inputs=open_masks):
        return "right without a mask: the mask is applied in forward only"


def smoothing_forgotten(patient):
    if "smoothing" in patient.inputs and patient.right(inputs={"smoothing": 0.0}):
        return "right without label smoothing: the smoothing is forgotten in the gradient"


def padding_counted(patient):
    filled = {name: np.where(value == PAD, 1, value) for name, value in patient.inputs.items()
              if isinstance(value, np.ndarray) and value.dtype.kind == "i" and (value == PAD).any()}
    if filled and patient.right(inputs=filled):
        return "right without padding: padding is counted in the gradient"


def ties(patient):
    rng = np.random.default_rng(0)
    tied = {name: value + 0.1 * rng.standard_normal(value.shape) for name, value in patient.inputs.items()
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and _has_ties(value)}
    if tied and patient.right(inputs=tied):
        return "right without equal values: several tied entries are all taken for the one that was meant"


def heads_merged(patient):
    if any(getattr(layer, "num_heads", 1) > 1 for layer in _layers(patient.block)):
        if patient.right(block=patient.changed(lambda copy: _set_attribute(copy, "num_heads", 1))):
            return "right with one head: the heads are split or merged in the wrong order of axes"


def one_layer_only(patient):
    if any(len(getattr(layer, "layers", ())) > 1 for layer in _layers(patient.block)):
        if patient.right(block=patient.changed(_keep_one_layer)):
            return (f"right with one layer: the gradient of {patient.names} is taken from one layer of the stack, "
                    "not summed over all")


def relu_mask(patient):
    positive = {name: np.abs(value) + 1 for name, value in patient.inputs.items() if name == "x"}
    block = patient.changed(lambda copy: _set(copy, "bias", 100.0))
    if patient.right(block=block, inputs=positive):
        return "right where every unit is active: the ReLU mask is taken from the wrong array"


def assigned(patient):
    """Backward twice without zeroing must double every parameter's gradient."""
    subject = Subject(patient.block, list(patient.inputs.values()), np.float64, lambda: np.random.default_rng(0))
    y, cache = subject.forward()
    dy = np.ones(np.shape(y))
    once = {name: gradient.copy() for name, gradient in subject.gradients(dy, cache).items()}
    twice = subject.gradients(dy, cache)
    for name in patient.wrong:
        if name in patient.parameters and once[name].any() and _equal(once[name], twice[name]):
            return f"the gradient of {name} is assigned (=), not added (+=): a second use overwrites the first"


def axis_lost(patient):
    """Right for one row, one sequence, or sequences of one token: which axis went missing."""
    arrays = {name: value for name, value in patient.inputs.items() if isinstance(value, np.ndarray)}
    if not arrays or max(value.ndim for value in arrays.values()) < 2:
        return None
    batch = next(iter(arrays.values())).shape[0]
    one = {name: value[:1] for name, value in arrays.items() if value.ndim and len(value) == batch}
    short = {name: value[:, :1] for name, value in arrays.items() if value.ndim >= 2 and value.dtype != bool}
    both = {name: one.get(name, value)[:, :1] for name, value in short.items()}
    unmasked = {name: None for name, value in arrays.items() if value.dtype == bool}
    for inputs, what in ((one, "a batch of one: the batch axis"),
                         ({**short, **unmasked}, "sequences of one token: the time axis"),
                         ({**both, **unmasked}, "a single row: the axes it was broadcast along")):
        if patient.right(inputs=inputs):
            lost = "not summed over" if all(name in patient.parameters for name in patient.wrong) else "lost or mixed up"
            return f"the gradient of {patient.names} is right only for {what} is {lost}"


PATTERNS = (wrong_sign, divided_by_a_size, transposed, shifted, residual_dropped, mean_term_forgotten, dropout,
            scale_forgotten, counted_twice, gamma_outside, smoothing_forgotten, padding_counted, ties,
            mask_in_forward_only, heads_merged, one_layer_only, residual_dropped_before_norm, axis_lost, relu_mask, assigned)


class _KeepAll:
    """A generator whose every draw is the largest: nothing is dropped, but the scale is there."""

    def integers(self, low, high=None, size=None, dtype=np.int64):
        return np.full(size, (low if high is None else high) - 1, dtype)

    def random(self, size=None):
        return np.full(size, 1 - 1e-9)


class _SameDraw:
    """A generator that starts anew with every draw: equal shapes get equal masks."""

    def __getattr__(self, name):
        return getattr(np.random.default_rng(0), name)


def _same(a, b):
    return abs(a - b) <= EXPLAINED * abs(b)


def _equal(a, b):
    return a.shape == b.shape and bool(b.any()) and np.abs(a - b).max() <= EXPLAINED * np.abs(b).max()


def _has_ties(value):
    return value.ndim > 0 and (np.diff(np.sort(value, axis=-1), axis=-1) == 0).any()


def _layers(block):
    """`block` and every layer below it; nothing for a pair of functions."""
    if isinstance(block, Layer):
        yield block
        for value in vars(block).values():
            for item in value if isinstance(value, list) else [value]:
                yield from _layers(item)


def _set(layer, suffix, value):
    for name, parameter in layer.parameters().items():
        if name.endswith(suffix):
            parameter.data[...] = value


def _set_attribute(block, name, value):
    for layer in _layers(block):
        if hasattr(layer, name):
            setattr(layer, name, value)


def _keep_one_layer(block):
    for layer in _layers(block):
        if hasattr(layer, "layers"):
            del layer.layers[1:]


def _make_symmetric(layer):
    for parameter in layer.parameters().values():
        if parameter.data.ndim == 2 and len(set(parameter.shape)) == 1:
            parameter.data[...] = (parameter.data + parameter.data.T) / 2


def _silence(layer):
    for name, parameter in layer.parameters().items():
        if not name.endswith(("gamma", "beta")):
            parameter.data[...] = 0
