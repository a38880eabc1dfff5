"""The sixth function of the capstone: the reader's train(...), seen from the functions that it calls in its first steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from minitransformer_course.judge.messages import _

STEPS, BATCH, DROPOUT, WARMUP = 3, 32, 0.1, 100
ADAM = (0.9, 0.98, 1e-9)
CALLED = ("forward", "loss", "backward", "adam_step")


class Seen(NamedTuple):
    """What the functions were given and returned: a list for each, with an entry for each call."""
    forward: list    # (weights, source, target, dropout, rng)
    loss: list       # (dlogits, next_target)
    backward: list   # (dlogits, gradients by name)
    adam_step: list  # (its arguments, what it returned)


@contextmanager
def watching(function, functions, scale=1.0) -> Iterator[Seen]:
    """Within the block, `function` calls CALLED of `functions`, watched; what backward returns is `scale` times as long."""
    seen, names = Seen([], [], [], []), getattr(function, "__globals__", {})

    def forward(weights, source, target, dropout=0.0, rng=None, **more) -> Any:
        seen.forward.append(({name: np.copy(one) for name, one in weights.items()}, source, target, dropout, rng))
        return functions["forward"](weights, source, target, *([] if rng is None else [dropout, rng]), **more)

    def loss(logits, next_target) -> Any:
        total, dlogits = functions["loss"](logits, next_target)
        seen.loss.append((np.copy(dlogits), next_target))
        return total, dlogits

    def backward(dlogits, cache, weights) -> Any:
        gradients = {name: scale * one for name, one in functions["backward"](dlogits, cache, weights).items()}
        seen.backward.append((np.copy(dlogits), {name: one.copy() for name, one in gradients.items()}))
        return gradients

    def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon) -> Any:
        given = (*map(np.copy, (w, g, m, v)), t, learning_rate, (beta1, beta2, epsilon))
        moved = functions["adam_step"](w, g, m, v, t, learning_rate, beta1, beta2, epsilon)
        seen.adam_step.append((given, tuple(map(np.copy, moved))))
        return moved

    before = {name: names[name] for name in CALLED if name in names}
    names.update(zip(CALLED, (forward, loss, backward, adam_step)))
    try:
        yield seen
    finally:
        for name in CALLED:
            del names[name]
        names.update(before)


def wrong_in_training(paper, functions, parameters, pairs) -> str:
    """The first thing that is wrong in the functions' train(...); "" if nothing is. parameters: those of one_file.py's model."""
    def run(scale=1.0, seed=0) -> tuple[Seen, list]:
        with watching(functions["train"], functions, scale) as seen:
            yielded = functions["train"](pairs, np.random.default_rng(seed), DROPOUT, WARMUP)
            if not isinstance(yielded, Iterator):
                raise TypeError(_("train returns {got}: `yield loss, weights` after each step instead").format(
                    got=type(yielded).__name__))
            losses = [float(loss) for loss, _weights in islice(yielded, STEPS)]
        return seen, losses

    (seen, losses), (again, _same), (other, _other) = run(1e-4), run(1e-4), run(1e-4, seed=1)
    return (_calls(seen) or _initial(seen.forward[0][0], parameters) or _batches(paper, seen, pairs)
            or _dropout(functions, seen) or _mean(seen, losses) or _clipped(run(1e5)[0]) or _adam(seen, parameters)
            or _drawn(*(_flat([one[1][0] for one in each.adam_step]) for each in (seen, again, other))))


def _calls(seen) -> str:
    for name, calls in seen._asdict().items():
        if not calls or (name != "adam_step" and len(calls) != STEPS):
            return _("it calls {name} {n} times in {steps} steps, expected one call in each").format(
                name=name, n=len(calls), steps=STEPS)
    given = [*dict.fromkeys(given[4] for given, _moved in seen.adam_step)]
    return "" if given == [*range(1, STEPS + 1)] else _("adam_step is given t = {given}, expected 1, 2, 3 and so on").format(
        given=", ".join(map(str, given)))


def _initial(weights, parameters) -> str:
    for name, parameter in parameters.items():
        shape, got = parameter.data.shape, weights.get(name, np.zeros(0))
        if got.shape != shape:
            return _("the initial {name} is missing or has another shape; expected {shape}").format(name=name, shape=shape)
        if len(shape) == 1:
            expected = float(name.endswith("gamma"))
            if (got != expected).any():
                return _("the initial {name} has to be {expected:.0f} everywhere").format(name=name, expected=expected)
            continue
        expected = shape[1] ** -0.5 if name.startswith("embedding") else (2 / sum(shape)) ** 0.5
        if abs(got.std() / expected - 1) > 0.15 or abs(got.mean()) > expected / 5:
            return _("the initial {name} has mean {mean:.3f} and standard deviation {deviation:.3f}, expected 0 and {expected:.3f}"
                     ).format(name=name, mean=got.mean(), deviation=got.std(), expected=expected)
    return ""


def _batches(paper, seen, pairs) -> str:
    known, drawn = {tuple(source): target for source, target in pairs}, []
    for step, ((_weights, source, target, _dropout, _rng), (_dlogits, next_target)) in enumerate(zip(seen.forward, seen.loss), 1):
        rows = [tuple(int(i) for i in row[:np.flatnonzero(row)[-1] + 1]) if np.any(row) else () for row in np.asarray(source)]
        found = [(row[:-1], known[row[:-1]]) for row in rows if row[:-1] in known]
        if not len(rows) == len(found) == BATCH:
            return _("step {step}: the source is not {n} words of the pairs, each with a 2 at its end").format(step=step, n=BATCH)
        right = paper.make_batch(found)
        if np.array_equal(next_target, target):
            return _("step {step}: target and next_target are the same, so the decoder reads what it has to predict").format(
                step=step)
        for name, got, expected in zip(("source", "target", "next_target"), (source, target, next_target), right):
            if not np.array_equal(got, expected):
                return _("step {step}: {name} is {got} ..., expected {expected} ...").format(
                    step=step, name=name, got=np.asarray(got)[0].tolist(), expected=expected[0].tolist())
        drawn.append(rows)
    return _("each step has the same batch") if drawn[0] == drawn[1] else ""


def _dropout(functions, seen) -> str:
    for step, (*_given, dropout, rng) in enumerate(seen.forward, 1):
        if rng is None or dropout != DROPOUT:
            return _("step {step}: forward is called without dropout: pass it dropout and rng").format(step=step)

    weights, source, target, *_others = seen.forward[0]
    direction: dict[str, Any] = dict.fromkeys(weights, 0.0)

    def logits(change=0.0, rate=0.5) -> tuple:
        moved = {name: weights[name] + change * direction[name] for name in weights}
        return functions["forward"](moved, source, target, rate, np.random.default_rng(0))

    found, cache = logits()
    if np.array_equal(found, logits(rate=0.0)[0]):
        return _("forward with dropout = 0.5 and a generator gives the logits that it gives without dropout")
    dlogits = np.random.default_rng(0).standard_normal(found.shape)
    gradients = functions["backward"](dlogits, cache, weights)
    length = _norm(gradients.values())
    direction = {name: gradients[name] / length for name in weights}
    slope = ((logits(1e-6)[0] - logits(-1e-6)[0]) * dlogits).sum() / 2e-6
    return "" if abs(slope / length - 1) < 1e-3 else _(
        "backward is wrong with dropout: along its gradient the loss changes by {slope:.5g}, expected {length:.5g}; "
        "each mask of the forward belongs into the backward, too").format(slope=slope, length=length)


def _mean(seen, losses) -> str:
    """Whether Adam gets the gradients of the mean over the tokens: those of seen.backward are too short to be clipped."""
    total: dict[str, np.ndarray] = {}
    for t, ((dloss, next_target), (dlogits, gradients)) in enumerate(zip(seen.loss, seen.backward), 1):
        tokens = int((np.asarray(next_target) != 0).sum())
        part = (dlogits * dloss).sum() / (dloss * dloss).sum()    # of the sum over the tokens, that backward was given
        if not np.allclose(dlogits, part * dloss, rtol=1e-6, atol=1e-12):
            return _("step {step}: backward is not given the dlogits of loss, or a multiple of it").format(step=t)
        total = {name: one / part / tokens + total.get(name, 0.0) for name, one in gradients.items()}
        g = [given[1] for given, _moved in seen.adam_step if given[4] == t]
        expected = [one / part / tokens for one in gradients.values()]
        if np.allclose(_sorted(g), _sorted(expected), rtol=1e-6, atol=1e-12):
            continue
        if t > 1 and np.allclose(_sorted(g), _sorted(total.values()), rtol=1e-6, atol=1e-12):
            return _("step {step}: the gradient contains that of the steps before; begin each step with 0").format(step=t)
        times, why = _norm(g) / _norm(expected), ""
        for size, said in ((tokens, _("it is that of the sum over the tokens")),
                           (tokens / len(next_target), _("it is divided by the number of words, not of tokens")),
                           (tokens / np.size(next_target), _("padding is counted as tokens"))):
            why = why or f": {said}" * bool(np.isclose(times, size, rtol=1e-6))
        said = _("step {step}: the gradient that Adam gets is {times:.4g} times as long as that of the mean over {n} tokens")
        return said.format(step=t, times=times, n=tokens) + why
    return "" if 2 < losses[0] < 8 else _(
        "the loss of the first step is {loss:.3g}; the mean over the tokens is about ln 29 = 3.4").format(loss=losses[0])


def _clipped(seen) -> str:
    """Whether gradients that are far too long have norm 1 when Adam gets them."""
    for t in range(1, STEPS + 1):
        g = [given[1] for given, _moved in seen.adam_step if given[4] == t]
        norm, alone = _norm(g), _norm([min(1, _norm([one])) for one in seen.backward[t - 1][1].values()])
        if abs(norm - 1) > 1e-3:
            why = (_("each array is clipped by its own norm, expected the norm of all together") if np.isclose(norm, alone)
                   else _("clip it before Adam gets it"))
            return _("step {step}: a gradient that is too long still has norm {norm:.4g}, expected 1: {why}").format(
                step=t, norm=norm, why=why)
    return ""


def _adam(seen, parameters) -> str:
    d_model = next(iter(parameters.values())).data.shape[1]
    before: list = []
    for t in range(1, STEPS + 1):
        calls = [(given, moved) for given, moved in seen.adam_step if given[4] == t]
        for (*_arrays, _t, learning_rate, constants), _moved in calls:
            expected = (d_model * WARMUP) ** -0.5 * t / WARMUP
            if not np.isclose(learning_rate, expected, rtol=1e-6):
                falls, flat = d_model ** -0.5 * t ** -0.5, (d_model * WARMUP) ** -0.5
                why = _(": there is no warm-up") * bool(np.isclose(learning_rate, [falls, flat]).any() or learning_rate > flat)
                return _("step {step}: the learning rate is {got:.4g}, expected {expected:.4g}").format(
                    step=t, got=float(learning_rate), expected=expected) + why
            if not np.allclose(constants, ADAM, rtol=1e-9, atol=0):
                return _("step {step}: beta1, beta2 and epsilon are {got}, expected {expected}").format(
                    step=t, got=constants, expected=ADAM)
        for name, place in (("w", 0), ("m", 2), ("v", 3)):
            given = _sorted([one[place] for one, _moved in calls])
            kept = _sorted([moved[(0, None, 1, 2)[place]] for _given, moved in before]) if before else np.zeros_like(given)
            if (before or name != "w") and not np.array_equal(given, kept):
                return _("step {step}: adam_step is not given the {name} that it returned in the step before").format(
                    step=t, name=name) if before else _("step 1: m and v have to begin at 0")
        if not np.array_equal(_sorted([one[0] for one, _moved in calls]), _sorted(seen.forward[t - 1][0].values())):
            return _("step {step}: forward and adam_step are given different weights").format(step=t)
        before = calls
    return ""


def _drawn(first, same, other) -> str:
    if not np.array_equal(first, same):
        return _("the same generator gives other weights: draw everything from rng, and leave pairs as they are")
    return _("another generator gives the same weights: draw everything from rng") if np.array_equal(first, other) else ""


def _flat(arrays) -> np.ndarray:
    return np.concatenate([np.ravel(one) for one in arrays])


def _sorted(arrays) -> np.ndarray:
    """All numbers of the arrays, whatever order the reader has them in."""
    return np.sort(_flat(arrays))


def _norm(arrays) -> float:
    return float(np.linalg.norm(_flat(arrays)))
