"""The sixth function of the capstone: the reader's train(...), seen from the functions that it
calls in its first steps.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from minitransformer_course.messages import _

STEPS, BATCH, DROPOUT, WARMUP = 3, 32, 0.1, 100
ADAM = (0.9, 0.98, 1e-9)
CALLED = ("forward", "loss", "backward", "adam_step")


@contextmanager
def watching(function, functions, scale=1.0) -> Iterator[dict[str, list]]:
    """Within the block, `function` calls CALLED of `functions`; what backward returns is `scale`
    times as long.

    Yields {name of a function: [(its arguments, what it returned) of each call]}.
    """
    seen, names = {name: [] for name in CALLED}, getattr(function, "__globals__", {})

    def watched(name) -> Callable:
        def call(*arguments, **options) -> Any:
            bound = inspect.signature(functions[name]).bind(*arguments, **options)
            given = [_copied(one) for one in (*bound.args, *bound.kwargs.values())]
            returned = functions[name](*arguments, **options)
            if name == "backward":
                returned = {key: scale * one for key, one in returned.items()}
            seen[name].append((given, [_copied(one) for one in returned]))
            return returned

        return call

    before = {name: names[name] for name in CALLED if name in names}
    names.update({name: watched(name) for name in CALLED})
    try:
        yield seen
    finally:
        for name in CALLED:
            del names[name]
        names.update(before)


def wrong_in_training(paper, functions, parameters, pairs) -> str:
    """The first thing that is wrong in the functions' train(...); "" if nothing is. parameters:
    those of one_file.py's model.
    """

    def run(scale=1.0, seed=0) -> tuple[dict[str, list], list]:
        with watching(functions["train"], functions, scale) as seen:
            yielded = functions["train"](pairs, np.random.default_rng(seed), DROPOUT, WARMUP)
            if not isinstance(yielded, Iterator):
                raise TypeError(
                    _("train returns {got}: `yield loss, weights` after each step instead").format(
                        got=type(yielded).__name__
                    )
                )
            losses = [float(loss) for loss, _weights in islice(yielded, STEPS)]
        return seen, losses

    short, long = 1e-4, 1e5  # factors of gradients that need not be clipped, and that have to be
    (seen, losses), (again, _same), (other, _other) = run(short), run(short), run(short, seed=1)
    moved = (
        _sorted(returned[0] for _given, returned in each["adam_step"])
        for each in (seen, again, other)
    )
    return (
        _calls(seen)
        or _initial(seen["forward"][0][0][0], parameters)
        or _batches(paper, seen, pairs)
        or _dropout(functions, seen)
        or _gradients(functions, seen, losses, short)
        or _gradients(functions, *run(long), long)
        or _adam(seen, parameters)
        or _drawn(*moved)
    )


def _calls(seen) -> str:
    for name, calls in seen.items():
        if not calls or (name != "adam_step" and len(calls) != STEPS):
            return _(
                "it calls {name} {n} times in {steps} steps, expected one call in each"
            ).format(name=name, n=len(calls), steps=STEPS)
    given = [*dict.fromkeys(given[4] for given, _moved in seen["adam_step"])]
    return (
        ""
        if given == [*range(1, STEPS + 1)]
        else _("adam_step is given t = {given}, expected 1, 2, 3 and so on").format(
            given=", ".join(map(str, given))
        )
    )


def _initial(weights, parameters) -> str:
    for name, parameter in parameters.items():
        shape, got = parameter.data.shape, weights.get(name, np.zeros(0))
        if got.shape != shape:
            return _("the initial {name} is missing or has another shape; expected {shape}").format(
                name=name, shape=shape
            )
        mean = float(name.endswith("gamma"))
        spread = (
            0.0
            if len(shape) == 1
            else shape[1] ** -0.5
            if name.startswith("embedding")
            else (2 / sum(shape)) ** 0.5
        )
        if abs(got.std() - spread) > 0.15 * spread or abs(got.mean() - mean) > spread / 5:
            return _(
                "the initial {name} has mean {mean:.3f} and standard deviation {deviation:.3f}, expected {right:.0f} and "
                "{expected:.3f}"
            ).format(name=name, mean=got.mean(), deviation=got.std(), right=mean, expected=spread)
    return ""


def _batches(paper, seen, pairs) -> str:
    known, drawn = {tuple(source): target for source, target in pairs}, []
    for step, (
        ((_weights, source, target, *_noise), _out),
        ((_logits, next_target), _loss),
    ) in _steps(seen):
        rows = [
            tuple(int(i) for i in row[: np.flatnonzero(row)[-1] + 1]) if np.any(row) else ()
            for row in np.asarray(source)
        ]
        found = [(row[:-1], known[row[:-1]]) for row in rows if row[:-1] in known]
        if not len(rows) == len(found) == BATCH:
            return _(
                "step {step}: the source is not {n} words of the pairs, each with a 2 at its end"
            ).format(step=step, n=BATCH)
        for name, got, expected in zip(
            ("source", "target", "next_target"),
            (source, target, next_target),
            paper.make_batch(found),
        ):
            if not np.array_equal(got, expected):
                return _("step {step}: {name} is {got} ..., expected {expected} ...").format(
                    step=step,
                    name=name,
                    got=np.asarray(got)[0].tolist(),
                    expected=expected[0].tolist(),
                )
        drawn.append(rows)
    return _("each step has the same batch") if drawn[0] == drawn[1] else ""


def _dropout(functions, seen) -> str:
    for step, (given, _out) in enumerate(seen["forward"], 1):
        if len(given) < 5 or given[3] != DROPOUT or given[4] is None:
            return _(
                "step {step}: forward is called without dropout: pass it dropout and rng"
            ).format(step=step)

    weights, source, target, *_noise = seen["forward"][0][0]
    direction: dict[str, Any] = dict.fromkeys(weights, 0.0)

    def logits(change=0.0, rate=0.5) -> tuple:
        moved = {name: weights[name] + change * direction[name] for name in weights}
        return functions["forward"](moved, source, target, rate, np.random.default_rng(0))

    found, cache = logits()
    if np.array_equal(found, logits(rate=0.0)[0]):
        return _(
            "forward with dropout = 0.5 and a generator gives the logits that it gives without dropout"
        )
    dlogits = np.random.default_rng(0).standard_normal(found.shape)
    gradients = functions["backward"](dlogits, cache, weights)
    length = float(np.linalg.norm(_sorted(gradients.values())))
    direction = {name: gradients[name] / length for name in weights}
    slope = ((logits(1e-6)[0] - logits(-1e-6)[0]) * dlogits).sum() / 2e-6
    return (
        ""
        if abs(slope / length - 1) < 1e-3
        else _(
            "backward is wrong with dropout: along its gradient the loss changes by {slope:.5g}, expected {length:.5g}; "
            "each mask of the forward belongs into the backward, too"
        ).format(slope=slope, length=length)
    )


def _gradients(functions, seen, losses, scale) -> str:
    """Whether the loss is the mean over the tokens, and Adam gets its gradient, scaled to a norm of
    at most 1.
    """

    def clipped(vector) -> np.ndarray:
        return vector / max(1, np.linalg.norm(vector))

    before: Any = 0.0
    for step, ((given, _out), ((_logits, next_target), (total, dlogits))) in _steps(seen):
        tokens, rows = int((next_target != 0).sum()), len(next_target)
        if not np.isclose(losses[step - 1], total / tokens, rtol=1e-6):
            return _(
                "step {step}: it yields the loss {loss:.4g}, expected {expected:.4g}, the mean over {n} tokens"
            ).format(step=step, loss=losses[step - 1], expected=total / tokens, n=tokens)
        gradients = functions["backward"](dlogits, functions["forward"](*given)[1], given[0])
        arrays = [scale * np.ravel(one) / tokens for one in gradients.values()]
        mean = np.concatenate(arrays)
        before = before + mean
        got = _sorted(given[1] for given, _moved in seen["adam_step"] if given[4] == step)
        fitting = [
            said
            for said, one in {
                "": clipped(mean),
                _(": clip it before Adam gets it"): mean,
                _(
                    ": each array is clipped by its own norm, expected the norm of all together"
                ): np.concatenate([*map(clipped, arrays)]),
                _(": it contains that of the steps before; begin each step with 0"): clipped(
                    before
                ),
                _(": it is that of the sum over the tokens"): clipped(tokens * mean),
                _(": it is divided by the number of words, not of tokens"): clipped(
                    tokens / rows * mean
                ),
                _(": padding is counted as tokens"): clipped(tokens / next_target.size * mean),
            }.items()
            if len(got) == len(one) and np.allclose(got, np.sort(one), rtol=1e-6, atol=1e-12)
        ]
        if "" not in fitting:
            said = _(
                "step {step}: the gradient that Adam gets is {times:.4g} times as long as that of the mean over {n} tokens, "
                "scaled to a norm of at most 1"
            )
            times = np.linalg.norm(got) / np.linalg.norm(clipped(mean))
            return said.format(step=step, times=times, n=tokens) + "".join(fitting[:1])
    return ""


def _adam(seen, parameters) -> str:
    d_model = next(iter(parameters.values())).data.shape[1]
    kept: list = []  # w, m and v that it returned in the step before
    for step in range(1, STEPS + 1):
        calls = [(given, moved) for given, moved in seen["adam_step"] if given[4] == step]
        expected = (d_model * WARMUP) ** -0.5 * step / WARMUP
        for (*_arrays, _t, learning_rate, beta1, beta2, epsilon), _moved in calls:
            if not np.isclose(learning_rate, expected, rtol=1e-6):
                return _(
                    "step {step}: the learning rate is {got:.4g}, expected {expected:.4g}"
                ).format(step=step, got=learning_rate, expected=expected) + _(
                    ": there is no warm-up"
                ) * (learning_rate > 5 * expected)
            if not np.allclose((beta1, beta2, epsilon), ADAM, rtol=1e-9, atol=0):
                return _(
                    "step {step}: beta1, beta2 and epsilon are {got}, expected {expected}"
                ).format(step=step, got=(beta1, beta2, epsilon), expected=ADAM)
        w, _g, m, v = (_sorted(given[place] for given, _moved in calls) for place in range(4))
        if not kept and (m.any() or v.any()):
            return _("step 1: m and v have to begin at 0")
        for name, given, right in zip(("w", "m", "v"), (w, m, v), kept):
            if not np.array_equal(given, right):
                return _(
                    "step {step}: adam_step is not given the {name} that it returned in the step before"
                ).format(step=step, name=name)
        if not np.array_equal(w, _sorted(seen["forward"][step - 1][0][0].values())):
            return _("step {step}: forward and adam_step are given different weights").format(
                step=step
            )
        kept = [_sorted(moved[place] for _given, moved in calls) for place in range(3)]
    return ""


def _drawn(first, same, other) -> str:
    if not np.array_equal(first, same):
        return _(
            "the same generator gives other weights: draw everything from rng, and leave pairs as they are"
        )
    return (
        _("another generator gives the same weights: draw everything from rng")
        if np.array_equal(first, other)
        else ""
    )


def _steps(seen) -> Iterator[tuple]:
    """(step, (a call of forward, a call of loss)), each as in `watching`."""
    return enumerate(zip(seen["forward"], seen["loss"]), 1)


def _copied(value) -> Any:
    if isinstance(value, dict):
        return {name: np.copy(one) for name, one in value.items()}
    return copy.deepcopy(value) if isinstance(value, (np.ndarray, np.random.Generator)) else value


def _sorted(arrays) -> np.ndarray:
    """All numbers of the arrays, whatever order the reader has them in."""
    return np.sort(np.concatenate([np.ravel(one) for one in arrays]))
