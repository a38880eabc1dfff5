"""A backward of the reader's own: which change of one expression in its source makes every gradient
right?

The changed backward is run on each case, so what is said is proven: with the change, all gradients
agree with the complex step.
"""

import ast
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from minitransformer_course.diagnosis.source import NEAR, NO_SOURCE, Pool, Probe, sources_of
from minitransformer_course.diagnosis.wrong_forms import (
    AXES,
    FACTORS,
    STRUCTURE,
    Found,
    of_form,
    of_statement,
    of_structure,
)
from minitransformer_course.diagnosis.syntax_tree import expression, filled, match

PATIENCE = 3_000  # changes that are tried at most


class Exhausted(Exception):
    """So many changes were tried that the search gives up."""


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, 0)] for a change of the reader's backward that makes all gradients right in every
    case.
    """
    block = cases[0].block
    try:
        sources = sources_of(block, own_backward_of(block))
    except NO_SOURCE:
        return []
    with np.errstate(all="ignore"):
        probes = {id(case): Probe(case) for case in cases}
        for source in sources:
            for said in Search(cases, source, probes).found()[:1]:
                where = "" if source is sources[0] else f"in `{source.function.__name__}`: "
                return [(where + said, 0.0)]
    return []


def is_own(block) -> bool:
    """Whether its backward is the reader's own, not the library's."""
    return not str(own_backward_of(block).__module__).startswith("minitransformer.")


def own_backward_of(block) -> Callable:
    """The backward that runs: the reader's own, if one is plugged in for the library's."""
    backward: Any = block[1] if isinstance(block, tuple) else type(block).backward
    return getattr(backward, "own", None) or getattr(backward, "textbook", backward)


class Search:
    """The search for a change of a backward, in the first case; what is found must be right in the
    others.
    """

    def __init__(self, cases, source, probes):
        self.cases, self.left = cases, PATIENCE
        self.source, self.probes = source, probes
        self.first = self.probes[id(cases[0])]
        self.along: dict[Any, float] = self.source.run(self.first) or {}
        self.wrong = {
            key[0]
            for key, along in self.along.items()
            if abs(along - self.first.slopes[key]) > NEAR * self.first.scales[key]
        }
        self.pool = Pool(self.source, cases[0].subject)

    def found(self) -> list[str]:
        """The sentence of the first change that is right, or none."""
        with suppress(Exhausted):
            places = [place for place in self.source.places if not isinstance(place[3], ast.stmt)]
            numeric = [
                place
                for place in places
                if self.source.value(place[3]) is not None and self._matters(place)
            ]
            statements = [self.source.statement.get(id(place[3])) for place in numeric]
            places = [
                place
                for place in places
                for of in [self.source.statement.get(id(place[3]))]
                if of in statements or isinstance(of, ast.For)
            ]
            numeric.sort(
                key=lambda place: -place[3].lineno
            )  # what is passed on from the last place is certainly wrong
            for kind in (
                self._statements(),
                self._forms(places, STRUCTURE),
                self._names(numeric),
                self._forms(places, FACTORS),
                self._more(numeric),
                self._everywhere(),
                self._added(numeric),
                self._moved(numeric),
            ):
                for said in kind:
                    return [said]
        return []

    def _matters(self, place) -> bool:
        """Whether all wrong arrays depend on the place, and no right one does."""
        if getattr(self.source.value(place[3]), "dtype", np.dtype(float)).kind in "bi":
            return True
        function = self._changed([place], filled("a * 1.5", a=place[3]))
        other = function and self.first.along(function, self.source)
        if other is None:  # it has to be a whole number, for example
            return True
        return self.wrong == {
            key[0]
            for key, along in self.along.items()
            if abs(other[key] - along) > 1e-9 * self.first.scales[key]
        }

    def _changed(self, places, *nodes) -> Callable | None:
        self.left -= 1
        if self.left < 0:
            raise Exhausted
        try:
            return self.source.changed(places, *nodes)
        except (SyntaxError, ValueError, TypeError):
            return None

    def _is_right(self, places, *nodes) -> bool:
        """Whether all gradients are right with the change, in all cases."""
        function = self._changed(places, *nodes)
        return function is not None and all(
            probe.is_right(probe.along(function, self.source)) for probe in self.probes.values()
        )

    def _tried(self, place, changes) -> Iterator[str]:
        for said, node in changes:
            if self._is_right([place], node):
                yield f"in `{self.source.line(place)}`, {said}"

    def _statements(self) -> Iterator[str]:
        for place in [place for place in self.source.places if isinstance(place[3], ast.stmt)]:
            yield from self._tried(place, of_statement(place[3]))

    def _forms(self, places, patterns) -> Iterator[str]:
        for place in places:
            yield from self._tried(place, of_form(place[3], patterns, self.source))
            if patterns is STRUCTURE:
                yield from self._tried(place, of_structure(place[3], self.source))
                yield from self._tried(place, self._transposed(place))

    def _transposed(self, place) -> Found:
        parent, _field, _i, node = place
        dimensions = np.ndim(self.source.value(node))
        if _is_top(place) or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult)):
            for form in (
                ("a.T",)
                if dimensions == 2
                else ("a.swapaxes(-1, -2)", "a.swapaxes(0, 1)")
                if dimensions > 2
                else ()
            ):
                made = filled(form, a=node)
                yield (
                    f"`{ast.unparse(node)}` is not transposed: `{ast.unparse(made)}` belongs there",
                    made,
                )

    def _names(self, places) -> Iterator[str]:
        for place in places:
            number = np.ndim(self.source.value(place[3])) == 0
            own = ast.unparse(place[3])
            if isinstance(place[3], ast.Call) and not number and _is_top(place):
                yield from self._tried(place, self._reversed(place[3]))
            if not isinstance(place[3], (ast.Name, ast.Attribute, ast.Subscript)) and not (
                number and isinstance(place[3], ast.Call)
            ):
                continue
            for other in (own, *self.pool.alike(place[3])):
                for form in (
                    ("a", "a[:, None]", "a[..., None]")
                    if number
                    else ("1 - a", "a * a", "-a", *self._functions)
                    if other == own
                    else ("1 - a", "a * a", "a")
                ):
                    made = filled(form, a=expression(other))
                    said = f"`{own}` is used where `{ast.unparse(made)}` belongs"
                    if form == "-a":
                        said = f"`{own}` has the wrong sign: `{ast.unparse(made)}` belongs there"
                    yield from self._tried(place, [(said, made)])
            if not number:
                yield from self._tried(place, self._reversed(place[3]))

    @cached_property
    def _functions(self) -> list[str]:
        """Functions of one argument that the forward calls, applied to a."""
        names = self.source.names
        called = {
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(textwrap.dedent(self.pool.forward)))
            if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
        }
        known = [one for one in sorted(called) if one.startswith("np.") or one in names]
        return [f"{one}(a)" for one in known]

    def _reversed(self, node) -> Found:
        """The array turned round along one of its axes."""
        for axis in range(min(np.ndim(self.source.value(node)), 3)):
            made = filled(f"a[{':, ' * axis}::-1]", a=node)
            yield (
                f"`{ast.unparse(node)}` is not reversed along axis {axis}: `{ast.unparse(made)}`",
                made,
            )

    def _more(self, places) -> Iterator[str]:
        for place in places:
            operand = isinstance(place[0], ast.BinOp) and isinstance(place[0].op, ast.MatMult)
            if _is_top(place) or operand or isinstance(place[0], ast.Attribute):
                yield from self._tried(place, self.pool.factors(place[3]))

    def _added(self, places) -> Iterator[str]:
        for place in places:
            node = place[3]
            is_term = isinstance(place[0], ast.BinOp) and isinstance(
                place[0].op, (ast.Add, ast.Sub)
            )
            if is_term or not (_is_top(place) or isinstance(node, (ast.Name, ast.BinOp))):
                continue
            for term in self.pool.terms(node):
                for form, missing in (("a + t", ""), ("a - t", "- ")):
                    said = (
                        f"`{ast.unparse(node)}` lacks the term `{missing}{ast.unparse(term)}`: "
                        "a path of the gradient is missing"
                    )
                    yield from self._tried(place, [(said, filled(form, a=node, t=term))])

    def _moved(self, places) -> Iterator[str]:
        """A factor that is multiplied at another place than it should be."""
        for place in places:
            parts = match(expression("a * b"), place[3]) or {}
            for factor, rest in (("b", "a"), ("a", "b")) if parts else ():
                shown = ast.unparse(parts[factor])
                if not isinstance(parts[factor], (ast.Name, ast.Attribute)):
                    continue
                for other in places:
                    inside = any(other[3] is one for one in ast.walk(place[3]))
                    if inside or not isinstance(other[3], ast.Name):
                        continue
                    made = filled("a * b", a=other[3], b=parts[factor])
                    if self._is_right((place, other), parts[rest], made):
                        yield (
                            f"`{shown}` is multiplied in `{self.source.line(place)}`: it belongs in "
                            f"`{self.source.line(other)}`, on `{ast.unparse(other[3])}`"
                        )

    def _everywhere(self) -> Iterator[str]:
        """One change of all expressions of one form, or of the axis of all sums and means."""
        axes: dict[str, list] = {}
        for place in self.source.places:
            if isinstance(place[0], ast.keyword) and place[0].arg == "axis":
                axes.setdefault(ast.unparse(place[3]), []).append(place)
        for form in STRUCTURE:
            matching = [
                (place, made)
                for place in self.source.places
                for said, made in of_form(place[3], [form], self.source)
            ]
            if 1 < len(matching) < 6:
                places, nodes = zip(*matching)
                said = next(iter(of_form(places[0][3], [form], self.source)))[0]
                if self._is_right(places, *nodes):
                    lines = dict.fromkeys(self.source.line(place) for place in places)
                    yield f"in {' and '.join(f'`{line}`' for line in lines)}, {said}"
        for text, several in axes.items():
            for axis in AXES if len(several) > 1 else ():
                if self._is_right(several, expression(axis)):
                    yield (
                        f"{len(several)} sums or means of backward run over the wrong axis: axis={axis} belongs where "
                        f"axis={text} is"
                    )


def _is_top(place) -> bool:
    """Whether a factor here is not the same as one at a part or at the whole."""
    parent, field, _i, node = place
    linear = (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.MatMult, ast.Div))
    ) or isinstance(parent, (ast.UnaryOp, ast.Attribute, ast.Subscript, ast.keyword))
    return not linear and not isinstance(node, (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List))
