"""A constant between the wrong gradient and the right one, and the size of the block that it is."""

import numpy as np

from minitransformer.checking.checked_block import is_float
from minitransformer.layers import Layer
from minitransformer.special import PAD

CLOSE = 1e-9
CONSTANTS = {
    -1.0: "is the negative of the true one: it has the wrong sign",
    2.0: "is twice the true one: it is added or counted two times (doubled), or a factor 2 is too many",
    0.5: "is half the true one (halved): a factor 1/2 is too many, or one of two equal parts is missing",
    -2.0: "is -2 times the true one: wrong sign, and doubled",
    3.0: "is three times the true one", 1 / 3: "is a third of the true one: divided by 3"}


def sizes(case):
    """{what it is: how many}, of everything in the block that can be counted."""
    found = {}
    arrays = [v for v in case.arguments.values() if isinstance(v, np.ndarray) and v.dtype != bool and v.ndim]
    layer = case.block if isinstance(case.block, Layer) else None
    first = max(arrays, key=lambda a: (a.ndim, is_float(a)), default=None)
    for array in arrays:
        if array.ndim >= 2 and (layer is not None or array.ndim == first.ndim or not is_float(array)):
            found.setdefault(f"the batch (B = {len(array)})", len(array))
            axis = array.ndim - 2 if is_float(array) else 1
            if axis > 0:
                found[f"the length (T = {array.shape[axis]})"] = array.shape[axis]
                found[f"the number of all tokens (B T = {len(array) * array.shape[axis]})"] = len(array) * array.shape[axis]
        if array.dtype.kind in "iu" and (array == PAD).any():
            found[f"the number of real tokens ({(array != PAD).sum()})"] = int((array != PAD).sum())
    for array in arrays:
        if is_float(array):
            for axis, size in enumerate(array.shape):
                found[f"the size {size} of the axis {axis - array.ndim} of an input"] = size
    if layer is not None:
        layers = [layer, *layer.sublayers().values()]
        for one in layers:
            if getattr(one, "num_heads", 1) > 1:
                found[f"the number of heads (H = {one.num_heads})"] = one.num_heads
                width = one.query.weight.shape[1] if hasattr(one, "query") else 0
                found[f"the width of a head (d_k = {width // one.num_heads})"] = width // one.num_heads
            if len(getattr(one, "layers", ())) > 1:
                found[f"the number of layers ({len(one.layers)})"] = len(one.layers)
        for parameter in layer.parameters().values():
            for size in parameter.shape:
                found[f"the width {size}"] = size
    distinct = {}
    for what, size in found.items():
        if size > 1 and size not in distinct.values():
            distinct[what] = size
    return distinct


def keep_scales(case):
    """The factors 1 / (1 - rate) of the dropouts in the block."""
    rates = [v for k, v in case.arguments.items() if isinstance(v, float) and "rate" in k]
    if isinstance(case.block, Layer):
        rates += [getattr(one, "dropout", 0) for one in (case.block, *case.block.sublayers().values())]
    return [256 / (256 - round(256 * rate)) for rate in dict.fromkeys(rates) if 0 < rate < 1]


def expressions(case):
    """{kind of factor: (its value in this case, what it says)}; the kinds are the same in every case."""
    found = {}
    for i, (what, size) in enumerate(sizes(case).items()):
        for kind, value, sentence in (
                ("times", size, f"is multiplied by {what}: a division by it is missing, or a sum was taken for a mean"),
                ("over", 1 / size, f"is divided by {what}: it was averaged over it (a mean for a sum)"),
                ("times squared", size ** 2, f"is multiplied by the square of {what}"),
                ("over squared", size ** -2, f"is divided by {what} twice (squared)"),
                ("times root", size ** 0.5, f"is multiplied by the square root of {what}: a division by sqrt is missing"),
                ("over root", size ** -0.5, f"is divided by the square root of {what}: a factor sqrt is missing, or 1/sqrt too many"),
                ("unbiased", size / (size - 1), f"was divided by one less than {what}"),
                ("biased", (size - 1) / size, f"was divided by {what} where one less belongs")):
            found[kind, _kind(what)] = value, sentence
    for i, scale in enumerate(keep_scales(case)):
        found["keep", i] = scale, "is multiplied by the dropout's scale 1 / (1 - rate) once too often"
        found["drop", i] = 1 / scale, "lacks the dropout's scale 1 / (1 - rate)"
    return found


def _kind(what):
    return "".join(c for c in what if not c.isdigit()) + ("" if "axis" not in what else what.split("axis ")[1])


def ratio(observed, right):
    """The constant r with observed = r * right in every array, or None."""
    pairs = [(observed[name], right[name]) for name in observed]
    largest = max((np.abs(n).max(initial=0) for _, n in pairs), default=0)
    along = sum(float((a * n).sum()) for a, n in pairs), sum(float((n * n).sum()) for _, n in pairs)
    if not along[1]:
        return None
    r = along[0] / along[1]
    fits = all(np.abs(a - r * n).max(initial=0) <= CLOSE * largest * max(1, abs(r)) for a, n in pairs)
    return r if fits and abs(r) > 1e-12 else None


def named_factors(cases, ratios):
    """The sentences that give the constant of every case; none if several different ones are needed."""
    if all(close(r, ratios[0]) for r in ratios):
        nearest = [text for value, text in CONSTANTS.items() if close(value, ratios[0])]
        constant = nearest or [f"is {ratios[0]:.6g} times the true one, at every size"]
    else:
        constant = []
    tables = [expressions(case) for case in cases]
    fitting = [kind for kind in tables[0] if all(kind in table and close(table[kind][0], r) for table, r in zip(tables, ratios))]
    return constant + [tables[0][kind][1] for kind in fitting]


def close(a, b):
    return abs(a - b) <= CLOSE * abs(b)
