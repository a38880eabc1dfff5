"""Mistakes that nobody listed: the reference with one change, such as another axis, another sign, or a factor left out."""

import ast
import copy
import math

import numpy as np

from minitransformer.learn.messages import _

OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def changed(exercise):
    """[(sentence, function)]: each is the reference with one change; two of them may have the same sentence."""
    tree = ast.parse(exercise.source)
    found = []
    for place, node in enumerate(ast.walk(tree)):
        for sentence, change in _changes(node):
            copied = copy.deepcopy(tree)
            target = list(ast.walk(copied))[place]
            found.append((sentence, _function(exercise, _Replace(target, change(target)).visit(copied))))
    axes = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "axis"]
    for axis in (0, -2, None) if len(axes) > 1 else ():
        for keyword in axes:
            keyword.value = ast.Constant(axis)
        found.append((_("all sums, means and maxima run over the wrong axis"), _function(exercise, tree)))
    return found


def misnamed(exercise):
    """[(sentence, function)]: each is the reference with another of its names in one place."""
    tree = ast.parse(exercise.source)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    names = {node.arg: None for node in ast.walk(function) if isinstance(node, ast.arg)}
    names |= {node.id: None for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = []
    for line in function.body:
        target = ast.unparse(line.targets[0]) if isinstance(line, ast.Assign) else _("what is returned")
        for node in ast.walk(line):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
                right = node.id
                for node.id in names.keys() - {right}:
                    sentence = _("in {target}, {other} stands in place of {right}")
                    found.append((sentence.format(target=target, other=node.id, right=right), _function(exercise, tree)))
                node.id = right
    return found


def _function(exercise, tree):
    """The exercise's function as the tree defines it."""
    namespace = {"np": np, "math": math}
    exec(compile(ast.fix_missing_locations(tree), str(exercise.path), "exec"), namespace)
    return namespace[exercise.name]


class _Replace(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def _changes(node):
    """(sentence, function of the node that returns another one in its place)."""
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        sentences = {
            ast.Add: (_("{right} is subtracted, not added"), _("the term {right} is missing"), _("the term {left} is missing")),
            ast.Sub: (_("{right} is added, not subtracted"), _("the term - {right} is missing"), _("the term {left} is missing")),
            ast.Mult: (_("{left} is divided by {right}, not multiplied"), _("the factor {right} is missing"), _("the factor {left} is missing")),
            ast.Div: (_("{left} is multiplied by {right}, not divided"), _("the division by {right} is missing"), None)}
        other, without_right, without_left = (one and one.format(left=left, right=right) for one in sentences[type(node.op)])
        yield other, lambda node: ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
        yield without_right, lambda node: node.left
        if without_left:
            yield without_left, lambda node: ast.UnaryOp(ast.USub(), node.right) if isinstance(node.op, ast.Sub) else node.right
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield _("{text} is not transposed").format(text=ast.unparse(node.value)), lambda node: node.value
    if isinstance(node, ast.Compare):
        for kind in COMPARISONS:
            if not isinstance(node.ops[0], kind):
                yield (_("the condition is another one than {text}").format(text=text),
                       lambda node, kind=kind: ast.Compare(node.left, [kind()], node.comparators))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean", "max"):
        of, name = ast.unparse(node.func.value), node.func.attr
        for axis in (0, -1, -2, None):
            if any(keyword.arg == "axis" for keyword in node.keywords):
                yield _("the {name} of {of} runs over the wrong axis").format(name=name, of=of), lambda node, axis=axis: _over(node, axis)
        if name != "max":
            other = {"sum": "mean", "mean": "sum"}[name]
            yield (_("the {name} of {of} became a {other}").format(name=name, of=of, other=other),
                   lambda node, other=other: ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords))


def _over(call, axis):
    """The same call over another axis."""
    keywords = [ast.keyword("axis", ast.Constant(axis)) if one.arg == "axis" else one for one in call.keywords]
    return ast.Call(call.func, call.args, keywords)
