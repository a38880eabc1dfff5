"""The gradient check: every gradient that a backward returns or adds, against a numeric derivative."""

from functools import partial

import numpy as np

from minitransformer.checking.doctor import diagnose
from minitransformer.checking.numeric import central, complex_step, kink
from minitransformer.checking.report import BOUNDS, Report, Result
from minitransformer.checking.checked_block import CheckedBlock
from minitransformer.errors import InputError

METHODS = {"central": (central, np.float64), "complex": (complex_step, np.complex128)}
FULL_CHECK = 2000   # up to so many numbers each one is checked; above, one projection per array


def gradcheck(block, inputs, *, name=None, methods=("central", "complex"), projection=None, seed=0):
    """Check every gradient of `block` at `inputs`; returns a Report (`.passed`, `print(report)`).

    block: a Layer, or a pair of functions (forward, backward) that keep the same contract.
    inputs: forward's arguments, a sequence or {name: value}. Float arrays are differentiated, all
        else (ids, masks, None) is passed on. If forward takes `rng`, each evaluation gets the same
        fresh generator, so dropout is checked too.
    methods: "central" differences in float64 and the "complex" step.
    projection: False checks element by element, True along one random direction per array (for
        whole models); None decides by size.
    seed: for the random upstream gradient, the directions and the dropout.

    The error of an array is max|a - n| / max(max|a|, max|n|, G / 10), with a analytic, n numeric and
    G the largest gradient of the whole check: some gradients are exactly zero (a key's bias), and
    without the floor noise would be compared with noise. Raises InputError where backward does
    not return one gradient of the right shape for each differentiable input, and where there is
    nothing to check.
    """
    name = name or _name(block)
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not methods:
        raise InputError(f"gradcheck: methods is {methods!r}, expected some of {', '.join(METHODS)}")
    make_rng = partial(np.random.default_rng, seed)
    exact = CheckedBlock(block, inputs, np.float64, make_rng)
    if not exact.variables:
        raise InputError(f"gradcheck: {name} has nothing to check: no parameter, and no input is a float array")
    y, cache = exact.forward()
    rng = np.random.default_rng([seed, 1])    # not the dropout's
    dy = rng.standard_normal(np.shape(y))    # non-uniform: a constant would hide a wrong LayerNorm
    gradients = exact.gradients(dy, cache)
    if projection is None:
        projection = sum(gradient.size for gradient in gradients.values()) > FULL_CHECK
    results = []
    for method in methods:
        differentiate, dtype = METHODS[method]
        checked = exact if dtype == np.float64 else CheckedBlock(block, inputs, dtype, make_rng)
        check = _check_projections if projection else _check_elements
        results += check(name, method, differentiate, checked, gradients, dy, rng)
    passed = all(result.passed for result in results)
    return Report(results, {} if passed else {name: diagnose(block, inputs, seed)})


def _check_elements(name, method, differentiate, checked, gradients, dy, rng):
    """Each element of each array on its own."""
    numerics = {}
    for wrt, array in checked.variables.items():
        numerics[wrt] = np.empty(array.shape)
        for index in np.ndindex(array.shape):
            numerics[wrt][index] = differentiate(checked.evaluate, dy, array, index, 1.0)
    largest = max(_size(g) for gs in (gradients, numerics) for g in gs.values())
    for wrt, numeric in numerics.items():
        analytic = gradients[wrt]
        scale = max(_size(analytic), _size(numeric), largest / 10)
        errors = _relative(np.abs(analytic - numeric), scale)
        kinks = 0
        for index in map(tuple, np.argwhere(errors > BOUNDS[method]) if method == "central" else ()):
            if kink(checked.evaluate, dy, checked.variables[wrt], index, 1.0, analytic[index], BOUNDS[method] * scale):
                errors[index] = 0
                kinks += 1
        where = np.unravel_index(errors.argmax(), errors.shape)    # a nan counts as the largest
        yield Result(name, wrt, method, float(errors[where]), tuple(map(int, where)),
                     float(analytic[where]), float(numeric[where]), kinks)


def _check_projections(name, method, differentiate, checked, gradients, dy, rng):
    """The slope along one random direction v per array against g.v; typical size |g| |v| / sqrt(size)."""
    directions = {wrt: rng.standard_normal(g.shape) for wrt, g in gradients.items()}
    sizes = {wrt: np.linalg.norm(g) * np.linalg.norm(directions[wrt]) / np.sqrt(g.size)
             for wrt, g in gradients.items()}
    method = f"{method} projection"
    for wrt, v in directions.items():
        analytic = float((gradients[wrt] * v).sum())
        numeric = float(differentiate(checked.evaluate, dy, checked.variables[wrt], ..., v))
        scale = max(np.nanmax([sizes[wrt], 0]), np.nanmax([*sizes.values(), 0]) / 10)
        error, kinks = float(_relative(np.abs(analytic - numeric), scale)), 0
        if method == "central projection" and error > BOUNDS[method]:
            if kink(checked.evaluate, dy, checked.variables[wrt], ..., v, analytic, BOUNDS[method] * scale):
                error, kinks = 0.0, 1
        yield Result(name, wrt, method, error, None, analytic, numeric, kinks)


def _size(array):
    """The largest magnitude in an array, nan left out."""
    return np.nanmax(np.abs(array), initial=0)


def _relative(difference, scale):
    """difference / scale; 0 / 0 is 0: where every gradient is 0, both must be."""
    return np.where(difference == 0, 0, difference / scale if scale else np.inf)


def _name(block):
    return block[0].__name__.removesuffix("_forward") if isinstance(block, tuple) else type(block).__name__
