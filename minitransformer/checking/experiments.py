"""Experiments of the doctor: what makes wrong gradients right when it is taken away.

Each takes a FailedCheck and returns the sentence that names the mistake, or None.
"""

import numpy as np

from minitransformer.checking.failed_check import equal, layers_of
from minitransformer.special import PAD


def dropout(check):
    if not check.takes_rng or not check.right(make_rng=lambda: None):
        return None
    if not check.right(make_rng=_KeepAll):
        return "right without dropout: its scale 1 / (1 - rate) is forgotten in backward"
    if check.right(make_rng=_SameDraw):
        return "right without dropout: one mask is shared by several uses, and backward sees the last one's"
    return "right without dropout: backward does not apply the mask of the forward"


def gamma_outside(check):
    block = check.changed(lambda copy: _set(copy, "gamma", 1.0))
    inputs = {name: np.ones_like(value) for name, value in check.inputs.items() if name == "gamma"}
    if (block or inputs) and check.right(block=block, inputs=inputs):
        return "right where gamma is 1: gamma is multiplied outside the two means of LayerNorm's backward, not inside"


def mask_in_forward_only(check):
    open_masks = {name: np.ones_like(value) for name, value in check.inputs.items()
                  if isinstance(value, np.ndarray) and value.dtype == bool}
    if open_masks and check.right(inputs=open_masks):
        return "right without a mask: the mask is applied in forward only"


def smoothing_forgotten(check):
    if "smoothing" in check.inputs and check.right(inputs={"smoothing": 0.0}):
        return "right without label smoothing: the smoothing is forgotten in the gradient"


def padding_counted(check):
    filled = {name: np.where(value == PAD, 1, value) for name, value in check.inputs.items()
              if isinstance(value, np.ndarray) and value.dtype.kind == "i" and (value == PAD).any()}
    if filled and check.right(inputs=filled):
        return "right without padding: padding is counted in the gradient"


def ties(check):
    rng = np.random.default_rng(0)
    tied = {name: value + 0.1 * rng.standard_normal(value.shape) for name, value in check.inputs.items()
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and _has_ties(value)}
    if tied and check.right(inputs=tied):
        return "right without equal values: several tied entries are all taken for the one that was meant"


def heads_merged(check):
    if any(getattr(layer, "num_heads", 1) > 1 for layer in layers_of(check.block)):
        if check.right(block=check.changed(lambda copy: _set_attribute(copy, "num_heads", 1))):
            return "right with one head: the heads are split or merged in the wrong order of axes"


def one_layer_only(check):
    if any(len(getattr(layer, "layers", ())) > 1 for layer in layers_of(check.block)):
        if check.right(block=check.changed(_keep_one_layer)):
            return (f"right with one layer: the gradient of {check.names} is taken from one layer of the stack, "
                    "not summed over all")


def asymmetric(check):
    symmetric = check.changed(_make_symmetric)
    if symmetric and check.right(block=symmetric):
        return f"missing transpose: the gradient of {check.names} is right only for a symmetric weight"


def sublayer_only(check):
    """With a sub-layer of zeros only the residual path is left; a gradient of 0 then means it is not there."""
    silent = check.changed(_silence)
    if not silent or not hasattr(silent, "norm") or not any(name in check.inputs for name in check.wrong):
        return None
    checked = check.checked(silent, make_rng=lambda: None)
    y, cache = checked.forward()
    gradients = checked.gradients(np.random.default_rng(0).standard_normal(y.shape), cache)
    if not any(gradients[name].any() for name in check.wrong if name in check.inputs):
        return f"the residual path is dropped: only the sub-layer's gradient reaches {check.names}"


def relu_mask(check):
    positive = {name: np.abs(value) + 1 for name, value in check.inputs.items() if name == "x"}
    block = check.changed(lambda copy: _set(copy, "bias", 100.0))
    if check.right(block=block, inputs=positive):
        return "right where every unit is active: the ReLU mask is taken from the wrong array"


def assigned(check):
    """Backward twice without zeroing must double every parameter's gradient."""
    checked = check.checked()
    y, cache = checked.forward()
    dy = np.ones(np.shape(y))
    once = {name: gradient.copy() for name, gradient in checked.gradients(dy, cache).items()}
    twice = checked.gradients(dy, cache)
    for name in check.wrong:
        if name in check.parameters and once[name].any() and equal(once[name], twice[name]):
            return f"the gradient of {name} is assigned (=), not added (+=): a second use overwrites the first"


def axis_lost(check):
    """Right for one row, one sequence, or sequences of one token: which axis went missing."""
    arrays = {name: value for name, value in check.inputs.items() if isinstance(value, np.ndarray)}
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
        if check.right(inputs=inputs):
            only_parameters = all(name in check.parameters for name in check.wrong)
            lost = "not summed over" if only_parameters else "lost or mixed up"
            return f"the gradient of {check.names} is right only for {what} is {lost}"


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


def _has_ties(value):
    return value.ndim > 0 and (np.diff(np.sort(value, axis=-1), axis=-1) == 0).any()


def _set(layer, suffix, value):
    for name, parameter in layer.parameters().items():
        if name.endswith(suffix):
            parameter.data[...] = value


def _set_attribute(block, name, value):
    for layer in layers_of(block):
        if hasattr(layer, name):
            setattr(layer, name, value)


def _keep_one_layer(block):
    for layer in layers_of(block):
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
