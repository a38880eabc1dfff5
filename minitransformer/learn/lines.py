"""The lines of a reference, right and with every mistake: compiled, so that thousands of programs can be tried."""

import ast
import math
import re
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import combinations
from types import CodeType
from typing import NamedTuple

import numpy as np

from minitransformer.learn.changes import changes
from minitransformer.learn.formula import LONGEST, formula
from minitransformer.learn.messages import _
from minitransformer.learn.syntax_tree import NAME, RARE, USUAL, Change, binary, numpy

RETURNED, FACTOR = "_returned", "_factor"    # names that no reference uses: what it returns, and {text of a factor: its value}


class Variant(NamedTuple):
    """A line with one change in it, or with two."""

    sentence: str
    code: CodeType
    rank: int = USUAL


class Place(NamedTuple):
    """Where an expression stands in the tree: the field of another node, or an element of it."""

    parent: ast.AST
    field: str
    at: int | None = None

    def get(self) -> ast.expr:
        held = getattr(self.parent, self.field)
        return held if self.at is None else held[self.at]

    def put(self, node) -> None:
        if self.at is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node


class Line:
    """A line of a reference. `code` runs it; `variants` are the line with one change, `pairs` with two usual ones.

    tree: its statement. parts: [(name, [Place])], what it makes and where a change can stand in that. others: the lines that make
    another part of the same array. names: {name that may stand in the line: its kind}. means, factors: as in `formula`, `lines_of`.
    """

    def __init__(self, tree, parts, others, names, means, factors):
        self.tree, self.code, self.text = tree, _compiled(tree), ast.unparse(tree)
        self.parts, self.others, self.names, self.means, self.factors = parts, others, names, means, factors
        self.in_place = not (isinstance(tree, ast.Assign) and isinstance(tree.targets[0], (ast.Name, ast.Tuple)))

    @cached_property
    def variants(self) -> list[Variant]:
        made = [self._variant(place, change.node, sentence, change.rank) for place, change, _i, sentence in self._changes]
        if self.in_place:
            made.append(Variant(_("this line is missing: {line}").format(line=self.text), _compiled(ast.Pass())))
        return [*made, *self._other_names(), *self._superfluous(), *self._other_parts()]

    @cached_property
    def pairs(self) -> list[Variant]:
        usual = [one for one in self._changes if one[1].rank < RARE]
        pairs = [self._pair(one, other) for one, other in combinations(usual, 2) if one[0] is not other[0]]
        return [pair for pair in pairs if pair]

    def _pair(self, outer, inner) -> Variant | None:
        """The line with both changes; None if the inner one removes what the outer one would change."""
        (place, change, i, sentence), (deeper, other, _i, said) = outer, inner
        nested = any(node is deeper.parent for node in ast.walk(place.get()))
        before = deeper.get()
        deeper.put(other.node)
        if nested:    # make the outer change again, now that its expression is another one
            again = [one.node for one in changes(place.get(), self.names, self.means)]
            change = change._replace(node=again[i]) if i < len(again) else None
        pair = change and self._variant(place, change.node, _("{one}; {other}").format(one=sentence, other=said),
                                        change.rank + other.rank)
        deeper.put(before)
        return pair

    @cached_property
    def _changes(self) -> list[tuple[Place, Change, int, str]]:
        """[(place, change, its number among the changes of this place, sentence)]."""
        return [(place, change, i, _placed(name, change.sentence)) for name, places in self.parts for place in places
                for i, change in enumerate(changes(place.get(), self.names, self.means))]

    def _superfluous(self) -> Iterator[Variant]:
        """The line's value with a factor, a term or a function that does not belong there."""
        for name, (place, *_rest) in self.parts if isinstance(self.tree, ast.Assign) else ():
            value = place.get()
            for factor in self.factors:
                scale = ast.parse(f"{FACTOR}[{factor!r}]", mode="eval").body
                yield self._variant(place, binary(value, ast.Mult, scale), scaled(name, factor), NAME if factor == "-1" else RARE)
            for other in [*self.names, "1"]:
                term = ast.parse(other, mode="eval").body
                for text, sign in ((_("in {name}, {other} is added"), ast.Add), (_("in {name}, {other} is subtracted"), ast.Sub),
                                   (_("{name} is multiplied by {other}"), ast.Mult), (_("{name} is divided by {other}"), ast.Div)):
                    said = text.format(name=name, other=formula(term, self.means))
                    yield self._variant(place, binary(value, sign, term), said, RARE)
            for function in ("exp", "log", "sqrt", "square", "abs", "tanh"):
                said = _("{function} is taken of {name}").format(function=function, name=name)
                yield self._variant(place, numpy(function, value), said, RARE)

    def _other_names(self) -> Iterator[Variant]:
        """The line with another name in all places of one that stands there twice or more."""
        nodes = [node for _name, places in self.parts for node in (place.get() for place in places) if isinstance(node, ast.Name)]
        for right in dict.fromkeys(node.id for node in nodes if [one.id for one in nodes].count(node.id) > 1):
            same = [node for node in nodes if node.id == right]
            for other in [name for name in self.names if name != right]:
                for node in same:
                    node.id = other
                said = _("in {name}, {other} stands everywhere in place of {right}").format(
                    name=self.parts[0][0], other=formula(ast.Name(other), self.means), right=formula(ast.Name(right), self.means))
                yield Variant(said, _compiled(self.tree), RARE)
            for node in same:
                node.id = right

    def _other_parts(self) -> Iterator[Variant]:
        """The line with the value of another part of the same array: what belongs into PE[:, 0::2] in PE[:, 1::2]."""
        for other in self.others:
            said = _("{name} holds what belongs into {other}").format(name=self.parts[0][0], other=ast.unparse(other.targets[0]))
            yield self._variant(Place(self.tree, "value"), other.value, said, NAME)

    def _variant(self, place, node, sentence, rank) -> Variant:
        """The line with `node` in the place."""
        before = place.get()
        place.put(node)
        try:
            return Variant(sentence, _compiled(self.tree), rank)
        finally:
            place.put(before)


def _placed(name, sentence) -> str:
    """The sentence, with the name of the output or the line that it is about."""
    return sentence if sentence.startswith(f"{name} ") else _("in {name}, {what}").format(name=name, what=sentence)


def scaled(name, factor) -> str:
    """The sentence on an array that is a factor times what it has to be."""
    if factor == "-1":
        return _("{name} has the wrong sign").format(name=name)
    if factor == "0":
        return _("{name} is 0 everywhere").format(name=name)
    return _("{name} is {factor} times what is expected").format(name=name, factor=factor)


@lru_cache(maxsize=2)
def lines_of(exercise, factors) -> list[Line]:
    """The lines of the exercise's reference. factors: numbers, as text, by which a line could be multiplied once too often."""
    body = [line for line in ast.parse(exercise.source.replace("np.empty", "np.zeros")).body[-1].body
            if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    returned = body[-1].value
    last = body[-1] = ast.fix_missing_locations(ast.Assign([ast.Name(RETURNED, ast.Store())], returned))
    means = _means(exercise, body)
    kinds = _kinds(exercise, body)
    names, made = dict.fromkeys(exercise.parameters), []
    for line in body:
        parts = [(_name(line, means), [Place(line, "value"), *_places(line.value), *_places_of_target(line)])]
        if line is last:
            several = isinstance(returned, ast.Tuple)
            each = [Place(returned, "elts", k) for k in range(len(returned.elts))] if several else [Place(line, "value")]
            parts = [(name, [place, *_places(place.get())]) for name, place in zip(exercise.returns, each)]
        others = [one for one in body if one is not line and _part_of(one) and _part_of(one) == _part_of(line)]
        made.append(Line(line, parts, others, {name: kinds.get(name) for name in names}, means, factors))
        names |= {node.id: None for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return made


def _kinds(exercise, body) -> dict[str, str]:
    """{name: "i" of masks, ids and counts, "f" of anything else}, as they are when the reference runs."""
    names = {"np": np, "math": math, **dict(zip(exercise.parameters, exercise.cases()[0][1]))}
    for line in body:
        exec(_compiled(line), names)
    return {name: "i" if isinstance(value, int) or (isinstance(value, np.ndarray) and value.dtype.kind in "biu") else "f"
            for name, value in names.items()}


def _part_of(line) -> str | None:
    """The array of which the line makes a part: "PE" of PE[:, 0::2] = ...; None if it makes something else."""
    target = line.targets[0] if isinstance(line, ast.Assign) else None
    return ast.unparse(target.value) if isinstance(target, ast.Subscript) else None


def _means(exercise, body) -> dict[str, ast.expr]:
    """{name: expression} of the reference's own names, those that the learner was not told."""
    assigned = [(line.targets[0].id, line.value) for line in body
                if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)]
    names = [name for name, _value in assigned]
    told = " ".join([*exercise.parameters, *exercise.returns, exercise.task, *exercise.module.hints[:2]])
    return {name: value for name, value in assigned if names.count(name) == 1 and not re.search(rf"\b{name}\b", told)}


def _name(line, means) -> str:
    """What a line is called: the name of what it makes, or its right side if the learner was not told that name."""
    if not isinstance(line, ast.Assign):
        return ast.unparse(line.value.args[0])
    target = ast.unparse(line.targets[0])
    text = formula(line.value, means)
    text = ast.unparse(line.value) if text.isidentifier() else text
    return text if target in means and len(text) <= LONGEST else target


def _places(tree) -> Iterator[Place]:
    """Every place of an expression in the tree."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and not (isinstance(parent, ast.Attribute) and parent.attr == "shape"):
                yield Place(parent, field)
            elif isinstance(value, list):
                yield from (Place(parent, field, i) for i, one in enumerate(value) if isinstance(one, ast.expr))


def _places_of_target(line) -> Iterator[Place]:
    """Of PE[:, 1::2] = ..., the places in the left side."""
    if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Subscript):
        yield from (Place(line, "targets", 0), *_places(line.targets[0].slice))


def _compiled(line) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")    # 1[None] makes no sense, but does no harm
        return compile(ast.fix_missing_locations(ast.Module([line], [])), "reference", "exec")
