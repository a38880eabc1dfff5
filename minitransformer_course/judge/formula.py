"""An expression of a reference in the notation of the chapters: `x.T @ dy` is x^T dy."""

import ast

SIGNS = {ast.Add: " + ", ast.Sub: " - ", ast.Mult: " ", ast.MatMult: " ", ast.Div: " / ", ast.Pow: "^",
         ast.BitAnd: " & ", ast.BitOr: " | ", ast.BitXor: " ^ "}
# How tightly a sign binds, as in Python:
BINDS = {ast.BitOr: 0, ast.BitXor: 0, ast.BitAnd: 1, ast.Add: 2, ast.Sub: 2, ast.Mult: 3, ast.MatMult: 3, ast.Div: 3, ast.Pow: 5}
TIGHTEST = 9    # for what never needs brackets
LONGEST = 40    # characters of an expression that replaces a name


def formula(node, means=None) -> str:
    """The expression as the chapters write it.

    means: {name: the expression that it stands for}, for names that only the reference has.
    """
    return _written(node, means or {})[0]


def _written(node, means) -> tuple[str, int]:
    """(text, how tightly its outermost sign binds)."""
    if isinstance(node, ast.Name) and node.id in means:
        text, binds = _written(means[node.id], {name: value for name, value in means.items() if name != node.id})
        return (text, binds) if len(text) <= LONGEST else (node.id, TIGHTEST)
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        binds = BINDS[type(node.op)]
        associative = isinstance(node.op, (ast.Add, ast.MatMult))    # a + (b + c) needs no brackets, a - (b + c) does
        left, right = _bracketed(node.left, means, binds), _bracketed(node.right, means, binds if associative else binds + 1)
        return left + SIGNS[type(node.op)] + right, binds
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + _bracketed(node.operand, means, 3), 3
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return "not " + _bracketed(node.operand, means, 4), 2
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return _bracketed(node.value, means, 6) + "^T", 6
    if _swaps_last_two(node):
        return _bracketed(node.func.value, means, 6) + "^T", 6
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


def _swaps_last_two(node) -> bool:
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "swapaxes"
            and [ast.unparse(one) for one in node.args] == ["-1", "-2"])
