"""A constant factor between the wrong gradient and the right one, and the size of the block that it equals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from minitransformer.checking.checked_block import is_float
from minitransformer.layers import Layer
from minitransformer.functional.special import PAD

CLOSE = 1e-9
WIDTHS = {"logits": "the vocabulary's size V"}
CONSTANTS = {
    -1.0: "is exactly the negative of the true one: it has the wrong sign",
    2.0: "is exactly 2 times the true one: it is added or counted twice (doubled), or has a factor 2 that the forward lacks",
    0.5: "is exactly half the true one (halved, divided by 2): it lacks a factor 2 of the forward, or one of two equal parts, "
         "or has a factor 1/2 too many",
    -2.0: "is exactly -2 times the true one: it has the wrong sign, and is doubled"}
WELL_KNOWN = {"log(2)": math.log(2), "log(10)": math.log(10), "pi": math.pi, "pi/2": math.pi / 2, "sqrt(2)": math.sqrt(2),
              "sqrt(2/pi)": math.sqrt(2 / math.pi)}
LARGEST = 12    # a simple constant is a fraction of whole numbers up to this one, or has at most three digits


def sizes(case) -> dict[Any, tuple[int, str]]:
    """{key: (number, what it counts)} for everything in the block that can be counted; a key means the same in every case.

    Sizes with a name come before plain widths: of two that are always equal, the first is reported.
    """
    counted: dict[Any, tuple[int, str]] = {}
    arrays = {k: v for k, v in case.arguments.items() if isinstance(v, np.ndarray) and v.dtype != bool and v.ndim}
    deepest = max(arrays.values(), key=lambda a: (a.ndim, is_float(a)), default=None)
    if deepest is not None and deepest.ndim >= 2:
        batch, length = deepest.shape[0], deepest.shape[-2] if is_float(deepest) and deepest.ndim > 2 else deepest.shape[1]
        counted["batch"] = batch, f"the batch (B = {batch})"
        if deepest.ndim > 2 or not is_float(deepest):
            counted["length"] = length, f"the length (T = {length})"
            counted["tokens"] = batch * length, f"the number of all tokens (B T = {batch * length})"
    for key, array in arrays.items():
        if array.dtype.kind in "iu" and (array == PAD).any():
            real = int((array != PAD).sum())
            counted["real", key] = real, f"the number of real tokens ({real})"
    for path, layer in _layers(case):
        if getattr(layer, "num_heads", 1) > 1:
            counted["heads", path] = layer.num_heads, f"the number of heads (H = {layer.num_heads})"
            if hasattr(layer, "query"):
                width = layer.query.weight.shape[1] // layer.num_heads
                counted["d_k", path] = width, f"the width of a head (d_k = {width})"
        if len(getattr(layer, "layers", ())) > 1:
            counted["layers", path] = len(layer.layers), f"the number of layers ({len(layer.layers)})"
    for name, variable in case.checked.variables.items():
        for axis in reversed(range(variable.ndim)):
            what = WIDTHS.get(name, "the width (last axis)") if axis == variable.ndim - 1 else f"the axis {axis}"
            counted["axis", name, axis] = variable.shape[axis], f"{what} of {name} ({variable.shape[axis]})"
    return {key: (size, what) for key, (size, what) in counted.items() if size > 1}


def _layers(case) -> list[tuple[str, Any]]:
    return [("", case.block), *case.block.sublayers().items()] if isinstance(case.block, Layer) else []


def keep_scales(case) -> list[float]:
    """The factors 1 / (1 - rate) of the dropouts in the block, rounded as the library does and exact."""
    rates: list[Any] = [v for k, v in case.arguments.items() if isinstance(v, float) and "rate" in k]
    rates += [getattr(layer, "dropout", None) for _, layer in _layers(case)]    # a sub-layer may have that name, too
    return [scale for rate in dict.fromkeys(rates) if isinstance(rate, float) and 0 < rate < 1
            for scale in (256 / (256 - round(256 * rate)), 1 / (1 - rate))]


def expressions(case) -> dict[tuple[str, Any], tuple[float, str]]:
    """{(form, key of a size): (the factor's value in this case, what it says)}."""
    factors: dict[tuple[str, Any], tuple[float, str]] = {}
    for key, (size, what) in sizes(case).items():
        for form, value, sentence in (
                ("times", size, f"is exactly the true one times {what}: a division by it is missing (the forward has a mean "
                                "where backward has a sum), or it is multiplied by it"),
                ("over", 1 / size, f"is exactly the true one divided by {what}: averaged over it (a mean for a sum)"),
                ("times squared", size ** 2, f"is exactly the true one times the square of {what}"),
                ("over squared", size ** -2, f"is exactly the true one divided by the square of {what} (divided twice)"),
                ("times root", size ** 0.5, f"is exactly the true one times sqrt({size}), the square root of {what}: a scale that "
                                            "only backward has, or a division by it is missing"),
                ("over root", size ** -0.5, f"is exactly the true one divided by sqrt({size}), the square root of {what}: a scale "
                                            "that only backward has, or a factor sqrt is missing"),
                ("unbiased", size / (size - 1), f"is exactly the true one divided by one less than {what}, where the division "
                                                "is by all of them"),
                ("biased", (size - 1) / size, f"is exactly the true one divided by {what}, where the division is by one less")):
            factors[form, key] = value, sentence
    for i, scale in enumerate(keep_scales(case)):
        factors["keep", i] = scale, "is multiplied by the dropout's scale 1 / (1 - rate) once too often"
        factors["drop", i] = 1 / scale, "lacks the dropout's scale 1 / (1 - rate)"
    return factors


def ratio(observed, right) -> float | None:
    """The constant r with observed = r * right in every array, or None."""
    pairs = [(observed[name], right[name]) for name in observed]
    largest = max((np.abs(n).max(initial=0) for _, n in pairs), default=0)
    along = sum(float((a * n).sum()) for a, n in pairs), sum(float((n * n).sum()) for _, n in pairs)
    if not along[1]:
        return None
    r = along[0] / along[1]
    fits = all(np.abs(a - r * n).max(initial=0) <= CLOSE * largest * max(1, abs(r)) for a, n in pairs)
    return r if fits and abs(r) > 1e-12 else None


def named_factors(cases, ratios) -> list[str]:
    """The sentences that give the constant in every case; none if different constants are needed."""
    if all(close(r, ratios[0]) for r in ratios):
        nearest = [text for value, text in CONSTANTS.items() if close(value, ratios[0])]
        simple = _simple(ratios[0])
        constant = nearest or ([f"is exactly {simple} times the true one, at every size (a constant factor)"] if simple else [])
    else:
        constant = []
    tables = [expressions(case) for case in cases]
    fitting = {}
    for form, key in tables[0]:
        if all((form, key) in table and close(table[form, key][0], r) for table, r in zip(tables, ratios)):
            fitting.setdefault(form, tables[0][form, key][1])    # others of this form are the same size under another name
    return constant + list(fitting.values())


def _simple(value) -> str:
    """A simple number as text, "3" or "2/3" or "0.01" or "log(2)"; "" for any other, which may have any cause."""
    if close(float(f"{value:.3g}"), value):
        return f"{value:.3g}"
    for name, constant in WELL_KNOWN.items():
        if close(constant, value) or close(1 / constant, value):
            return name if close(constant, value) else f"1/{name}" if "/" not in name else f"1/({name})"
    fraction = Fraction(value).limit_denominator(LARGEST)
    return str(fraction) if abs(fraction.numerator) <= LARGEST and close(float(fraction), value) else ""


def close(a, b) -> bool:
    return abs(a - b) <= CLOSE * abs(b)
