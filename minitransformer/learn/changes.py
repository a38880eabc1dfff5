"""What people get wrong in an expression: another name, another size, another condition. Each is a change of the syntax tree."""

import ast
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, TypeGuard

from minitransformer.learn.changes_of_calls import of_call
from minitransformer.learn.changes_of_operators import of_unary, of_binary
from minitransformer.learn.formula import formula
from minitransformer.learn.messages import _
from minitransformer.learn.syntax_tree import NAME, RARE, USUAL, Change, binary, inverted, is_reduction, plus

OPPOSITE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


def changes(node, names, means) -> Iterator[Change]:
    """The Changes of one node of a syntax tree.

    names: {what else could stand where a name stands: "i" of whole numbers and masks, "f" of others}. means: as in `formula`.
    """
    def say(text, **parts) -> str:
        """The text with the parts in it, nodes in the notation of the chapters."""
        return text.format(**{key: formula(part, means) if isinstance(part, ast.AST) else part for key, part in parts.items()})

    if isinstance(node, ast.Name):
        yield from of_name(node, names, say)
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(".shape"):
        yield from of_size(node, names, say)
    elif type(node) in OF:
        yield from OF[type(node)](node, say)
    if is_reduction(node):
        for other in names:
            yield Change(say(_("{a} is multiplied by {other}, which does not belong there"), a=node, other=ast.Name(other)),
                         binary(node, ast.Mult, ast.Name(other, ast.Load())), RARE)


def of_name(node, names, say) -> Iterator[Change]:
    """Of x: another name, or x with something done to it."""
    if not isinstance(node.ctx, ast.Load) or node.id not in names:
        return
    others = [ast.Name(other, ast.Load()) for other in names if other != node.id and names[other] == names[node.id]]
    for other in others:
        yield Change(say(_("{other} stands in place of {a}"), other=other, a=node), other, NAME)
    yield Change(say(_("{a} is the wrong way round"), a=node), inverted(node), RARE)
    yield Change(say(_("{a} is squared"), a=node), binary(node, ast.Mult, node), RARE)
    yield Change(say(_("1 is added to {a}"), a=node), plus(node, 1), RARE)
    yield Change(say(_("1 is subtracted from {a}"), a=node), plus(node, -1), RARE)
    yield Change(say(_("1 stands in place of {a}"), a=node), ast.Constant(1), RARE)
    yield Change(say(_("1 - {a} stands in place of {a}"), a=node), binary(ast.Constant(1), ast.Sub, node), RARE)
    for other in others:
        yield Change(say(_("{a} is multiplied by {other}, which does not belong there"), other=other, a=node),
                     binary(node, ast.Mult, other), RARE)
        yield Change(say(_("{a} is divided by {other}, which does not belong there"), other=other, a=node),
                     binary(node, ast.Div, other), RARE)


def of_size(node, names, say) -> Iterator[Change]:
    """Of x.shape[-1]: another axis, or another array."""
    for name in dict.fromkeys([node.value.value.id, *names]):
        for axis in (-1, -2, 0, 1, 2):
            other = ast.Subscript(ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load()), ast.Constant(axis), ast.Load())
            if ast.unparse(other) != ast.unparse(node):
                yield Change(say(_("{other} stands in place of {a}"), other=ast.unparse(other), a=ast.unparse(node)), other, NAME)


def of_number(node, say) -> Iterator[Change]:
    """Of 0.5: another number."""
    number = node.value
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        for value in dict.fromkeys([0, 1, 2, number + 1, number - 1, number * 2, number / 2, number * 10, number / 10, -number]):
            if value != number:
                yield Change(say(_("{other} stands in place of {a}"), other=f"{value:g}", a=f"{number:g}"),
                             ast.Constant(type(number)(value) if value == int(value) else value), RARE)


def of_comparison(node, say) -> Iterator[Change]:
    """Of a < b: another sign, or the limit one or two off."""
    left, (right,), kind = node.left, node.comparators, type(node.ops[0])
    for other in (OPPOSITE[kind], *(one for one in OPPOSITE if one not in (kind, OPPOSITE[kind]))):
        changed = ast.Compare(left, [other()], [right])
        yield Change(say(_("the condition is {other}, not {a}"), other=changed, a=node), changed)
    for step in (1, -1, 2, -2):
        limit = ast.Constant(right.value + step) if _is_number(right) else plus(right, step)
        changed = ast.Compare(left, node.ops, [limit])
        yield Change(say(_("the condition is {other}, not {a}"), other=changed, a=node), changed, NAME if abs(step) == 1 else RARE)


def of_index(node, say) -> Iterator[Change]:
    """Of x[:, 1:], another slice; of x[:, None], another place of the new axis."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, part in enumerate(parts):
        others = []
        if isinstance(part, ast.Slice):
            others = [[*parts[:i], slice_, *parts[i + 1:]] for slice_ in _slices(part)]
        elif isinstance(part, ast.Constant) and part.value is None:
            rest = [*parts[:i], *parts[i + 1:]]
            others = [[*rest[:place], part, *rest[place:]] for place in range(len(parts)) if place != i] + [rest]
        for elements in others:
            new = ast.Subscript(node.value, ast.Tuple(elements, ast.Load()) if len(elements) != 1 else elements[0], node.ctx)
            if ast.unparse(new) != ast.unparse(node):
                yield Change(say(_("{other} stands in place of {a}"), other=ast.unparse(new), a=ast.unparse(node)), new,
                             USUAL if isinstance(part, ast.Slice) and part.step else RARE)


def _slices(part) -> Iterator[ast.Slice]:
    """Other slices: 1: in place of 0:, and so on."""
    lower, upper, step = part.lower, part.upper, part.step
    if lower or upper or step:
        first = lower.value if _is_number(lower) else 0
        for other in (first + 1, first - 1):
            if other >= 0:
                yield ast.Slice(ast.Constant(other), upper, step)
        if upper:
            yield ast.Slice(lower, None, step)
            yield ast.Slice(lower, plus(upper, -1), step)


def of_attribute(node, say) -> Iterator[Change]:
    """Of x.T: x."""
    if node.attr == "T":
        yield Change(say(_("{a} is not transposed"), a=node.value), node.value)


def of_tuple(node, say) -> Iterator[Change]:
    """Of a, b: b, a."""
    if isinstance(node.ctx, ast.Load):
        for i, j in combinations(range(len(node.elts)), 2):
            elements = list(node.elts)
            elements[i], elements[j] = elements[j], elements[i]
            yield Change(say(_("{a} and {b} are exchanged"), a=node.elts[i], b=node.elts[j]), ast.Tuple(elements, node.ctx))


def _is_number(node) -> TypeGuard[Any]:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


OF: dict[type[ast.expr], Callable[..., Iterator[Change]]] = {
    ast.BinOp: of_binary, ast.UnaryOp: of_unary, ast.Compare: of_comparison, ast.Call: of_call, ast.Subscript: of_index,
    ast.Constant: of_number, ast.Attribute: of_attribute, ast.Tuple: of_tuple}
