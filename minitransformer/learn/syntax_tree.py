"""Pieces of a syntax tree, and what a change of one of them is."""

import ast
from typing import NamedTuple

# Ranks: if several changes give the same numbers, the one with the lowest rank is named. Two changes at once must be below RARE.
WHOLE, USUAL, NAME, RARE = range(4)


class Change(NamedTuple):
    """A wrong expression in place of a right one."""

    sentence: str         # what is wrong, for the learner
    node: ast.expr        # the wrong expression
    rank: int = USUAL


def binary(left, operator, right) -> ast.BinOp:
    """`left operator right`, such as `a - b` for ast.Sub."""
    return ast.BinOp(left, operator(), right)


def plus(node, step) -> ast.BinOp:
    """`node + step`, or `node - 1` for -1."""
    return binary(node, ast.Add if step > 0 else ast.Sub, ast.Constant(abs(step)))


def inverted(node) -> ast.UnaryOp:
    """`~node`."""
    return ast.UnaryOp(ast.Invert(), node)


def call(of, name, *args, **keywords) -> ast.Call:
    """`of.name(*args, **keywords)`."""
    return ast.Call(ast.Attribute(of, name, ast.Load()), list(args), [ast.keyword(key, value) for key, value in keywords.items()])


def call_like(node, of, name) -> ast.Call:
    """`of.name(...)` with the arguments of the call `node`."""
    return ast.Call(ast.Attribute(of, name, ast.Load()), node.args, node.keywords)


def numpy(name, *args) -> ast.Call:
    """`np.name(*args)`."""
    return call(ast.Name("np", ast.Load()), name, *args)


def over_axis(node, axis) -> ast.Call:
    """The call `node` with another `axis=`."""
    keywords = [ast.keyword("axis", ast.Constant(axis)) if one.arg == "axis" else one for one in node.keywords]
    return ast.Call(node.func, node.args, keywords)


def transposed(node) -> ast.Call:
    """`node.swapaxes(-1, -2)`."""
    return call(node, "swapaxes", ast.Constant(-1), ast.Constant(-2))


def is_transposed(node) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "T") or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "swapaxes")


def is_sum(node) -> bool:
    """Whether it is a sum or a difference."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


def is_reduction(node) -> bool:
    """Whether it is the sum, mean or max of an array."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean", "max")
