"""How far a reader's backward is right: which of its names hold the gradient of one of
forward's.
"""

import ast
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.numeric import COMPLEX_STEP
from minitransformer.checking.subject import drawing
from minitransformer_course.diagnosis.paths import LEAVES, Paths
from minitransformer_course.diagnosis.source import NEAR, NO_SOURCE, Probe, sources_of

CALLED = "d{}", "d_{}", "grad_{}", "{}_grad", "g{}", "g_{}", "dL_d{}"  # what people call it
FEW = 200  # numbers: the gradient of a larger array is not computed one by one


class Step(NamedTuple):
    """A statement of backward that makes the gradient of something in forward."""

    line: str
    of: str
    order: int


def how_far(cases, backward) -> str:
    """What is right, and what is not: a sentence that follows from numbers alone, or ""."""
    try:
        source = sources_of(cases[0].block, backward)[0]
    except NO_SOURCE:
        return ""
    probe, paths = Probe(cases[0]), Paths(cases[:1])
    source.run(probe)
    once = {number: seen for number, seen in paths.seen.items() if seen.times == 1}
    nodes = paths.watched.nodes
    named = [node.target for node in nodes if node.target.isidentifier()]
    right, wrong = [], ""
    for name, (order, line, is_once) in _made(source).items():
        value = source.value(ast.Name(name, ast.Load()))
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.any():
            continue
        alike = [
            number
            for number, seen in once.items()
            if np.shape(seen.value) == value.shape and not isinstance(nodes[number].tree, LEAVES)
        ]
        alike.sort(key=lambda number: not nodes[number].target)
        of = next((number for number in alike if _is_gradient(paths, number, value)), None)
        if of is not None:
            one = nodes[of]
            right.append(
                Step(line, one.target if named.count(one.target) == 1 else one.text, order)
            )
        elif is_once and not wrong:
            for number in alike:
                meant = nodes[number].target
                called = [form.format(meant) for form in CALLED]
                if meant and named.count(meant) == 1 and name in called:
                    wrong = _difference(paths, number, name, meant, value, line)
    last = max(right, key=lambda step: step.order, default=None)
    said = [f"right up to `{last.line}`, which is the gradient of `{last.of}`"] if last else []
    return "; ".join([*said, wrong] if wrong else said)


def _made(source) -> dict[str, tuple[int, str, bool]]:
    """{name that backward makes: (the number of its line, its statement, if it is made once)}."""
    found: dict[str, list] = {}
    loops = [one for one in ast.walk(source.tree) if isinstance(one, ast.For)]
    repeated = {id(one) for loop in loops for one in ast.walk(loop)}
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                        line = ast.unparse(node).partition("\n")[0]
                        made = node.lineno, line, id(node) not in repeated
                        found.setdefault(one.id, []).append(made)
    return {
        name: (*some[-1][:2], len(some) == 1 and some[0][2]) for name, some in sorted(found.items())
    }


def _along(paths, number, direction) -> float:
    """The derivative of the loss along a direction of what an expression of forward computes."""
    paths.watched.changes = {number: lambda value, frame: value + 1j * COMPLEX_STEP * direction}
    try:
        with paths.watched.within(paths.first.subject):
            y = paths.first.subject.evaluate()
    finally:
        paths.watched.changes = {}
    return float((paths.first.dy * np.imag(y)).sum() / COMPLEX_STEP)


def _is_gradient(paths, number, value) -> bool:
    rng = drawing(41)
    for _ in range(2):
        direction = rng.standard_normal(value.shape)
        size = np.sqrt((value * value).sum() * (direction * direction).sum())
        if abs((value * direction).sum() - _along(paths, number, direction)) > NEAR * size:
            return False
    return True


def _difference(paths, number, name, of, value, line) -> str:
    """The number of an array that is farthest from the gradient that its name promises."""
    if value.size > FEW:
        return f"`{line}` is not the gradient of `{of}`"
    gradient: Array = np.zeros(value.shape)
    for where in np.ndindex(value.shape):
        unit = np.zeros(value.shape)
        unit[where] = 1
        gradient[where] = _along(paths, number, unit)
    worst: Any = np.unravel_index(np.abs(gradient - value).argmax(), value.shape)
    at = f"{name}{list(map(int, worst))}" if value.ndim else name
    return (
        f"`{line}` is not the gradient of `{of}`: {at} is {value[worst]:.6g}, "
        f"but the derivative by {of}{list(map(int, worst))} is {gradient[worst]:.6g}"
    )
