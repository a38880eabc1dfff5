"""The gradient check: compare every gradient that a backward returns or adds with a numeric
derivative.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.checked_block import Breach, CheckedBlock, drawing, flat
from minitransformer.checking.compare import scale_of, size_of
from minitransformer.checking.contract import (
    AnotherDtype,
    check_finite,
    check_single_precision,
    complex_evaluation,
    run_by_contract,
)
from minitransformer.checking.finding import CONTRACT, OBSERVED, Finding
from minitransformer.checking.numeric import (
    CENTRAL_STEP,
    COMPLEX_STEP,
    central,
    complex_step,
    kink,
    of_each,
)
from minitransformer.checking.other_sizes import nudged, wrong_elsewhere
from minitransformer.checking.report import BOUNDS, Report, Result
from minitransformer.errors import InputError, some

METHODS = {"central": central, "complex": complex_step}
FULL_CHECK = 2000  # up to this many numbers, each one is checked; above, one projection per array
# central differences and the complex step further apart than this belong to different functions
DROPPED = 1e-4
UNNAMED = "minitransformer_course, which names mistakes, is not installed: pip install -e ."


def gradcheck(
    block, inputs, *, name=None, methods=("central", "complex"), projection=None, seed=0
) -> Report:
    """Check every gradient of `block` at `inputs`; returns a Report (`.passed`, `print(report)`).

    block: a Layer, or a pair of functions (forward, backward) that keep the same contract. If
    forward returns a tuple of
        arrays as y (a recurrent layer's outputs and its last state), backward takes a tuple dy of
        the same shapes.
    inputs: forward's arguments, a sequence or {name: value}. Float arrays are differentiated;
    everything
        else (ids, masks, None) is passed on. If forward takes `rng`, each evaluation gets an equal,
        fresh generator, so dropout is checked, too.
    methods: "central" differences in float64 and the "complex" step.
    projection: False checks element by element, True along one random direction per array (for
        whole models); None decides by size.
    seed: for the random upstream gradient, the directions and the dropout.

    The error of an array is max|a - n| / max(max|a|, max|n|, G / 10), with a analytic, n numeric
    and G the largest gradient of the check: some gradients are exactly zero (a key's bias), and
    without this floor, noise would be compared with noise. If a block breaks the contract of a
    layer, the report says how in one sentence. Exactly at a kink (of ReLU, max, abs, a tie) no
    gradient is defined: the report says where, and the gradients must be right at inputs moved a
    little. If they are right, a run in float32 follows, whose arrays must all stay float32 (in a
    block of your own it is only a remark if they do not), and runs at other sizes. Only if a check
    failed is the gradient doctor asked what it can prove about the mistake. Raises InputError if
    the inputs are not forward's, and if there is nothing to check.
    """
    if (
        not isinstance(methods, (list, tuple))
        or not methods
        or any(method not in METHODS for method in methods)
    ):
        raise InputError(
            f"gradcheck: methods is {methods!r}, expected one or more of {', '.join(METHODS)}"
        )
    return _checked(block, inputs, name or _name(block), methods, projection, seed)


def _checked(block, inputs, name, methods, projection, seed, moved=False) -> Report:
    """gradcheck; moved: whether the inputs have been moved away from a kink, so that there is no
    excuse any more.
    """
    make_rng = partial(drawing, seed)
    exact = CheckedBlock(block, inputs, np.float64, make_rng)
    if not exact.variables:
        raise InputError(
            f"gradcheck: {name} has nothing to check: no parameter, and no input is a float array"
        )
    for variable, array in exact.variables.items():
        if not array.size:
            raise InputError(
                f"gradcheck: {variable} of {name} has shape {array.shape}: no numbers to check; give it some"
            )
    results = []
    try:
        with np.errstate(all="ignore"):  # a NaN is reported, without a warning
            y, dy, gradients = run_by_contract(exact, seed=seed)
            imaginary = (
                complex_evaluation(block, inputs, make_rng) if "complex" in methods else None
            )
        rng = drawing(seed, 2)  # neither the dropout's nor the upstream gradient's
        if projection is None:
            projection = sum(gradient.size for gradient in gradients.values()) > FULL_CHECK
        check = _check_projections if projection else _check_elements
        at_kink = cache(
            lambda wrt, where, v=1.0: (
                not moved and kink(exact.evaluate, exact.variables[wrt], where, v)
            )
        )
        for method in methods:
            run = imaginary if method == "complex" else exact
            results += check(name, method, METHODS[method], run, gradients, flat(dy), rng, at_kink)
        both_agree = "central" in methods and all(result.passed for result in results)
        if imaginary and not both_agree:
            with np.errstate(all="ignore"):
                _same_function(exact, imaginary, flat(y), flat(dy))
        passed = all(result.passed for result in results)
        if not passed:
            check_finite(gradients)
    except Breach as breach:
        return Report(
            results,
            _named(
                name, Finding(CONTRACT, str(breach)), "find_breach", block, inputs, make_rng, breach
            ),
        )
    if not passed:
        return Report(results, _named(name, _which(results), "diagnose", block, inputs, make_rng))
    places = dict.fromkeys(result.at_kink for result in results if result.at_kink)
    if places:
        again = _checked(
            *nudged(block, exact.arguments), name, methods, projection, seed, moved=True
        )
        said = (
            f"{name}: at a kink at this input: {', '.join(places)}; no gradient is defined there, and at inputs moved a little "
            f"{'all gradients are right' if again.passed else 'the gradients are wrong'}"
        )
        return replace(
            again,
            results=results if again.passed else again.results,
            remarks=(said, *again.remarks),
        )
    remarks: list[str] = []
    return Report(
        results,
        _right_elsewhere(name, block, inputs, make_rng, exact if imaginary else None, remarks),
        tuple(remarks),
    )


def _right_elsewhere(name, block, inputs, make_rng, exact, remarks) -> dict[str, Finding]:
    """{} for a block that stays float32 and is right at other sizes, too; {name: the Finding}
    otherwise.

    exact: the CheckedBlock at the given sizes; None if other sizes are not tried, which takes the
    complex step. remarks: what does not fail is added to them.
    """
    try:
        with np.errstate(all="ignore"):
            check_single_precision(block, inputs, make_rng)
    except Breach as breach:
        own = not getattr(
            block[0] if isinstance(block, tuple) else type(block), "__module__", ""
        ).startswith("minitransformer.")
        if not (own and isinstance(breach, AnotherDtype)):
            return _named(
                name,
                Finding(CONTRACT, str(breach)),
                "find_breach",
                block,
                inputs,
                make_rng,
                breach,
                check_single_precision,
            )
        remarks.append(f"{name}: a remark: {breach}")
    elsewhere = exact and wrong_elsewhere(block, exact, make_rng)
    if not elsewhere:
        return {}
    if elsewhere.breach:
        return {
            name: Finding(
                CONTRACT,
                f"right at the given sizes only: with {elsewhere.shapes} {elsewhere.breach}",
            )
        }
    but_with = f"; it does not show at the given inputs, but with {elsewhere.shapes}"
    return _named(
        name,
        Finding(OBSERVED, f"wrong: {', '.join(elsewhere.wrong)}{but_with}"),
        "diagnose",
        elsewhere.block,
        elsewhere.arguments,
        elsewhere.make_rng,
        but_with,
    )


def _named(name, finding, question, *arguments) -> dict[str, Finding]:
    """{name: what the doctor answers to the question}; without a doctor, `finding`, which says what
    is wrong but not why.
    """
    doctor = find_doctor()
    if doctor is None:
        return {name: replace(finding, sentence=f"{finding.sentence}; {UNNAMED}")}
    with np.errstate(all="ignore"):
        return {name: getattr(doctor, question)(*arguments) or finding}


@cache
def find_doctor() -> Any:
    """The module that names mistakes, or None. It is looked up once a check failed, since that
    takes a tenth of a second.
    """
    for found in entry_points(group="minitransformer.doctor"):
        try:
            return found.load()
        except ModuleNotFoundError as error:
            if not f"{found.module}.".startswith(
                f"{error.name}."
            ):  # the doctor is there, but something that it needs is not
                raise
    return None


def _same_function(exact, moved, y, dy) -> None:
    """Raise Breach unless both numeric derivatives agree along a random direction of all variables.

    If a forward drops the imaginary part, the complex step misses part of the derivative, and would
    agree with a backward that misses the same part.
    """
    rng = drawing(9)
    directions = {name: rng.standard_normal(array.shape) for name, array in exact.variables.items()}
    along = float((dy * moved.moved(directions, 1j * COMPLEX_STEP).imag).sum() / COMPLEX_STEP)
    tolerance = DROPPED * max(abs(along), 1e-3 * float(np.sqrt((dy * dy).sum())))
    here = float((dy * y).sum())
    for step in (
        CENTRAL_STEP,
        CENTRAL_STEP / 10,
    ):  # a kink within the longer step need not be within the shorter one
        ahead, behind = (
            sign * (float((dy * exact.moved(directions, sign * step)).sum()) - here) / step
            for sign in (1, -1)
        )
        slope = (ahead + behind) / 2
        if abs(slope - along) <= max(tolerance, DROPPED * abs(slope)) or abs(
            ahead - behind
        ) > 0.1 * abs(slope - along):
            # they agree, or the slopes on both sides differ: at a kink, the complex step sees one
            # side only
            return
    raise Breach(
        f"the complex step ({along:.6g}) and central differences ({slope:.6g}) disagree along one direction: either the "
        "forward drops the imaginary part (no abs, var, std or norm in a forward; write squares as x * x), or it rounds"
    )


def _which(results) -> Finding:
    """Which gradients are wrong, and the worst number."""
    wrong = {result.wrt: None for result in results if not result.passed}
    right = {result.wrt: None for result in results if result.wrt not in wrong}
    worst = max((r for r in results if not r.passed), key=lambda r: r.max_relative_error)
    return Finding(
        OBSERVED,
        f"wrong: {', '.join(wrong)}" + (f"; right: {', '.join(right)}" if right else ""),
        array=worst.wrt,
        index=worst.index,
        analytic=worst.analytic,
        numeric=worst.numeric,
    )


def _check_elements(
    name, method, differentiate, checked, gradients, dy, rng, at_kink
) -> Iterator[Result]:
    """Check each element of each array."""
    numerics = {
        wrt: of_each(differentiate, checked.evaluate, dy, array)
        for wrt, array in checked.variables.items()
    }
    largest = max(size_of(g) for gs in (gradients, numerics) for g in gs.values())
    for wrt, numeric in numerics.items():
        analytic = gradients[wrt]
        scale = scale_of(analytic, numeric, largest)
        errors = _relative(np.abs(analytic - numeric), scale)
        near, at = 0, []
        for index in map(
            tuple, np.argwhere(~(errors <= BOUNDS[method]) & np.isfinite(analytic)).tolist()
        ):
            if method == "central" and _is_right_closer(
                checked, dy, wrt, index, 1.0, analytic[index], BOUNDS[method] * scale
            ):
                near += 1
            elif at_kink(wrt, index):
                at.append(f"{wrt}{list(index)}")
            else:
                continue
            errors[index] = 0
        where = np.unravel_index(errors.argmax(), errors.shape)  # a nan counts as the largest
        yield Result(
            name,
            wrt,
            method,
            float(errors[where]),
            tuple(map(int, where)),
            float(analytic[where]),
            float(numeric[where]),
            near + len(at),
            some(at, 1),
        )


def _check_projections(
    name, method, differentiate, checked, gradients, dy, rng, at_kink
) -> Iterator[Result]:
    """The slope along one random direction v per array against g.v; typical size |g| |v| /
    sqrt(size).
    """
    directions = {wrt: rng.standard_normal(g.shape) for wrt, g in gradients.items()}
    sizes = {
        wrt: np.linalg.norm(g) * np.linalg.norm(directions[wrt]) / np.sqrt(g.size)
        for wrt, g in gradients.items()
    }
    method = f"{method} projection"
    for wrt, v in directions.items():
        analytic = float((gradients[wrt] * v).sum())
        numeric = float(differentiate(checked.evaluate, dy, checked.variables[wrt], ..., v))
        scale = max(np.nanmax([sizes[wrt], 0]), np.nanmax([*sizes.values(), 0]) / 10)
        error, kinks, at = float(_relative(np.abs(analytic - numeric), scale)), 0, ""
        if not error <= BOUNDS[method] and np.isfinite(analytic):
            near = method == "central projection" and _is_right_closer(
                checked, dy, wrt, ..., v, analytic, BOUNDS[method] * scale
            )
            if near or at_kink.__wrapped__(wrt, ..., v):
                error, kinks, at = 0.0, 1, "" if near else wrt
        yield Result(name, wrt, method, error, None, analytic, numeric, kinks, at)


def _is_right_closer(checked, dy, wrt, where, v, analytic, tolerance) -> bool:
    """Whether a tenth of the step agrees: a kink within the step, or too much curvature for it."""
    return (
        abs(
            central(checked.evaluate, dy, checked.variables[wrt], where, v, CENTRAL_STEP / 10)
            - analytic
        )
        <= tolerance
    )


def _relative(difference, scale) -> Array:
    """difference / scale; 0 / 0 is 0: where every gradient is 0, both must be."""
    return np.where(difference == 0, 0, difference / scale if scale else np.inf)


def _name(block) -> str:
    function = block[0] if isinstance(block, tuple) and block else type(block)
    return getattr(function, "__name__", "block").removesuffix("_forward")
