"""What must hold for every model, whatever was done to it: compare(draw) returns what does not."""

import copy
import os
import tempfile
import traceback
from typing import NamedTuple

import numpy as np

from library import (
    PAD,
    InputError,
    Parameter,
    beam_search,
    fast,
    load_weights,
    members,
    sample,
    save_weights,
)
from measure import (
    TOLERANCE,
    generator,
    gradients,
    in_modes,
    log_likelihoods,
    plain_loss,
    unlike,
    unlike_gradients,
)
from models import draw_source, forced
from training import check_processes, check_step, check_threads

MAX_LENGTH = 6


class Finding(NamedTuple):
    check: str
    kind: str  # difference, fault, refusal
    message: str


def compare(draw, only=None) -> list[Finding]:
    findings = [finding for finding in draw.findings if only is None or finding.check in only]
    for name, check in CHECKS.items():
        if only is None or name in only:
            findings += run(name, check, draw)
    draw.close()
    return findings


def run(name, check, draw) -> list[Finding]:
    """The differences that a check yields, and how it ended."""
    findings = []
    try:
        for message in check(draw):
            findings.append(Finding(name, "difference", message))
    except InputError as error:
        findings.append(refusal(name, error))
    except Exception as error:
        findings.append(fault(name, error))
    return findings


def refusal(name, error) -> Finding:
    lines = str(error).count("\n") + 1
    return (
        Finding(name, "refusal", str(error))
        if lines == 1
        else Finding(name, "fault", f"refused in {lines} lines: {error}")
    )


def fault(name, error) -> Finding:
    place = traceback.extract_tb(error.__traceback__)[-1]
    line = f"{type(error).__name__}: {error} (in {os.path.basename(place.filename)}:{place.lineno})"
    return Finding(name, "fault", line.replace("\n", " "))


# ---- the loss


def check_loss(draw):
    model, batch = draw.model, draw.batch
    for dropout in (False, True):
        logits, _ = model.forward(*batch.inputs, rng=generator(dropout))
        for mode, context in in_modes():
            with context:
                again, _ = model.forward(*batch.inputs, rng=generator(dropout))
                found = {
                    smoothing: model.loss_forward(
                        batch, rng=generator(dropout), smoothing=smoothing
                    )[0]
                    for smoothing in (0.0, 0.1)
                }
            where = f"{mode}{', with dropout' if dropout else ''}"
            if problem := unlike(again, logits):
                yield f"logits, {where}: {problem}"
            for smoothing, sums in found.items():
                loss, likelihood = plain_loss(model, logits, batch, smoothing)
                if problem := unlike(sums.loss, loss):
                    yield f"loss, {where}, smoothing {smoothing}: {problem}"
                if problem := unlike(sums.negative_log_likelihood, likelihood):
                    yield f"negative log-likelihood, {where}: {problem}"


# ---- gradients


def check_gradient(draw):
    model, batch = draw.model, draw.batch
    loss, found = gradients(model, batch)
    rng = np.random.default_rng([draw.seed, 1])
    frozen, mixed = frozen_parameters(draw)
    for name in frozen:
        if found[name].any():
            yield f"{name} is frozen, but has a gradient"
    moved = [name for name in found if name not in frozen and name not in mixed]
    along = {name: rng.standard_normal(found[name].shape) for name in moved}
    slope = central_slope if draw.notes.closures else complex_slope
    allowed = 3e-6 if draw.notes.closures else TOLERANCE
    if problem := wrong_slope(slope, model, batch, loss, found, along, allowed):
        names = [
            name
            for name in along
            if wrong_slope(slope, model, batch, loss, found, {name: along[name]}, allowed)
        ]
        shown = ", ".join(names[:5])
        yield f"{problem}: {len(names)} of {len(along)} parameters, {shown}"
    with fast():
        _, quick = gradients(model, batch)
    yield from unlike_gradients("in fast()", quick, found)


def wrong_slope(slope, model, batch, loss, found, along, allowed) -> str:
    expected = slope(model, batch, loss, along)
    products = [float((found[name] * along[name]).sum()) for name in along]
    lengths = [
        float(np.sqrt((found[name] ** 2).sum() * (along[name] ** 2).sum())) for name in along
    ]
    size = max(sum(lengths), 1e-3)
    error = abs(sum(products) - expected) / size
    return (
        ""
        if error <= allowed
        else f"slope {sum(products):.8g}, expected {expected:.8g} (error {error:.1e})"
    )


def complex_slope(model, batch, loss, along) -> float:
    moved = model.astype(np.complex128)
    for name, parameter in moved.parameters().items():
        if name in along:
            parameter.data[...] += 1e-20j * along[name]
    sums, _ = moved.loss_forward(batch, rng=generator(), smoothing=0.1)
    if abs(sums.loss.real - loss) > TOLERANCE * abs(loss):
        raise AssertionError(f"the complex copy has loss {sums.loss.real}, expected {loss}")
    return float(sums.loss.imag) / 1e-20


def central_slope(model, batch, loss, along, step=1e-6) -> float:
    """On the model itself, whose closures a copy would not follow."""
    parameters = model.parameters()
    before = {name: parameters[name].data.copy() for name in along}
    values = []
    for sign in (1, -1):
        for name in along:
            parameters[name].data[...] = before[name] + sign * step * along[name]
        values.append(float(model.loss_forward(batch, rng=generator(), smoothing=0.1)[0].loss))
    for name in along:
        parameters[name].data[...] = before[name]
    return (values[0] - values[1]) / (2 * step)


def frozen_parameters(draw) -> tuple[set, set]:
    """(names of parameters that all of their layers freeze, names of those that some do)."""
    uses = {}
    for layer in [draw.model, *draw.model.sublayers().values()]:
        for name, parameter in members(layer):
            if isinstance(parameter, Parameter):
                freezes = name in getattr(type(layer), "frozen_names", ()) or any(
                    layer is one for one in draw.notes.frozen
                )
                uses.setdefault(id(parameter), set()).add(freezes)
    named = {name: uses[id(parameter)] for name, parameter in draw.model.parameters().items()}
    return (
        {name for name, kinds in named.items() if kinds == {True}},
        {name for name, kinds in named.items() if len(kinds) == 2},
    )


def check_effect(draw):
    """What was assigned has an influence."""
    parameters = {id(parameter) for parameter in draw.model.parameters().values()}
    before, _ = draw.model.loss_forward(draw.batch)
    for parameter, label in draw.notes.used:
        if id(parameter) in parameters:
            old = parameter.data.copy()
            parameter.data[...] = old * 1.1 + 0.1
            after, _ = draw.model.loss_forward(draw.batch)
            parameter.data[...] = old
            if after.loss == before.loss:
                yield f"{label} has no influence on the loss"
                return


# ---- decoding


def check_decoding(draw):
    if not hasattr(draw.model, "start"):
        return
    rng = np.random.default_rng([draw.seed, 2])
    for rows in (1, 11, 40):
        source = draw_source(draw.kind, rng, rows)
        for name in rng.permutation(list(SEARCHES))[:2]:
            for mode, context in in_modes():
                with context:
                    found = SEARCHES[name](draw.model, source)
                if problem := wrong_scores(draw, source, found):
                    yield f"{name}, {mode}, {rows} rows: {problem}"


SEARCHES = {
    "greedy": lambda model, source: beam_search(model, source, 1, max_length=MAX_LENGTH),
    "beam 3": lambda model, source: beam_search(model, source, 3, max_length=MAX_LENGTH),
    "sample": lambda model, source: sample(
        model, source, np.random.default_rng(0).spawn(len(source)), max_length=MAX_LENGTH
    ),
}


def wrong_scores(draw, source, found) -> str:
    """The log-probabilities of a search, against those of forward with teacher forcing."""
    outputs = [
        (row, hypothesis.ids) for row, hypotheses in enumerate(found) for hypothesis in hypotheses
    ]
    reported = np.array(
        [hypothesis.log_probability for hypotheses in found for hypothesis in hypotheses]
    )
    inputs, targets = forced(draw.kind, source, outputs)
    logits, _ = draw.model.forward(*inputs)
    expected = (log_likelihoods(logits, targets) * (targets != PAD)).sum(axis=1)
    wrong = np.abs(reported - expected) > TOLERANCE * np.maximum(1, np.abs(expected))
    if not wrong.any():
        return ""
    worst = int(np.abs(reported - expected).argmax())
    values = f"log-probability {reported[worst]:.6f}, expected {expected[worst]:.6f}"
    return f"{values} ({wrong.sum()} of {len(wrong)} outputs)"


# ---- copies and files


def check_copy(draw):
    model, batch = draw.model, draw.batch
    logits, _ = model.forward(*batch.inputs)
    _, expected = gradients(model, batch)
    other = copy.deepcopy(model)
    if problem := unlike(other.forward(*batch.inputs)[0], logits):
        yield f"deepcopy: logits: {problem}"
    yield from unlike_gradients("of deepcopy", gradients(other, batch)[1], expected)
    if not draw.notes.closures:
        move(other)
        if problem := unlike(model.forward(*batch.inputs)[0], logits):
            yield f"a change of a deepcopy changes the model: {problem}"
    replica = model.replica()
    yield from unlike_replica(model, replica, batch, logits, expected)


def unlike_replica(model, replica, batch, logits, expected):
    if problem := unlike(replica.forward(*batch.inputs)[0], logits):
        yield f"replica: logits: {problem}"
    yield from unlike_gradients("of replica", gradients(replica, batch)[1], expected)
    before = {name: parameter.data.copy() for name, parameter in model.parameters().items()}
    move(model)
    if problem := unlike(replica.forward(*batch.inputs)[0], model.forward(*batch.inputs)[0]):
        yield f"replica does not follow the model's weights: {problem}"
    for name, parameter in model.parameters().items():
        parameter.data[...] = before[name]


def move(model) -> None:
    """Change every weight in place."""
    for parameter in model.parameters().values():
        parameter.data[...] = 1.05 * parameter.data + 0.02


def check_save(draw):
    expected, _ = draw.model.forward(*draw.batch.inputs)
    other = draw.remake()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        save_weights(draw.model, path)
        move(other)
        try:
            load_weights(other, path)
        except InputError as error:
            message = str(error).replace(folder, "")
            yield f"what was saved cannot be loaded into the same model: {message}"
            return
    if problem := unlike(other.forward(*draw.batch.inputs)[0], expected):
        yield f"logits after loading: {problem}"


CHECKS = {
    "loss": check_loss,
    "gradient": check_gradient,
    "effect": check_effect,
    "decoding": check_decoding,
    "copy": check_copy,
    "save": check_save,
    "step": check_step,
    "threads": check_threads,
    "processes": check_processes,
}
