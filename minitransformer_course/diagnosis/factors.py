"""A constant factor between the wrong gradient and the right one, and the size of the block that it
equals.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from minitransformer.checking.compare import SAME
from minitransformer.checking.subject import is_float
from minitransformer.data.special import PAD
from minitransformer.layers import Layer

CLOSE = 10 * SAME  # a quotient of two sums is less exact than the sums
WIDTHS = {"logits": "the vocabulary's size V"}
CONSTANTS = {  # {a factor: (what to say of a gradient that is wrong by it, what it means)}
    -1.0: ("is exactly the negative of the true one", "it has the wrong sign"),
    2.0: (
        "is exactly 2 times the true one",
        "it is added or counted twice (doubled), or has a factor 2 that the forward lacks",
    ),
    0.5: (
        "is exactly half the true one (halved, divided by 2)",
        "it lacks a factor 2 of the forward, or one of two equal parts, or has a factor 1/2 too many",
    ),
    -2.0: ("is exactly -2 times the true one", "it has the wrong sign, and is doubled"),
}
FORMS = {  # {a number made of a size n: (its value, what to say of a gradient that is wrong by it)}
    "{n}": (
        lambda n: n,
        "is exactly the true one times {what}: a division by it is missing (the forward has a mean where "
        "backward has a sum), or it is multiplied by it",
    ),
    "1/{n}": (
        lambda n: 1 / n,
        "is exactly the true one divided by {what}: averaged over it (a mean for a sum)",
    ),
    "{n}^2": (lambda n: n**2, "is exactly the true one times the square of {what}"),
    "1/{n}^2": (
        lambda n: n**-2,
        "is exactly the true one divided by the square of {what} (divided twice)",
    ),
    "sqrt({n})": (
        lambda n: n**0.5,
        "is exactly the true one times sqrt({n}), the square root of {what}: a scale that only "
        "backward has, or a division by it is missing",
    ),
    "1/sqrt({n})": (
        lambda n: n**-0.5,
        "is exactly the true one divided by sqrt({n}), the square root of {what}: a scale that "
        "only backward has, or a factor sqrt is missing",
    ),
    "{n}/({n} - 1)": (
        lambda n: n / (n - 1),
        "is exactly the true one divided by one less than {what} (unbiased), where the "
        "division is by all of them",
    ),
    "({n} - 1)/{n}": (
        lambda n: (n - 1) / n,
        "is exactly the true one divided by {what}, where the division is by one less",
    ),
}
WELL_KNOWN = {
    "log(2)": math.log(2),
    "log(10)": math.log(10),
    "pi": math.pi,
    "pi/2": math.pi / 2,
    "sqrt(2)": math.sqrt(2),
    "sqrt(2/pi)": math.sqrt(2 / math.pi),
}
TIME_FIRST = ("through_time",)  # pairs of functions
# a simple constant is a fraction of whole numbers up to this one, or has at most three digits
LARGEST = 12


def sizes(case) -> dict[Any, tuple[int, str]]:
    """{key: (number, what it counts)} for everything in the block that can be counted; a key means
    the same in every case.

    Sizes with a name come before plain widths: if two are always equal, the first is reported.
    """
    counted: dict[Any, tuple[int, str]] = {}
    arrays = {
        k: v
        for k, v in case.arguments.items()
        if isinstance(v, np.ndarray) and v.dtype != bool and v.ndim
    }
    deepest = max(arrays.values(), key=lambda a: (a.ndim, is_float(a)), default=None)
    if deepest is not None and deepest.ndim >= 2:
        batch, length = (
            deepest.shape[0],
            deepest.shape[-2] if is_float(deepest) and deepest.ndim > 2 else deepest.shape[1],
        )
        if is_time_first(case):
            batch, length = length, batch
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
            counted["layers", path] = (
                len(layer.layers),
                f"the number of layers ({len(layer.layers)})",
            )
    for name, variable in case.subject.variables.items():
        for axis in reversed(range(variable.ndim)):
            known = (
                {0: "batch", variable.ndim - 2: "length"}.get(axis) if name in case.inputs else None
            )
            if variable.shape[axis] != counted.get(known, (0, ""))[0]:
                what = (
                    WIDTHS.get(name, "the width (last axis)")
                    if axis == variable.ndim - 1
                    else f"the axis {axis}"
                )
                counted["axis", name, axis] = (
                    variable.shape[axis],
                    f"{what} of {name} ({variable.shape[axis]})",
                )
    return {key: (size, what) for key, (size, what) in counted.items() if size > 1}


def is_time_first(case) -> bool:
    """Whether the first axis counts positions, the second the batch."""
    return bool(case.counterpart) and case.counterpart.operation.name in TIME_FIRST


def _layers(case) -> list[tuple[str, Any]]:
    return (
        [("", case.block), *case.block.sublayers().items()] if isinstance(case.block, Layer) else []
    )


def keep_scales(case) -> list[float]:
    """The factors 1 / (1 - rate) of the dropouts in the block, rounded as the library does and
    exact.
    """
    rates: list[Any] = [
        v for k, v in case.arguments.items() if isinstance(v, float) and "rate" in k
    ]
    rates += [
        getattr(layer, "dropout", None) for _, layer in _layers(case)
    ]  # a sub-layer may have that name, too
    return [
        scale
        for rate in dict.fromkeys(rates)
        if isinstance(rate, float) and 0 < rate < 1
        for scale in (256 / (256 - round(256 * rate)), 1 / (1 - rate))
    ]


def ratio(observed, right) -> float | None:
    """The constant r with observed = r * right in every array, or None."""
    pairs = [(observed[name], right[name]) for name in observed]
    largest = max((np.abs(n).max(initial=0) for _, n in pairs), default=0)
    along = sum(float((a * n).sum()) for a, n in pairs), sum(float((n * n).sum()) for _, n in pairs)
    if not along[1]:
        return None
    r = along[0] / along[1]
    fits = all(
        np.abs(a - r * n).max(initial=0) <= SAME * largest * max(1, abs(r)) for a, n in pairs
    )
    return r if fits and abs(r) > SAME else None


def named_factors(cases, ratios) -> list[str]:
    """The sentences that give each case's ratio, a constant, in all cases; none if a case has none,
    or if they need different sentences.
    """
    if not all(ratios):
        return []
    found = []
    if all(close(r, ratios[0]) for r in ratios):
        simple, kept = as_text(ratios[0]), _kept(cases[0], ratios[0])
        found = [
            f"{said}, and {kept}" if kept else f"{said}: {why}"
            for value, (said, why) in CONSTANTS.items()
            if close(value, ratios[0])
        ]
        if simple and not found:
            said = f"is exactly {simple} times the true one, at every size that was tried"
            found = [f"{said}, and {kept}" if kept else said]
    tables = [sizes(case) for case in cases]
    for value, sentence in FORMS.values():
        fitting = [
            counted
            for key, counted in tables[0].items()
            if all(
                key in table and close(value(table[key][0]), r) for table, r in zip(tables, ratios)
            )
        ]
        if fitting:
            n, texts = fitting[0][0], list(dict.fromkeys(what for _n, what in fitting))
            several = f"{n}, which is {' and '.join(texts[:3])} (these sizes coincide here)"
            found.append(sentence.format(n=n, what=texts[0] if len(texts) == 1 else several))
    scales = [keep_scales(case) for case in cases]
    for power, sentence in (
        (1, "is multiplied by the dropout's scale 1 / (1 - rate) once too often"),
        (-1, "lacks the dropout's scale 1 / (1 - rate)"),
    ):
        if any(
            all(i < len(some) and close(some[i] ** power, r) for some, r in zip(scales, ratios))
            for i in range(len(scales[0]))
        ):
            found.append(sentence)
    return found


def _kept(case, ratio) -> str:
    """A number that the layer keeps, if it, 1 over it or its square is the ratio: "2 is self.T";
    else "".
    """
    for path, layer in _layers(case):
        for name, value in vars(layer).items():
            if type(value) in (int, float) and value not in (0, 1):
                owner = f"self.{path}.{name}" if path else f"self.{name}"
                for number, said in (
                    (value, owner),
                    (1 / value, f"1 / {owner}"),
                    (value * value, f"{owner} squared"),
                ):
                    if close(number, ratio):
                        return f"{number:.6g} is {said}"
    return ""


def as_text(value) -> str:
    """A simple number as text, "3" or "2/3" or "0.01" or "log(2)" or "1 + 1e-09"; "" for any other,
    which may have any cause.
    """
    if close(float(f"{value:.3g}"), value):
        return f"{value:.3g}"
    small = value - 1
    if abs(small) < 1e-3 and abs(small - float(f"{small:.3g}")) <= CLOSE * 1e-3:
        return f"1 {'-' if small < 0 else '+'} {abs(small):.3g}"
    for name, constant in WELL_KNOWN.items():
        if close(constant, value) or close(1 / constant, value):
            return (
                name
                if close(constant, value)
                else f"1/{name}"
                if "/" not in name
                else f"1/({name})"
            )
    fraction = Fraction(value).limit_denominator(LARGEST)
    return (
        str(fraction)
        if abs(fraction.numerator) <= LARGEST and close(float(fraction), value)
        else ""
    )


def close(a, b) -> bool:
    return abs(a - b) <= CLOSE * abs(b)
