"""Expressions of a reference as syntax trees: which pattern they match, and what they become with a
change in them.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

# Ranks: if several changes give the same numbers, the one with the lowest rank is named. Two
# changes at once must be below RARE.
WHOLE, USUAL, NAME, RARE = range(4)
LIBRARIES = {"np", "math"}


class Change(NamedTuple):
    """A wrong expression in place of a right one, or the code of a wrong line."""

    sentence: str  # what is wrong, for the learner
    node: Any
    rank: int = USUAL


@cache
def expression(code) -> ast.expr:
    return ast.parse(code, mode="eval").body


def match(pattern, node) -> dict[str, ast.expr] | None:
    """{letter: expression} if the node has the form of the pattern, in which a single letter is any
    expression; otherwise None.

    A letter that occurs twice is the same expression twice. The letter m is any expression but a
    number or a transposed one; `np` and `math` are alike.
    """
    if isinstance(pattern, ast.Name):
        if len(pattern.id) > 1:
            return (
                {}
                if isinstance(node, ast.Name)
                and (node.id == pattern.id or {node.id, pattern.id} <= LIBRARIES)
                else None
            )
        return (
            None
            if pattern.id == "m" and (isinstance(node, ast.Constant) or _is_transposed(node))
            else {pattern.id: node}
        )
    if type(pattern) is not type(node) or not isinstance(pattern, (ast.AST, list)):
        return {} if pattern == node else None
    wanted, there = (
        one if isinstance(one, list) else [value for _field, value in ast.iter_fields(one)]
        for one in (pattern, node)
    )
    if len(wanted) != len(there):
        return None
    found: dict[str, ast.expr] = {}
    for one, other in zip(wanted, there):
        inner = match(one, other)
        if inner is None or any(
            ast.dump(found[letter]) != ast.dump(inner[letter]) for letter in found.keys() & inner
        ):
            return None
        found |= inner
    return found


def fill(template, parts) -> ast.expr:
    """The template with `parts`, {name: expression}, in the places of these names."""
    if isinstance(template, ast.Name) and template.id in parts:
        return parts[template.id]
    for part, put in parts_of(template):
        new = fill(part, parts)
        if new is not part:
            template = put(template, new)
    if (
        isinstance(template, ast.BinOp)
        and isinstance(template.left, ast.Constant)
        and isinstance(template.op, (ast.Add, ast.Sub))
    ):
        return (
            ast.Constant(eval(ast.unparse(template)))
            if isinstance(template.right, ast.Constant)
            else template
        )  # 0 + 1 is 1
    return template


def filled(form, **parts) -> ast.expr:
    """The expression that is written in `form`, with these parts in the places of their names."""
    return fill(expression(form), parts)


def once(node, changes) -> Iterator[Change]:
    """The node with one change, in itself or anywhere within. changes(node): the Changes of a node
    as a whole.
    """
    yield from changes(node)
    yield from _within(node, changes)


def twice(node, changes) -> Iterator[Change]:
    """The node with two changes in different places, the outer one or the left one first."""
    parts = parts_of(node)
    for outer in changes(node):
        left_over = any(
            outer.node is part for part, _put in parts
        )  # b of a * b, which may be changed as a whole
        yield from (
            _both(outer, inner) for inner in (once if left_over else _within)(outer.node, changes)
        )
    for i, (part, put) in enumerate(parts):
        yield from (pair._replace(node=put(node, pair.node)) for pair in twice(part, changes))
        for left in once(part, changes) if i + 1 < len(parts) else ():
            changed = put(node, left.node)
            for other, put_other in parts[i + 1 :]:
                yield from (
                    _both(left, right._replace(node=put_other(changed, right.node)))
                    for right in once(other, changes)
                )


def names_in(node) -> set[str]:
    """The names that an expression or a statement reads or makes."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def index_of(node) -> list[ast.expr]:
    """The parts of the index of x[...]: `:` and `1` of x[:, 1]."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def with_index(node, parts) -> ast.Subscript:
    """x[...] with an index of these parts."""
    index = ast.Tuple(parts, ast.Load()) if len(parts) != 1 else parts[0]
    return ast.Subscript(node.value, index, node.ctx)


def parts_of(node) -> list[tuple[ast.AST, Callable]]:
    """[(part, put)] of the parts of a node; put(node, new) is the node with another part in its
    place. What a comprehension runs over is none of them: changed, it might run for hours.
    """
    parts: list[tuple[ast.AST, Callable]] = []
    if isinstance(node, ast.Attribute) and node.attr == "shape":  # x.shape[0] is changed as a whole
        return parts
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            parts.append((value, lambda node, new, field=field: with_part(node, field, new)))
        elif isinstance(value, list):
            parts += [
                (
                    one,
                    lambda node, new, field=field, i=i: with_part(
                        node,
                        field,
                        [*getattr(node, field)[:i], new, *getattr(node, field)[i + 1 :]],
                    ),
                )
                for i, one in enumerate(value)
                if isinstance(one, (ast.expr, ast.keyword))
            ]
    return parts


def _within(node, changes) -> Iterator[Change]:
    for part, put in parts_of(node):
        yield from (change._replace(node=put(node, change.node)) for change in once(part, changes))


def _both(first, second) -> Change:
    return Change(f"{first.sentence}; {second.sentence}", second.node, first.rank + second.rank)


def with_part(node, field, value) -> ast.AST:
    changed = copy.copy(node)
    setattr(changed, field, value)
    return changed


def _is_transposed(node) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "T") or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "swapaxes"
    )
