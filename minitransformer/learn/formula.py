"""An expression of a reference in the notation of the chapters: `x.T @ dy` is x^T dy."""

import ast

SIGNS = {ast.Add: " + ", ast.Sub: " - ", ast.Mult: " ", ast.MatMult: " ", ast.Div: " / ", ast.Pow: "^",
         ast.BitAnd: " & ", ast.BitOr: " | ", ast.BitXor: " ^ "}
BINDS = {ast.BitOr: 0, ast.BitXor: 0, ast.BitAnd: 1, ast.Add: 2, ast.Sub: 2, ast.Mult: 3, ast.MatMult: 3, ast.Div: 3, ast.Pow: 5}
LONGEST = 40    # of the expression that stands for a name


def formula(node, means=None):
    """means: {name: the expression that it stands for}, of names that only the reference has."""
    return _written(node, means or {})[0]


def _written(node, means):
    """(text, how tightly its outermost sign binds: a looser one needs brackets)."""
    if isinstance(node, ast.Name) and node.id in means:
        text, binds = _written(means[node.id], {name: value for name, value in means.items() if name != node.id})
        return (text, binds) if len(text) <= LONGEST else (node.id, 9)
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        binds = BINDS[type(node.op)]
        left, right = _bracketed(node.left, means, binds), _bracketed(node.right, means, binds + (not isinstance(node.op, (ast.Add, ast.MatMult))))
        return left + SIGNS[type(node.op)] + right, binds
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + _bracketed(node.operand, means, 3), 3
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return "not " + _bracketed(node.operand, means, 4), 2
    if isinstance(node, ast.Attribute) and node.attr == "T" or _swaps_last_two(node):
        return _bracketed(node.value if isinstance(node, ast.Attribute) else node.func.value, means, 6) + "^T", 6
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of, name = node.func.value, node.func.attr
        if name in ("reshape", "astype", "copy"):
            return _written(of, means)
        if name in ("sum", "mean", "max", "any", "all"):
            return f"{name}({formula(of, means)})", 9
        if isinstance(of, ast.Name) and of.id in ("np", "math"):
            return f"{name}({', '.join(formula(one, means) for one in node.args)})", 9
    return ast.unparse(node), 9 if isinstance(node, (ast.Name, ast.Constant, ast.Subscript, ast.Call, ast.Attribute)) else 0


def _bracketed(node, means, binds):
    text, own = _written(node, means)
    return text if own >= binds else f"({text})"


def _swaps_last_two(node):
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "swapaxes"
            and [ast.unparse(one) for one in node.args] == ["-1", "-2"])
