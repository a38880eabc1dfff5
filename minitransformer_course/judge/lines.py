"""The lines of a reference, right and with every mistake: compiled, so that thousands of programs
can be tried.
"""

import ast
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache
from types import CodeType

from minitransformer_course.diagnosis.changes import LONGEST, changes, formula, of_statement
from minitransformer_course.messages import _
from minitransformer_course.diagnosis.syntax_tree import (
    NAME,
    RARE,
    Change,
    expression,
    filled,
    twice,
    with_part,
)

RETURNED, FACTOR = (
    "_returned_",
    "_factor",
)  # names that no reference uses: what it returns, and {text of a factor: its value}


class Line:
    """A line of a reference. `code` runs it; `variants` are the code with one Change in it, `pairs`
    with two usual ones.

    tree: its statement. name: what it makes, for the learner. names: those that may be in the line.
    means, factors: as in `formula`, `lines_of`.
    """

    def __init__(self, tree, name, names, means, factors):
        self.tree, self.name, self.code = tree, name, _compiled(tree)
        self.names, self.means, self.factors = names, means, factors
        self._known: dict[
            int, tuple[ast.AST, list[Change]]
        ] = {}  # {id of a node: (the node, its changes)}
        self.is_returned = isinstance(tree, ast.Assign) and ast.unparse(tree.targets[0]).startswith(
            RETURNED
        )
        self.in_place = not (
            isinstance(tree, ast.Assign) and isinstance(tree.targets[0], (ast.Name, ast.Tuple))
        )

    @cached_property
    def variants(self) -> list[Change]:
        made = [*of_statement(self.tree, self._changes)]
        if self.in_place:
            said = _("this line is missing: {line}").format(line=ast.unparse(self.tree))
            made.append(Change(said, ast.Pass()))
        if isinstance(self.tree, ast.Assign):
            made += map(self._with, self._superfluous())
        return [one._replace(node=_compiled(one.node)) for one in made]

    @cached_property
    def pairs(self) -> list[Change]:
        made = twice(
            self.tree.value,
            lambda node: (change for change in self._changes(node) if change.rank < RARE),
        )
        return [one._replace(node=_compiled(self._with(one).node)) for one in made]

    def _changes(self, node) -> list[Change]:
        """The changes of a node of this line, with the line's name in each sentence. Pairs ask for
        those of the same node often. A name that is all of a value has none: `_superfluous` says
        more.
        """
        if node is self.tree.value and isinstance(node, ast.Name):
            return []
        if id(node) not in self._known:
            self._known[id(node)] = (
                node,
                [
                    change
                    if change.sentence.startswith(f"{self.name} ")
                    else change._replace(
                        sentence=_("in {name}, {what}").format(name=self.name, what=change.sentence)
                    )
                    for change in changes(node, self.names, self.means)
                ],
            )
        return self._known[id(node)][1]

    def _superfluous(self) -> Iterator[Change]:
        """The line's value with a factor, a term or a function that does not belong there, or
        another value in its place.
        """
        for factor in self.factors:
            scale = filled(
                "value * scale", value=self.tree.value, scale=expression(f"{FACTOR}[{factor!r}]")
            )
            yield Change(scaled(self.name, factor), scale, NAME if factor == "-1" else RARE)
        for other in [
            name
            for name in (*self.names, "1")
            if formula(expression(name), self.means) != self.name
        ]:
            for wrong, text in (
                ("+", _("in {name}, {other} is added")),
                ("-", _("in {name}, {other} is subtracted")),
            ):
                said = text.format(name=self.name, other=formula(expression(other), self.means))
                yield Change(said, filled(f"value {wrong} {other}", value=self.tree.value), RARE)
            if other != "1":
                yield Change(
                    _("{name} is {other}, which is only on the way to it").format(
                        name=self.name, other=formula(expression(other), self.means)
                    ),
                    expression(other),
                    NAME,
                )

    def _with(self, change) -> Change:
        """The line with another value."""
        return change._replace(node=with_part(self.tree, "value", change.node))


def scaled(name, factor) -> str:
    """The sentence about an array that is a factor times what it should be."""
    if factor == "-1":
        return _("{name} has the wrong sign").format(name=name)
    if factor == "0":
        return _("{name} is 0 everywhere").format(name=name)
    return _("{name} is {factor} times what is expected").format(name=name, factor=factor)


@lru_cache(maxsize=2)
def lines_of(exercise, factors, source="") -> list[Line]:
    """The lines of the exercise's reference; each array that it returns is a line of its own,
    RETURNED with its number.

    factors: numbers, as text, by which a line could be multiplied once too often. source: the
    learner's code, if that is known.
    """
    body = [
        line
        for line in ast.parse(exercise.source.replace("np.empty", "np.zeros")).body[-1].body
        if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
    ]
    returned = body.pop().value
    given = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    last = [
        ast.Assign([ast.Name(f"{RETURNED}{k}", ast.Store())], value)
        for k, value in enumerate(given)
    ]
    means = _means(exercise, body, source)
    names, made = dict.fromkeys(exercise.parameters), []
    of_body = (
        (line, _name(line, means, body[i + 1 :], exercise.returns)) for i, line in enumerate(body)
    )
    for line, name in [*of_body, *zip(last, exercise.returns)]:
        made.append(Line(line, name, list(names), means, factors))
        names |= {
            node.id: None
            for node in ast.walk(line)
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and not node.id.startswith(RETURNED)
        }
    return made


def _part_of(line) -> str | None:
    """The array of which the line makes a part: "PE" of PE[:, 0::2] = ...; None if it makes
    something else.
    """
    target = line.targets[0] if isinstance(line, ast.Assign) else None
    return ast.unparse(target.value) if isinstance(target, ast.Subscript) else None


def _means(exercise, body, source) -> dict[str, ast.expr]:
    """{name: expression} of the reference's own names, those that the learner neither wrote nor was
    told.
    """
    assigned = [
        (line.targets[0].id, line.value, body[:i] + body[i + 1 :])
        for i, line in enumerate(body)
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
    ]
    known = exercise.known_words(source)
    return {
        name: value
        for name, value, others in assigned
        if name not in known and not _is_changed(others, name)
    }


def _is_changed(lines, name) -> bool:
    """Whether one of the lines makes the name anew, or changes it in place."""
    return any(
        name
        in (
            _part_of(line),
            ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.value.args[0]),
        )
        for line in lines
    )


def _name(line, means, rest, returns) -> str:
    """What a line is called: the name of what it makes, or its right side if the learner was not
    told that name.

    So is a part of what is returned: if the rest adds to dE, its first line does not make dE.
    """
    if not isinstance(line, ast.Assign):  # np.add.at(dE, target, ...)
        return "{}[{}]".format(*map(ast.unparse, line.value.args))
    target = ast.unparse(line.targets[0])
    text = formula(line.value, means)
    text = ast.unparse(line.value) if text.isidentifier() else text
    hidden = target in means or (target in returns and _is_changed(rest, target))
    return text if hidden and len(text) <= LONGEST else target


def _compiled(line) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 1[None] makes no sense, but does no harm
        return compile(ast.fix_missing_locations(ast.Module([line], [])), "reference", "exec")
