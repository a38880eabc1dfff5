"""What an expression of a backward may be wrong in: pairs of a wrong form and the right one, axes,
indices, the order of a loop.
"""

import ast
import copy
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from minitransformer_course.diagnosis.syntax_tree import (
    expression,
    fill,
    filled,
    index_of,
    match,
    names_in,
    with_index,
)

Found = Iterator[tuple[str, Any]]  # what is wrong, and the expression that belongs there
ROW = "(a * b).sum(axis=x, keepdims=True)"  # x: the axis of a softmax
DIAGONAL = (
    "only the diagonal of the softmax's Jacobian is used: `{right}` belongs where `{wrong}` is"
)
LACKS_ROW = "the sum over the row, which the Jacobian of a softmax subtracts, is missing: `{right}` belongs where `{wrong}` is"
RUNNING = (
    "the running sum has the wrong direction: a place must get the sum of the later ones, not of "
    "the earlier ones (reversed)"
)
FORMS = [  # (the wrong form, the right one, what is wrong)
    (
        "1 - a",
        "1 - a * a",
        "`{a}` is not squared: `{right}` belongs where `{wrong}` is (the slope of tanh)",
    ),
    (
        "1 - a * a",
        "a * (1 - a)",
        "the slope of a sigmoid s is s (1 - s): `{right}` belongs where `{wrong}` is",
    ),
    (
        "1 - a ** 2",
        "a * (1 - a)",
        "the slope of a sigmoid s is s (1 - s): `{right}` belongs where `{wrong}` is",
    ),
    (
        "a * (1 - a)",
        "1 - a * a",
        "the slope of tanh is 1 - h^2: `{right}` belongs where `{wrong}` is",
    ),
    ("a", "a * b * (1 - b)", "the slope of a sigmoid, {b} (1 - {b}), is missing"),
    ("a * b", "a * b * (1 - b)", "the slope of a sigmoid is {b} (1 - {b}), not {b}"),
    ("a * (1 - b)", "a * b * (1 - b)", "the slope of a sigmoid is {b} (1 - {b}), not 1 - {b}"),
    (
        "a * (1 - b * b)",
        "a * b * (1 - b)",
        "the slope is that of tanh, 1 - {b}^2, but a sigmoid has {b} (1 - {b})",
    ),
    (
        "a * (b * (1 - b))",
        "a * (1 - b * b)",
        "the slope is that of a sigmoid, but tanh has 1 - {b}^2",
    ),
    ("a", "a * (1 - b * b)", "the derivative of tanh, 1 - {b}^2, is missing"),
    ("1 - a", "a", "`{right}` belongs where `{wrong}` is"),
    ("1 - a", "a * (1 - a)", "the factor `{a}` of the slope is missing"),
    ("a * a", "a", "`{a}` is squared, but belongs there once"),
    ("a ** b", "a ** (b + 1)", "the power of `{a}` is one too small"),
    ("a ** b", "a ** (b - 1)", "the power of `{a}` is one too large"),
    ("a ** b", "a", "`{a}` has a power that does not belong there"),
    ("a * (1 - a) * b", f"a * (b - {ROW})", DIAGONAL, "a"),
    ("a * b", f"a * (b - {ROW})", LACKS_ROW, "a"),
    ("a * b", f"b * (a - {ROW})", LACKS_ROW, "b"),
    ("np.sqrt(a)", "a", "the root of `{a}` does not belong there"),
    ("a / b", "a * b", "`{a}` is divided by `{b}`, but must be multiplied by it"),
    ("a * b", "a / b", "`{a}` is multiplied by `{b}`, but must be divided by it"),
    ("a / b", "b / a", "the quotient is upside down"),
    (
        "a - b",
        "b - a",
        "the difference of `{a}` and `{b}` has the wrong sign: `{right}` belongs there",
    ),
    (
        "np.sqrt(a) + b",
        "np.sqrt(a + b)",
        "`{b}` is added outside the root: `{right}` belongs there",
    ),
    ("np.sqrt(a + b)", "np.sqrt(a) + b", "`{b}` is added inside the root: `{right}` belongs there"),
    ("a ** 0.5 + b", "(a + b) ** 0.5", "`{b}` is added outside the root: `{right}` belongs there"),
    ("len(a)", "a.sum()", "all of `{a}` are counted, where those that are True belong: `{right}`"),
    ("a.size", "a.sum()", "all of `{a}` are counted, where those that are True belong: `{right}`"),
    ("a * b", "a", "the factor `{b}` does not belong there"),
    ("a * b", "b", "the factor `{a}` does not belong there"),
    ("a / b", "a", "the division by `{b}` does not belong there"),
    ("a + b", "a", "the term `{b}` does not belong there"),
    ("a + b", "b", "the term `{a}` does not belong there"),
    ("a - b", "a", "the term `- {b}` does not belong there"),
    (
        "a @ b",
        "b.T @ a.T",
        "the matrix product is not transposed: `{right}` belongs where `{wrong}` is",
    ),
    ("a.T", "a", "`{a}` is transposed, but must not be"),
    ("a.swapaxes(b, c)", "a", "`{a}` is transposed, but must not be"),
    ("a.transpose(b, c, d)", "a", "`{a}` is transposed, but must not be"),
    ("a > b", "a < b", "the comparison `{wrong}` is the wrong way round"),
    ("a < b", "a > b", "the comparison `{wrong}` is the wrong way round"),
    ("a >= b", "a < b", "the comparison `{wrong}` is the wrong way round"),
    ("a <= b", "a > b", "the comparison `{wrong}` is the wrong way round"),
    ("~a", "a", "`{wrong}` is the wrong way round: `{a}` must not be negated"),
    (
        "zip(a, b)",
        "zip(reversed(a), reversed(b))",
        "neither `{a}` nor `{b}` is reversed: the order is that of the forward",
    ),
    (
        "zip(a, reversed(b))",
        "zip(reversed(a), reversed(b))",
        "`{a}` is not reversed: the wrong order to `{b}`",
    ),
    (
        "zip(reversed(a), b)",
        "zip(reversed(a), reversed(b))",
        "`{b}` is not reversed: the wrong order to `{a}`",
    ),
    ("a + 0 * b", "a * b", "the factor {b} is missing"),
    ("b + 0 * a", "a * b", "the factor {a} is missing"),
    ("0 * a - b", "a - b", "the term {a} is missing"),
    ("a - 0 * b", "a - b", "the term - {b} is missing"),
    ("a", "a + b + c", "only {a} is left: {b} and {c} are missing"),
    ("c", "a + b + c", "only {c} is left: {a} and {b} are missing"),
    (
        "a if np.any(a) else b",
        "a + b",
        "`{b}` is not added to what is there: only the first (the last layer's) counts",
    ),
    ("b", "b if a else c", "the case that `{a}` is false is ignored: `{c}` is missing"),
    ("c", "b if a else c", "the case `{a}` is ignored: `{b}` is missing"),
    ("a", "reversed(a)", "`{a}` is not reversed"),
    (
        "reversed(a)",
        "a",
        "the loop runs in the wrong direction: backwards, not in the order of `{a}`",
    ),
    *(
        (form, "np.flip(np.cumsum(np.flip(a, b), b), b)", RUNNING)
        for form in ("np.cumsum(a, axis=b)", "np.cumsum(a, b)", "a.cumsum(axis=b)", "a.cumsum(b)")
    ),
    ("0", "-1", "0 (the first) is used where -1 (the last) belongs"),
    ("a[..., ::-1]", "a", "`{a}` is reversed, but must not be"),
    ("a[::-1]", "a", "`{a}` is reversed, but must not be"),
    ("a[:, ::-1]", "a", "`{a}` is reversed, but must not be"),
]


class Form(NamedTuple):
    wrong: ast.expr
    right: ast.expr
    said: str
    softmax: str = ""  # the letter of what must be probabilities, which sum to 1 along an axis


PATTERNS = [Form(expression(wrong), expression(right), *rest) for wrong, right, *rest in FORMS]


FACTORS = [
    one for one in PATTERNS if "does not belong" in one.said or "the factor" in one.said
]  # what is tried last
STRUCTURE = [one for one in PATTERNS if one not in FACTORS]
AXES = "0", "1", "2", "-1", "-2", "(0, 1)", "(1, 2)", "(0, 2)", "(-2, -1)", "None"
REDUCTIONS = "sum", "mean", "max", "cumsum", "flip", "min"


def of_form(node, patterns, source) -> Found:
    """What any expression of one of these forms may be wrong in."""
    for wrong, right, said, softmax in patterns:
        parts = _matched(wrong, node, said)
        if parts and softmax:
            parts |= _axis_of_softmax(source.value(parts[softmax]))
        if (
            parts is not None
            and _letters(right) <= parts.keys()
            and not any(
                isinstance(part, ast.Constant) and (f"{{{key}}}" in said or "{all}" in said)
                for key, part in parts.items()
            )
        ):
            made = fill(right, parts)
            shown = {key: ast.unparse(part) for key, part in parts.items()}
            right_one = ast.unparse(made)
            yield (
                said.format(right=right_one, all=right_one, wrong=ast.unparse(node), **shown),
                made,
            )


def _matched(form, node, said) -> dict[str, ast.expr] | None:
    """The parts of an expression of this form, or None. A letter alone is every expression, and a
    mask has no slope.
    """
    parts = None if isinstance(form, ast.Name) else match(form, node)
    if parts and "sigmoid" in said and any(map(_is_mask, parts.values())):
        return None
    return parts


def _is_mask(tree) -> bool:
    """Whether an expression says True and False."""
    inner = tree.operand if isinstance(tree, ast.UnaryOp) else tree
    return isinstance(inner, ast.Compare) or isinstance(getattr(tree, "op", None), ast.Invert)


def _axis_of_softmax(value) -> dict[str, ast.expr]:
    """{x: the axis along which an array of probabilities sums to 1}; {} if it holds none."""
    positive = value is not None and np.all(value >= 0)
    for axis in range(np.ndim(value)) if positive else ():
        if value.shape[axis] > 1 and np.allclose(value.sum(axis=axis), 1, rtol=1e-9):
            return {"x": ast.Constant(axis)}
    return {}


def _letters(form) -> set[str]:
    return {name for name in names_in(form) if len(name) == 1}


def made_wrong(node) -> Found:
    """The same the other way round: what is wrong with a right expression, and the wrong form of
    it.
    """
    for wrong, right, said, _softmax in PATTERNS:
        parts = _matched(right, node, said)
        if parts is not None and _letters(wrong) <= parts.keys():
            made = fill(wrong, parts)
            shown = {key: ast.unparse(part) for key, part in parts.items()}
            yield said.format(right=ast.unparse(node), wrong=ast.unparse(made), **shown), made


def of_structure(node, source) -> Found:
    """What an expression may be wrong in: its order, its axes, its indices."""
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
        yield from _of_call(node, source)
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(".shape"):
        yield from _of_size(node, source)
    elif isinstance(node, ast.Subscript):
        yield from _of_index(node, source)
    if isinstance(node, ast.IfExp):
        for part in (node.body, node.orelse):
            yield (
                f"`{ast.unparse(part)}` belongs where `{ast.unparse(node)}` is, in all steps",
                part,
            )
            for said, made in _of_index(part, source) if isinstance(part, ast.Subscript) else ():
                yield f"{said}, in all steps", made
    if isinstance(node, (ast.Tuple, ast.List, ast.Call)):
        several = node.args if isinstance(node, ast.Call) else node.elts
        for i, j in combinations(range(len(several)), 2):
            if not isinstance(several[i], ast.Constant):
                other = _swapped(several, i, j)
                made = (
                    ast.Call(node.func, other, node.keywords)
                    if isinstance(node, ast.Call)
                    else type(node)(other, node.ctx)
                )
                yield (
                    f"`{ast.unparse(several[i])}` and `{ast.unparse(several[j])}` are swapped "
                    "(the wrong order)",
                    made,
                )


def _of_call(node, source) -> Found:
    made: Any
    is_method = isinstance(node.func, ast.Attribute) and not _is_np(node.func.value)
    name, text = getattr(node.func, "attr", getattr(node.func, "id", "")), ast.unparse(node)
    for other, said in (
        ("sum", "is averaged, where the sum belongs"),
        ("mean", "is summed, where the mean belongs"),
    ):
        if name in ("sum", "mean") and name != other and isinstance(node.func, ast.Attribute):
            made = ast.Call(
                ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords
            )
            yield f"`{text}` {said}: `{ast.unparse(made)}`", made
    if not is_method and not node.args:
        return
    inner = ast.unparse(node.func.value if is_method else node.args[0])
    dimensions = np.ndim(source.value(expression(inner)))
    if name in REDUCTIONS or any(one.arg == "axis" for one in node.keywords):
        for axis in (*range(dimensions), *combinations(range(dimensions), 2)):
            keywords = [
                ast.keyword(one.arg, ast.Constant(axis)) if one.arg == "axis" else one
                for one in node.keywords
            ]
            args = list(node.args)
            if all(one.arg != "axis" for one in node.keywords) and args[not is_method :]:
                args[-1] = ast.Constant(axis)
            made = ast.Call(node.func, args, keywords)
            if ast.unparse(made) != text:
                yield (
                    f"`{text}` runs over the wrong axis: `{ast.unparse(made)}` belongs there",
                    made,
                )
    if (
        name == "einsum"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ):
        yield from _of_einsum(node, node.args[0].value)
    if name == "reshape" and dimensions > 2:
        for j, i in combinations(range(dimensions), 2) if is_method else ():
            made = filled(f"a.swapaxes({j}, {i})", a=node.func.value)
            yield (
                f"`{inner}` is reshaped without swapping its axes {j} and {i} first, which mixes them (transpose)",
                ast.Call(ast.Attribute(made, "reshape", ast.Load()), node.args, node.keywords),
            )
    if name in ("transpose", "reshape") and is_method:
        several = (
            node.args[0].elts
            if len(node.args) == 1 and isinstance(node.args[0], ast.Tuple)
            else node.args
        )
        for j, i in combinations(range(len(several)), 2):
            made = ast.Call(node.func, _swapped(several, i, j), [])
            made = filled(f"a.swapaxes({j}, {i})", a=made) if name == "reshape" else made
            yield (
                f"`{text}` has its axes in the wrong order: `{ast.unparse(made)}` belongs there",
                made,
            )


def _of_einsum(node, text) -> Found:
    sides = text.replace(" ", "").split("->")
    operands = [*sides[0].split(","), *sides[1:]]
    for k, letters in enumerate(operands):
        what = "the result" if k == len(node.args) - 1 else f"`{ast.unparse(node.args[k + 1])}`"
        for j, i in combinations(range(len(letters)), 2):
            made = [*operands[:k], "".join(_swapped(letters, i, j)), *operands[k + 1 :]]
            new = ",".join(made[: len(node.args) - 1]) + ("->" + made[-1] if len(sides) > 1 else "")
            yield (
                f'the indices {letters[j]} and {letters[i]} of {what} are swapped (transposed): "{new}" belongs where '
                f'"{text}" is',
                ast.Call(node.func, [ast.Constant(new), *node.args[1:]], node.keywords),
            )


def _of_size(node, source) -> Found:
    """For x.shape[0]: another size, or the product of two."""
    shape, text = ast.unparse(node.value), ast.unparse(node)
    axes = range(np.ndim(source.value(node.value.value)))
    sizes = [f"{shape}[{axis}]" for axis in axes]
    products = [f"{shape}[{one}] * {shape}[{other}]" for one, other in combinations(axes, 2)]
    for other in (*sizes, *products):
        if other != text:
            yield f"`{text}` is counted, where `{other}` belongs", expression(f"({other})")


def _of_index(node, source) -> Found:
    parts, text = index_of(node), ast.unparse(node)

    def put(i, part) -> ast.Subscript:
        return with_index(node, [*parts[:i], part, *parts[i + 1 :]])

    for i, part in enumerate(parts):
        made: Any
        others: list[Any] = []
        if isinstance(part, ast.Slice) and part.step is None and (part.lower or part.upper):
            one = ast.Constant(1)
            lower, upper = part.lower, part.upper
            others = [
                ast.Slice(lower or one, None if lower is None else upper),
                ast.Slice(None, upper or ast.Constant(-1)),
                ast.Slice(upper and ast.UnaryOp(ast.USub(), upper)),
                ast.Slice(None, lower and ast.UnaryOp(ast.USub(), lower)),
                ast.Slice(upper) if upper else ast.Slice(None, lower),
            ]
            if lower and upper:
                others += [
                    ast.Slice(filled("a + b", a=lower, b=k), filled("a + b", a=upper, b=k))
                    for k in map(ast.Constant, (-1, 1))
                ]
        elif isinstance(part, (ast.Name, ast.BinOp)) and isinstance(
            source.value(part), (int, np.integer)
        ):
            others = [filled(form, a=part) for form in ("a - 1", "a + 1")]
            if isinstance(part, ast.BinOp) and isinstance(part.right, ast.Constant):
                others.insert(0, part.left)
        for other in others:
            made = put(i, other)
            if ast.unparse(made) != text:
                yield (
                    f"`{text}` is shifted (the wrong indices): `{ast.unparse(made)}` belongs there",
                    made,
                )
        value = source.value(part)
        if (
            isinstance(part, (ast.Constant, ast.UnaryOp))
            and isinstance(value, int)
            and value in (0, -1)
        ):
            axis = i - sum(isinstance(one, ast.Constant) and one.value is None for one in parts[:i])
            made = filled(f"a.sum(axis={axis})", a=put(i, ast.Slice()))
            yield (
                f"`{text}` counts only the {'last' if value else 'first'}: the sum over all of them belongs there",
                made,
            )
    if isinstance(node.ctx, ast.Load):
        for axis in range(min(np.ndim(source.value(node.value)), 3)):
            made = ast.Subscript(filled(f"np.flip(a, {axis})", a=node.value), node.slice, node.ctx)
            yield (
                f"`{ast.unparse(node.value)}` is read in the wrong order along axis {axis}: it must be reversed (flipped)",
                made,
            )


def of_statement(node) -> Found:
    """What a statement may be wrong in: = for +=, indices that repeat, the direction of a loop, two
    names or two indices that are swapped.
    """
    if (
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Subscript)
        and isinstance(node.op, ast.Add)
    ):
        index = node.target.slice
        parts = index_of(node.target)
        repeating = [one for one in parts if not isinstance(one, (ast.Slice, ast.Constant))]
        if repeating:
            at = ast.Subscript(expression("np.s_"), index, ast.Load())
            made = filled("np.add.at(a, b, c)", a=node.target.value, b=at, c=node.value)
            yield (
                f"indices in `{', '.join(map(ast.unparse, repeating))}` repeat, and += keeps only one "
                "of the numbers that belong to the same index: np.add.at adds them all",
                ast.Expr(made),
            )
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield from _of_swapped(node)
    if isinstance(node, ast.Assign) and isinstance(
        node.targets[0], (ast.Subscript, ast.Name, ast.Attribute)
    ):
        yield (
            f"`{ast.unparse(node.targets[0])}` is assigned (=), which overwrites what is there already: it must be added (+=)",
            ast.AugAssign(node.targets[0], ast.Add(), node.value),
        )
    if isinstance(node, ast.For):
        yield (
            f"the loop over `{ast.unparse(node.iter)}` runs in the wrong direction: it must run in reverse order",
            ast.For(node.target, filled("list(a)[::-1]", a=node.iter), node.body, node.orelse),
        )


def _of_swapped(node) -> Found:
    """Two names that are swapped throughout a statement, or the indices of two arrays in it."""
    indexed = _indexed(node)
    names = {name for one in indexed for name in names_in(one.slice)}
    names |= {
        one.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".at")
        for one in call.args[1:2]
        if isinstance(one, ast.Name)
    }
    for one, other in combinations(sorted(names - {"np"}), 2):
        yield (
            f"`{one}` and `{other}` are swapped",
            _Renamed({one: other, other: one}).visit(copy.deepcopy(node)),
        )
    for i, j in combinations(range(len(indexed)), 2):
        first, second = (ast.unparse(indexed[k].slice) for k in (i, j))
        if first != second:
            made = copy.deepcopy(node)
            found = _indexed(made)
            found[i].slice, found[j].slice = found[j].slice, found[i].slice
            one, other = (text.removeprefix("(").removesuffix(")") for text in (first, second))
            yield f"the indices `[{one}]` and `[{other}]` are swapped", made


def _indexed(node) -> list[ast.Subscript]:
    """Where names are in an index."""
    subscripts = [one for one in ast.walk(node) if isinstance(one, ast.Subscript)]
    return [one for one in subscripts if names_in(one.slice)]


class _Renamed(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _swapped(several, i, j) -> list:
    other = list(several)
    other[i], other[j] = other[j], other[i]
    return other


def _is_np(node) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"
