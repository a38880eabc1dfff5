"""Which path of the forward does a backward leave out, count wrongly, or derive as something else?

The derivative of the reader's own forward is taken with one expression cut, scaled or derived
wrongly. If that is what backward returns, for every input and parameter and at every size, it is
named: nothing needs to be known of how backward was written.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import combinations
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.numeric import complex_step
from minitransformer.checking.subject import drawing, flat
from minitransformer_course.diagnosis.factors import close, named_factors
from minitransformer_course.diagnosis.rules import rules
from minitransformer_course.diagnosis.source import NEAR
from minitransformer_course.diagnosis.syntax_tree import NAME, fill, match
from minitransformer_course.diagnosis.watched import LIBRARIES, Seen, Watched

ROUGH = 1e-8  # relative error of a quotient of two derivatives
ALONE = "in the gradient of "  # some inputs or parameters, but not in that of others
PAIRS = 40  # of paths, at most
LEAVES = ast.Name, ast.Attribute, ast.Subscript
SLOPES = {  # what people take for the slope of a function f of u
    "1": "1, as if it were not there",
    "f": "its value",
    "1 - f": "1 - f, f being its value",
    "f * (1 - f)": "f (1 - f), f being its value: that is the slope of a sigmoid",
    "1 - f * f": "1 - f^2, f being its value: that is the slope of tanh",
    "f > 0": "a step: that is the slope of ReLU",
    "u > 0": "a step: that is the slope of ReLU",
    "np.exp(u)": "exp of its argument",
    "1 / (1 + np.exp(-u))": "the sigmoid of its argument",
    "s * (1 - s)": "that of a sigmoid",
    "1 - np.tanh(u) ** 2": "that of tanh",
    "u": "its argument",
    "2 * u": "twice its argument",
    "1 / f": "1 / f, f being its value",
    "f / 2": "half its value",
    "0.5 / f": "1 / (2 f), f being its value: that is the slope of a root",
}


def cut(value, frame=None) -> Any:
    """The value taken for a constant."""
    return value.real + 0j if _is_complex(value) else value


def scaled(k) -> Callable:
    """The value with k times its derivative."""
    return lambda value, frame: value.real + 1j * k * value.imag if _is_complex(value) else value


def derived(code: CodeType) -> Callable:
    """The value with the derivative of another expression, which is computed beside it."""

    def change(value, frame) -> Any:
        other = eval(code, frame.f_globals, frame.f_locals)
        if np.shape(other) != np.shape(value):
            other = np.broadcast_to(other, np.shape(value))
        return value.real + 1j * np.imag(other)

    return change


def sloped(code: CodeType, slope: CodeType) -> Callable:
    """The value with another slope in the expression that it is a function of."""

    def change(value, frame) -> Any:
        inner = eval(code, frame.f_globals, frame.f_locals)
        if np.shape(inner) != np.shape(value):
            raise ValueError("not number by number")
        u = np.real(inner)
        known = {"np": np, "f": np.real(value), "u": u, "s": 1 / (1 + np.exp(-u))}
        return value.real + 1j * eval(slope, known) * np.imag(inner)

    return change


def without_factor(code: CodeType, factor: CodeType) -> Callable:
    """A product whose one side gets its derivative without the other side as a factor."""

    def change(value, frame) -> Any:
        one, other = (eval(side, frame.f_globals, frame.f_locals) for side in (code, factor))
        imaginary = np.imag(one) + np.real(one) * np.imag(other)
        return value.real + 1j * np.broadcast_to(imaginary, np.shape(value))

    return change


def spread(combine) -> Callable:
    """A maximum over an axis with the derivative of a mean or a sum over it."""

    def change(value, frame) -> Any:
        for one in frame.f_locals.values():
            for axis in range(np.ndim(one)) if _is_complex(one) else ():
                if np.array_equal(one.real.max(axis=axis), value.real):
                    return value.real + 1j * combine(one.imag, axis=axis)
        raise ValueError("not a maximum of anything here")

    return change


def _is_complex(value) -> bool:
    """Whether it is a number or an array that can carry a derivative."""
    return isinstance(value, (np.ndarray, np.generic, complex)) and np.iscomplexobj(value)


class Place(NamedTuple):
    """The same expression, wherever it occurs in one statement."""

    numbers: list[int]
    node: Any

    def with_each(self, change) -> dict[int, Callable]:
        return dict.fromkeys(self.numbers, change)


class Paths:
    """The paths of a block's forward, in each of its cases."""

    def __init__(self, cases):
        self.wrong = [n for n in cases[0].observed if any(n in case.wrong for case in cases)]
        self.cases = [_Moved(case, self.wrong, number) for number, case in enumerate(cases)]
        self.first = self.cases[0]
        self.watched = Watched(self.first.subject)
        self.seen: dict[int, Seen] = self._look() if self.watched.nodes else {}
        grouped: dict[tuple, Place] = {}
        for number in self.seen:
            node = self.watched.nodes[number]
            grouped.setdefault((node.text, node.line), Place([], node)).numbers.append(number)
        self.places = sorted(
            grouped.values(),
            key=lambda place: (
                not place.node.output,
                place.numbers[0] >= self.watched.in_forward,  # the forward itself tells most
                not place.node.is_reduction,
                not place.node.target,
                -len(place.numbers),
            ),
        )
        self._effects: dict[int, Array] = {}

    def effect(self, place) -> Array:
        """What the path of a place contributes to how far backward is off."""
        key = place.numbers[0]
        if key not in self._effects:
            with_cut = self.first.off_with(self.watched, place.with_each(cut))
            self._effects[key] = self.first.off - with_cut
        return self._effects[key]

    def _look(self) -> dict[int, Seen]:
        """What carries a derivative, with its value."""
        watched, watched.seen = self.watched, {}
        try:
            self.first.along(watched, self.first.every)
            return {
                number: seen
                for number, seen in watched.seen.items()
                if _is_complex(seen.value) and np.any(np.imag(seen.value))
            }
        finally:
            watched.seen = None

    def explanations(self) -> Iterator[str]:
        """Sentences, each of which explains all that is wrong, the most telling first."""
        yield from self._cut(self.places)
        yield from self._miscounted()
        yield from self._derived()

    def statistics(self) -> Iterator[str]:
        """Sentences on outputs whose dy is ignored, and on statistics taken for constants."""
        usual = [one for one in self.places if one.node.is_reduction or one.node.output]
        for said in self._cut(usual):
            if not said.startswith(ALONE):
                yield said

    def _cut(self, places) -> Iterator[str]:
        """Sentences on what backward takes for a constant."""
        off = self.first.off
        known = [(place, self.effect(place)) for place in places]
        tried = [[place] for place, effect in known if _is_close(effect, off)]
        reductions = [one for one in known if one[0].node.is_reduction and one[1].any()]
        for size in range(2, len(reductions) + 1 if len(reductions) <= 4 else 3):
            tried += [[place for place, _effect in some] for some in combinations(reductions, size)]
        pairs = [
            [one, other]
            for (one, effect), (other, another) in combinations(known, 2)
            if _is_close(effect + another, off)
        ]
        for places in (*tried, *pairs[:PAIRS]):
            where = self._explained({n: cut for place in places for n in place.numbers})
            if where is not None:
                yield where + _constant(places)

    def _miscounted(self) -> Iterator[str]:
        for place in self.places:
            if _quotient(self.first.off, self.effect(place)) is None:
                continue
            ratios = [self._ratio(case, place) for case in self.cases]
            if any(r is None or close(r, 1) or close(1 + r, 1) for r in ratios):
                continue
            where = self._explained(*(place.with_each(scaled(r)) for r in ratios))
            said = named_factors([case.case for case in self.cases], ratios)
            if where is not None and said:
                yield f"{where}the gradient that passes through {place.node.said} {said[0]}"

    def _ratio(self, case, place) -> float | None:
        """By what factor this path is counted in a case."""
        effect = case.off - case.off_with(self.watched, place.with_each(cut))
        k = _quotient(case.off, effect)
        return None if k is None else 1 - k

    def _derived(self) -> Iterator[str]:
        """Sentences on an expression in whose place backward derives another one."""
        for place in self.places:
            if not np.any(self.effect(place)):
                continue
            for said, change in (
                *_slopes(place.node),
                *_products(place.node),
                *_spread(place.node),
                *_others(place.node),
            ):
                where = self._explained(place.with_each(change))
                if where is not None:
                    yield where + said

    def _explained(self, *changes) -> str | None:
        """How a sentence begins, if with these changes, one for each case, the derivative is what
        backward returns; else None.
        """
        each = changes * len(self.cases) if len(changes) == 1 else changes

        def given(directions) -> bool:
            return all(
                case.is_given(self.watched, one, directions(case))
                for case, one in zip(self.cases, each)
            )

        try:
            if not given(lambda case: case.together[:1]) or not given(lambda case: case.of_wrong):
                return None
            whole = given(lambda case: case.of_right)
        except Exception:  # another expression need not run
            return None
        return "" if whole else f"{ALONE}{' and '.join(self.wrong)}, "


class _Moved:
    """A case and the directions along which its arrays move."""

    def __init__(self, case, wrong, number):
        self.case, self.subject, self.dy = case, case._complex, flat(case.dy)
        rng = drawing(31, number)
        shapes = {name: g.shape for name, g in case.observed.items()}

        def drawn(names) -> dict[str, Array]:
            return {name: rng.standard_normal(shapes[name]) for name in names}

        self.every = drawn(shapes)
        self.together = [drawn(wrong) for _ in range(3)]
        self.of_wrong = [drawn([name]) for name in wrong for _ in range(2)]
        self.of_right = [drawn([name]) for name in shapes if name not in wrong]
        self.observed = case.observed
        sizes = [np.sqrt((g * g).sum()) for g in case.observed.values()]
        self.scale = max([*sizes, *np.abs([self.along(None, v) for v in self.together])])
        self.off = self.off_with(None, {})

    def along(self, watched, direction) -> float:
        """The derivative along a direction, of the block or of its watched forward."""

        def line(step) -> Array:
            return self.subject.moved(direction, step)

        if watched is None:
            return float(complex_step(line, self.dy))
        with watched.within(self.subject):
            return float(complex_step(line, self.dy))

    def is_given(self, watched, changes, directions) -> bool:
        """Whether backward returns the derivative with these changes along the directions."""
        off = self.off_with(watched, changes, directions)
        return bool(np.abs(off).max(initial=0) <= NEAR * self.scale)

    def off_with(self, watched, changes, directions=None) -> Array:
        """By how much backward is larger than the derivative with these changes."""
        if watched is not None:
            watched.changes = changes
        try:
            return np.array(
                [
                    sum((self.observed[name] * v).sum() for name, v in direction.items())
                    - self.along(watched, direction)
                    for direction in (self.together if directions is None else directions)
                ]
            )
        finally:
            if watched is not None:
                watched.changes = {}


def _is_close(effect, off) -> bool:
    """Whether what backward lacks is this path."""
    return bool(np.abs(off).max() and np.abs(effect - off).max() <= ROUGH * np.abs(off).max())


def _quotient(off, effect) -> float | None:
    """The number k with off = k effect, or None."""
    largest = np.abs(effect).argmax()
    if not effect[largest]:
        return None
    k = off[largest] / effect[largest]
    return float(k) if np.abs(off - k * effect).max() <= ROUGH * np.abs(off).max() else None


def _slopes(node) -> Iterator[tuple[str, Callable]]:
    """(what is said, the change) for wrong slopes of a function of one expression."""
    arguments = [_argument(node.tree)]
    while arguments[-1] is not None:
        arguments.append(_argument(arguments[-1]))
    for argument in reversed(arguments[:-1]):
        code = _compiled(argument)
        for slope, words in SLOPES.items():
            said = f"the slope of {node.said} is taken for {words}"
            yield said, sloped(code, _code(slope))


def _products(node) -> Iterator[tuple[str, Callable]]:
    """(what is said, the change) for a product rule in which a factor is missing."""
    if isinstance(node.tree, ast.BinOp) and isinstance(node.tree.op, ast.Mult):
        for one, other in (
            (node.tree.left, node.tree.right),
            (node.tree.right, node.tree.left),
        ):
            code = _compiled(one), _compiled(other)
            yield (
                f"the gradient that passes back to `{ast.unparse(one)}` lacks the factor "
                f"`{ast.unparse(other)}`, by which it is multiplied in {node.said}",
                without_factor(*code),
            )


def _spread(node) -> Iterator[tuple[str, Callable]]:
    """(what is said, the change) for a maximum of which more than the largest number gets a
    gradient.
    """
    if isinstance(node.tree, (ast.Call, ast.Subscript)):
        for combine, words in (
            (np.mean, "is spread over all of the numbers, as for a mean"),
            (np.sum, "goes to all of the numbers, as for a sum"),
        ):
            said = (
                f"the gradient of the maximum {node.said} {words}: only the largest number gets it"
            )
            yield said, spread(combine)


def _argument(tree) -> ast.expr | None:
    """What an expression is a function of, number by number: f(x) of x, and 1 / (1 + x) of x."""
    if isinstance(tree, ast.Call) and len(tree.args) == 1 and not tree.keywords:
        own = isinstance(tree.func, ast.Attribute) and ast.unparse(tree.func.value) not in LIBRARIES
        return None if own else tree.args[0]
    if not isinstance(tree, (ast.BinOp, ast.UnaryOp)):
        return None
    parts = [tree.operand] if isinstance(tree, ast.UnaryOp) else [tree.left, tree.right]
    found: dict[str, ast.expr] = {}
    for part in parts:
        inner = part if isinstance(part, LEAVES) else _argument(part)
        if inner is not None:
            found[ast.unparse(inner)] = inner
        elif not isinstance(part, ast.Constant):
            return None
    return next(iter(found.values())) if len(found) == 1 else None


def _others(node) -> Iterator[tuple[str, Callable]]:
    """(what is said, the change) for what the rules write in the place of an expression."""
    for pattern, wrong, _sentence, rank in rules():
        parts = match(pattern, node.tree) if rank <= NAME else None
        if parts is not None:
            other = fill(wrong, parts)
            yield (
                f"backward differentiates `{ast.unparse(other)}`, but forward has {node.said}",
                derived(_compiled(other)),
            )


def _compiled(tree) -> CodeType:
    return _code(ast.unparse(tree))


def _code(text) -> CodeType:
    return compile(text, "<derived>", "eval")


def _constant(places: list[Place]) -> str:
    """What is said if backward takes these expressions for constants."""
    nodes = [place.node for place in places]
    if len(nodes) == 1 and nodes[0].output:
        return f"the upstream gradient of output {nodes[0].output}, `{nodes[0].text}`, is not used"
    said = " and ".join(node.said for node in nodes)
    if not all(node.is_reduction for node in nodes):
        return f"the path through {said} is missing: backward sends no gradient along it"
    if len(nodes) == 1:
        return (
            f"backward takes {said} for a constant, but it depends on what it is computed from: "
            "that path of the gradient is missing"
        )
    return (
        f"backward takes {said} for constants, but they depend on what they are computed from: "
        "these paths of the gradient are missing"
    )
