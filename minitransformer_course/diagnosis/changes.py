"""Changes to one expression: those that the rules make, and those that depend on the names around
it or on its numbers.

A sentence shows an expression in the notation of the chapters: `x.T @ dy` is x^T dy.
"""

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

from minitransformer_course.messages import _
from minitransformer_course.diagnosis.rules import rules
from minitransformer_course.diagnosis.syntax_tree import (
    NAME,
    RARE,
    USUAL,
    Change,
    expression,
    fill,
    filled,
    index_of,
    match,
    once,
    parts_of,
    with_index,
    with_part,
)

Found = Iterator[
    tuple[str, ast.expr, int, dict[str, ast.expr]]
]  # sentence, wrong expression, rank, what its letters mean

SIGNS = {
    ast.Add: " + ",
    ast.Sub: " - ",
    ast.Mult: " ",
    ast.MatMult: " ",
    ast.Div: " / ",
    ast.Pow: "^",
    ast.BitAnd: " & ",
    ast.BitOr: " | ",
    ast.BitXor: " ^ ",
}
# How tightly a sign binds, as in Python:
BINDS = {
    ast.BitOr: 0,
    ast.BitXor: 0,
    ast.BitAnd: 1,
    ast.Add: 2,
    ast.Sub: 2,
    ast.Mult: 3,
    ast.MatMult: 3,
    ast.Div: 3,
    ast.Pow: 5,
}
TIGHTEST = 9  # for what never needs brackets
LONGEST = 40  # characters of an expression that replaces a name
TRANSPOSED = expression("a.T"), expression("a.swapaxes(-1, -2)")


def changes(node, names, means) -> Iterator[Change]:
    """The Changes of one node of a syntax tree.

    names: what could replace a name. means: as in `formula`.
    """
    of_rules = (
        (sentence, wrong, rank, parts)
        for pattern, wrong, sentence, rank in rules()
        if (parts := match(pattern, node)) is not None
    )
    for sentence, wrong, rank, parts in (*_of_this(node, names), *of_rules):
        changed = fill(wrong, parts)
        if ast.dump(changed) != ast.dump(node):
            shown = {
                key: formula(part, means)
                for key, part in {**parts, "all": node, "wrong": changed}.items()
                if f"{{{key}}}" in sentence
            }
            yield Change(sentence.format(**shown), changed, rank)


def of_statement(statement, of_expression) -> Iterator[Change]:
    """A statement with one Change in what it computes, or in the place of an array that it writes
    into.

    of_expression(node): the Changes of an expression as a whole.
    """
    for part, put in parts_of(statement):
        found = once(part, of_expression)
        if isinstance(getattr(part, "ctx", None), ast.Store):
            found = _of_place(part, of_expression)
        yield from (change._replace(node=put(statement, change.node)) for change in found)


def _of_place(node, of_expression) -> Iterator[Change]:
    if isinstance(node, ast.Subscript):
        yield from of_expression(node)
        for change in once(node.slice, of_expression):
            yield change._replace(node=with_part(node, "slice", change.node))


def _of_this(node, names) -> Found:
    if (
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) in names
    ):
        yield from _of_name(node, names)
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(".shape"):
        for name in dict.fromkeys([ast.unparse(node.value).removesuffix(".shape"), *names]):
            for axis in (-1, -2, 0, 1, 2):
                yield (
                    _("{wrong} is used where {all} belongs"),
                    expression(f"{name}.shape[{axis}]"),
                    NAME,
                    {},
                )
        for size in (64, 512):  # as in the paper
            yield _("{wrong} is used where {all} belongs"), expression(f"{size}"), RARE, {}
    elif isinstance(node, ast.Subscript):
        yield from _of_index(node)
    elif _is_number(node):
        yield from _of_number(node.value)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("sum", "mean", "max")
    ):
        for other in names:
            yield (
                _("{a} is multiplied by {b}: that factor does not belong there"),
                expression("a * b"),
                RARE,
                {"a": node, "b": expression(other)},
            )


def _of_name(node, names) -> Found:
    """For x: another name, or x with something done to it."""
    others = [expression(other) for other in names if other != ast.unparse(node)]
    for other in others:
        yield _("{wrong} is used where {all} belongs"), other, NAME, {}
    for wrong, sentence in (
        ("~a", _("{a} is the wrong way round")),
        ("a * a", _("{a} is squared")),
        ("a + 1", _("1 is added to {a}")),
        ("a - 1", _("1 is subtracted from {a}")),
        ("1", _("1 is used where {a} belongs")),
        ("1 - a", _("1 - {a} is used where {a} belongs")),
        (
            "a / np.sqrt(np.shape(a)[-1])",
            _(
                "{a} is divided by the square root of its width: that division does not belong there"
            ),
        ),
    ):
        yield sentence, expression(wrong), RARE, {"a": node}
    for other in others:
        for wrong, sentence in (
            ("a * b", _("{a} is multiplied by {b}: that factor does not belong there")),
            ("a / b", _("{a} is divided by {b}: that division does not belong there")),
        ):
            yield sentence, expression(wrong), RARE, {"a": node, "b": other}


def _of_number(number) -> Found:
    """For 0.5: another number."""
    for value in dict.fromkeys(
        [0, 1, 2, number + 1, number - 1, number * 2, number / 2, number * 10, number / 10, -number]
    ):
        other = ast.Constant(type(number)(value) if value == int(value) else value)
        counted = (
            isinstance(number, int) and min(number, value) > 0 and abs(number - value) == 1
        )  # one too many, or too few
        yield _("{wrong} is used where {all} belongs"), other, NAME if counted else RARE, {}


def _of_index(node) -> Found:
    """For x[:, 1:], another slice; for x[:, None], another place of the new axis; for x[1], another
    index.
    """
    parts = index_of(node)
    for i, part in enumerate(parts):
        others, rest = [], [*parts[:i], *parts[i + 1 :]]
        if isinstance(part, ast.Slice):
            others = [[*parts[:i], slice_, *parts[i + 1 :]] for slice_ in _slices(part)]
        elif isinstance(part, ast.Constant) and part.value is None:
            others = [
                [*rest[:place], part, *rest[place:]] for place in range(len(parts)) if place != i
            ] + [rest]
        elif _is_number(part):
            others = [
                [*parts[:i], ast.Constant(other), *parts[i + 1 :]]
                for other in (part.value - 1, part.value + 1)
                if other >= 0
            ]
        for elements in others:
            rank = USUAL if isinstance(part, ast.Slice) and part.step else RARE
            wrong = with_index(node, elements)
            yield _("{wrong} is used where {all} belongs"), wrong, rank, {}


def _slices(part) -> Iterator[ast.Slice]:
    """Other slices, such as 1: in place of 0:."""
    lower, upper, step = part.lower, part.upper, part.step
    if lower or upper or step:
        first = lower.value if _is_number(lower) else 0
        for other in (first + 1, first - 1):
            if other >= 0:
                yield ast.Slice(ast.Constant(other), upper, step)
        if upper:
            yield ast.Slice(lower, None, step)
            yield ast.Slice(lower, filled("a - 1", a=upper), step)


def _is_number(node) -> TypeGuard[Any]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    )


def formula(node, means) -> str:
    """The expression as the chapters write it.

    means: {name: the expression that it stands for}, for names that only the reference has.
    """
    return _written(node, means)[0]


def _written(node, means) -> tuple[str, int]:
    """(text, how tightly its outermost sign binds)."""
    if isinstance(node, ast.Name) and node.id in means:
        text, binds = _written(
            means[node.id], {name: value for name, value in means.items() if name != node.id}
        )
        return (text, binds) if len(text) <= LONGEST else (node.id, TIGHTEST)
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        binds = BINDS[type(node.op)]
        associative = isinstance(
            node.op, (ast.Add, ast.MatMult)
        )  # a + (b + c) needs no brackets, a - (b + c) does
        left, right = (
            _bracketed(node.left, means, binds),
            _bracketed(node.right, means, binds if associative else binds + 1),
        )
        return left + SIGNS[type(node.op)] + right, binds
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + _bracketed(node.operand, means, 3), 3
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return "not " + _bracketed(node.operand, means, 4), 2
    for transposed in TRANSPOSED:
        if parts := match(transposed, node):
            return _bracketed(parts["a"], means, 6) + "^T", 6
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of, name = node.func.value, node.func.attr
        if name in ("reshape", "astype", "copy"):
            return _written(of, means)
        if name in ("sum", "mean", "max", "any", "all"):
            return f"{name}({formula(of, means)})", TIGHTEST
        if isinstance(of, ast.Name) and of.id in ("np", "math"):
            return f"{name}({', '.join(formula(one, means) for one in node.args)})", TIGHTEST
    alone = isinstance(node, (ast.Name, ast.Constant, ast.Subscript, ast.Call, ast.Attribute))
    return ast.unparse(node), TIGHTEST if alone else 0


def _bracketed(node, means, binds) -> str:
    """The expression, in brackets if its outermost sign binds less tightly than `binds`."""
    text, own = _written(node, means)
    return text if own >= binds else f"({text})"
