"""What people get wrong in a call: another axis, a mean for a sum, a function left out."""

import ast
from collections.abc import Iterator
from itertools import permutations

from minitransformer.learn.messages import _
from minitransformer.learn.syntax_tree import RARE, USUAL, Change, binary, call, call_like, numpy, over_axis, plus

# What stands in place of what, the most usual first:
ANOTHER = {"sum": ("mean", "max"), "mean": ("sum", "max"), "max": ("min", "mean"), "any": ("all",), "all": ("any",)}
FUNCTIONS = {"exp": ("exp2",), "sqrt": (), "abs": (), "sin": ("cos",), "cos": ("sin",)}


def of_call(node, say) -> Iterator[Change]:
    """Of any call: of a function of NumPy, or of a method of an array."""
    if not isinstance(node.func, ast.Attribute):
        return
    of, name = node.func.value, node.func.attr
    if isinstance(of, ast.Name) and of.id in ("np", "math"):
        yield from of_function(node, name, say)
    elif name in ANOTHER:
        yield from of_reduction(node, of, name, say)
    elif name == "swapaxes":
        yield Change(say(_("the axes of {a} are not swapped"), a=of), of)
        if ast.unparse(node.args[0]) != "-1":
            for order in permutations(range(4)):
                yield Change(say(_("the axes of {a} are put in the order {order}"), a=of, order=order),
                             call(of, "transpose", *map(ast.Constant, order)), RARE)
    elif name == "reshape":
        for i in range(len(node.args) - 1):
            sizes = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2:]]
            yield Change(say(_("{a} is reshaped to ({other}), not to ({sizes})"), a=of, other=", ".join(map(ast.unparse, sizes)),
                             sizes=", ".join(map(ast.unparse, node.args))), call(of, "reshape", *sizes))


def of_function(node, name, say) -> Iterator[Change]:
    """Of np.exp(x): the function left out, or another one."""
    if not node.args:
        return
    a = node.args[0]
    if name in FUNCTIONS:
        yield Change(say(_("{name} is missing: {a} is taken as it is"), name=name, a=a), a)
        if name == "sqrt":
            yield Change(say(_("{a} is squared: its root is needed"), a=a), binary(a, ast.Mult, a), RARE)
        for other in FUNCTIONS[name]:
            yield Change(say(_("{other} of {a} stands in place of {name}"), other=other, name=name, a=a), numpy(other, a))
    if name == "maximum":
        yield Change(say(_("{all} is missing: {a} is taken as it is"), all=node, a=a), a)
        yield Change(say(_("minimum stands in place of {all}"), all=node), numpy("minimum", *node.args))
        yield Change(say(_("the absolute value of {a} stands in place of {all}"), a=a, all=node), numpy("abs", a), RARE)
    if name == "where":
        condition, yes, no = node.args
        yield Change(say(_("the condition {a} is the wrong way round"), a=condition), numpy("where", condition, no, yes))
        yield Change(say(_("the condition {a} is missing"), a=condition), yes)
        for value in (0, 1, -1, -10, 1e-9, -1e9):
            yield Change(say(_("{value} stands in place of {no} where {a} is False"), value=f"{value:g}", a=condition, no=no),
                         numpy("where", condition, yes, ast.Constant(value)), RARE)
    if name == "arange":
        step = ast.unparse(node.args[2]) if len(node.args) > 2 else "1"
        yield Change(say(_("the numbers of {a} begin with {step}"), a=node, step=step), plus(node, int(step)), RARE)
    if name == "zeros_like":
        yield Change(say(_("it begins with ones, not with zeros")), numpy("ones_like", a))


def of_reduction(node, of, name, say) -> Iterator[Change]:
    """Of x.sum(axis=-1): another axis, a mean or a max, the sum left out. `of` is x, `name` is "sum"."""
    axis = next((one.value for one in node.keywords if one.arg == "axis"), None)
    for other in [one for one in (0, -1, -2, 1, None) if ast.unparse(axis) != str(one)] if axis else ():
        yield Change(say(_("the {name} of {a} runs over the wrong axis"), name=name, a=of), over_axis(node, other))
    for only in (-1, 0) if not axis else ():
        yield Change(say(_("the {name} of {a} runs over one axis only"), name=name, a=of), call(of, name, axis=ast.Constant(only)))
    for kind in ANOTHER[name]:
        yield Change(say(_("the {name} of {a} became a {other}"), name=name, other=kind, a=of), call_like(node, of, kind),
                     USUAL if kind == ANOTHER[name][0] else RARE)
    for function, text in (("abs", _("the absolute values of {a} are taken before the {name}")),
                           ("square", _("{a} is squared before the {name}"))):
        yield Change(say(text, name=name, a=of), call_like(node, numpy(function, of), name), RARE)
    yield Change(say(_("{a} is taken as it is, without its {name}"), name=name, a=of), of)
    keeps = [one for one in node.keywords if one.arg == "keepdims"]
    if keeps:
        yield Change(say(_("the {name} of {a} loses its axis: keepdims=True is missing"), name=name, a=of),
                     ast.Call(node.func, node.args, [one for one in node.keywords if one not in keeps]), RARE)
    elif axis:
        yield Change(say(_("the {name} of {a} keeps its axis: keepdims=True is too much"), name=name, a=of),
                     ast.Call(node.func, node.args, [*node.keywords, ast.keyword("keepdims", ast.Constant(True))]), RARE)
    if isinstance(axis, ast.Constant) and axis.value in (0, -1):
        for row, word in ((0, _("first")), (-1, _("last"))):
            index = _slice_of(row) if keeps else ast.Constant(row)
            at = ast.Tuple([ast.Constant(...), index] if axis.value else [index], ast.Load())
            yield Change(say(_("only the {word} of {a} is taken, not the {name} of all"), word=word, name=name, a=of),
                         ast.Subscript(of, at, ast.Load()), RARE)
    if name == "sum" and isinstance(of, ast.BinOp) and isinstance(of.op, ast.Mult):
        yield Change(say(_("the sums of {a} and {b} are multiplied: it has to be the sum of the products"), a=of.left, b=of.right),
                     binary(call_like(node, of.left, "sum"), ast.Mult, call_like(node, of.right, "sum")), RARE)
    if name == "sum":
        yield Change(say(_("the root of the sum of squares of {a} stands in place of its sum"), a=of),
                     numpy("sqrt", call_like(node, binary(of, ast.Mult, of), "sum")), RARE)
    if name == "mean" and axis:
        size = ast.Subscript(ast.Attribute(of, "shape", ast.Load()), axis, ast.Load())
        yield Change(say(_("the mean of {a} is divided by D - 1, not by D"), a=of),
                     binary(call_like(node, of, "sum"), ast.Div, plus(size, -1)), RARE)


def _slice_of(row) -> ast.Slice:
    """`row:row + 1`: the row with its axis kept."""
    return ast.Slice(ast.Constant(row), ast.Constant(row + 1) if row >= 0 else None)
