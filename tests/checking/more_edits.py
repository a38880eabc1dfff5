"""The changes of a formula that tests/mutants.py lacks: a missing term or factor, a sign, operands and names that are swapped."""

import ast
from itertools import chain, pairwise

from tests.mutants import code_of, edits_of, span

NOT_COMMUTATIVE = {ast.Sub: "-", ast.Div: "/", ast.MatMult: "@"}


def formula_edits(tree, lines):
    """((line, column), (line, column), new text) of every change that is tried."""
    yield from edits_of(tree, lines)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in chain.from_iterable(map(code_of, function.body)):
                yield from _of_an_expression(node)
            yield from _swapped_names(function)


def _of_an_expression(node):
    def text(part):
        return f"({ast.unparse(part)})" if isinstance(part, (ast.BinOp, ast.IfExp)) else ast.unparse(part)

    if isinstance(node, ast.BinOp):
        start, stop = span(node)
        if not isinstance(node.op, ast.MatMult):    # a term or a factor is missing
            yield start, stop, text(node.left)
            yield start, stop, text(node.right)
        if type(node.op) in NOT_COMMUTATIVE:
            yield start, stop, f"({text(node.right)} {NOT_COMMUTATIVE[type(node.op)]} {text(node.left)})"
    elif isinstance(node, (ast.AugAssign, ast.Return)) and node.value and not isinstance(node.value, ast.Tuple):
        yield from _scaled(node.value)
    elif isinstance(node, ast.Assign):
        (target,) = node.targets
        if isinstance(target, ast.Name) and any(isinstance(x, ast.Name) and x.id == target.id for x in ast.walk(node.value)):
            yield *span(node), "pass"    # x = f(x)
        if isinstance(target, ast.Name) and not isinstance(node.value, ast.Constant):
            yield from _scaled(node.value)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for left, right in pairwise(node.elts):
            yield span(left)[0], span(right)[1], f"{ast.unparse(right)}, {ast.unparse(left)}"
        for part in node.elts:
            yield from _scaled(part)
    elif isinstance(node, ast.Call):
        for left, right in pairwise(node.args):
            yield span(left)[0], span(right)[1], f"{ast.unparse(right)}, {ast.unparse(left)}"
    elif isinstance(node, ast.Slice) and (node.lower is None) != (node.upper is None) and node.step is None:
        yield *span(node), f":{text(node.lower)}" if node.lower else f"{text(node.upper)}:"


def _scaled(value):
    yield *span(value), f"-({ast.unparse(value)})"
    yield *span(value), f"2 * ({ast.unparse(value)})"


def _swapped_names(function):
    """Each local variable, and each field of one, is read in the place of the one that was first read before it."""
    read = [node for node in chain.from_iterable(map(code_of, function.body))
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)]
    local = {argument.arg for argument in function.args.args} | {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    groups = {}
    for node in sorted((node for node in read if id(node) not in called), key=lambda node: span(node)[0]):
        if isinstance(node, ast.Name) and node.id in local - {"self", "xp", "cache"}:
            groups.setdefault("", []).append((node, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            groups.setdefault(node.value.id, []).append((node, node.attr))
    for found in groups.values():
        names = list(dict.fromkeys(name for _, name in found))
        for node, name in found:
            new = names[names.index(name) - 1]
            if new != name:
                stop = span(node)[1]
                yield (stop[0], stop[1] - len(name)), stop, new
