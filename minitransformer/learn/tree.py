"""Pieces of a syntax tree, and a change of one: another expression in the place of one."""

import ast
from typing import Any, NamedTuple

WHOLE, USUAL, NAME, RARE = range(4)    # of what gives the same numbers the lowest is named; two mistakes at once are below RARE


class Change(NamedTuple):
    """Another expression in the place of one."""

    sentence: str
    node: Any
    rank: int = USUAL


def two(left, sign, right):
    return ast.BinOp(left, sign(), right)


def moved(node, step):
    return two(node, ast.Add if step > 0 else ast.Sub, ast.Constant(abs(step)))


def inverted(node):
    return ast.UnaryOp(ast.Invert(), node)


def call(of, name, *args, **keywords):
    return ast.Call(ast.Attribute(of, name, ast.Load()), list(args), [ast.keyword(key, value) for key, value in keywords.items()])


def numpy(name, *args):
    return call(ast.Name("np", ast.Load()), name, *args)


def over(call, name, axis="as it is"):
    """The same reduction of another name, or over another axis."""
    keywords = [ast.keyword("axis", ast.Constant(axis)) if one.arg == "axis" and axis != "as it is" else one for one in call.keywords]
    return ast.Call(ast.Attribute(call.func.value, name, ast.Load()), call.args, keywords)


def transposed(node):
    return call(node, "swapaxes", ast.Constant(-1), ast.Constant(-2))


def is_transposed(node):
    return isinstance(node, ast.Attribute) and node.attr == "T" or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "swapaxes")


def is_sum(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


def is_reduction(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean", "max")
