"""What people get wrong around a sign such as + or /: a term or a factor left out, another sign, brackets forgotten."""

import ast
from collections.abc import Callable, Iterator

from minitransformer.learn.messages import _
from minitransformer.learn.syntax_tree import NAME, RARE, Change, binary, inverted, is_sum, is_transposed, numpy, transposed

TINY = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)


def of_binary(node, say) -> Iterator[Change]:
    """Of `a + b`, `a * b` and so on: what people get wrong with this sign."""
    if type(node.op) in OPERATORS:
        yield from OPERATORS[type(node.op)](node, say)


def of_sum(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("{b} is subtracted, not added"), b=b), binary(a, ast.Sub, b))
    yield Change(say(_("{a} is subtracted, not added"), a=a), binary(b, ast.Sub, a))
    yield Change(say(_("the term {b} is missing"), b=b), a)
    yield Change(say(_("the term {a} is missing"), a=a), b)
    yield Change(say(_("{a} and {b} are averaged, not added"), a=a, b=b), binary(node, ast.Div, ast.Constant(2)), RARE)
    yield Change(say(_("{a} and {b} are multiplied, not added"), a=a, b=b), binary(a, ast.Mult, b), RARE)
    yield from _twice(node, say)


def of_difference(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("{b} is added, not subtracted"), b=b), binary(a, ast.Add, b))
    yield Change(say(_("the term - {b} is missing"), b=b), a)
    yield Change(say(_("the term {a} is missing"), a=a), ast.UnaryOp(ast.USub(), b))
    yield Change(say(_("{b} stands in place of {all}"), b=b, all=node), b)
    yield Change(say(_("the difference {all} has the wrong sign"), all=node), binary(b, ast.Sub, a), NAME)
    yield from _twice(node, say)


def _twice(node, say) -> Iterator[Change]:
    yield Change(say(_("the term {b} is counted twice"), b=node.right), binary(node, type(node.op), node.right), RARE)
    yield Change(say(_("the term {a} is counted twice"), a=node.left), binary(node, ast.Add, node.left), RARE)


def of_product(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("the factor {b} is missing"), b=b), a)
    yield Change(say(_("the factor {a} is missing"), a=a), b)
    yield Change(say(_("{a} is divided by {b}, not multiplied"), a=a, b=b), binary(a, ast.Div, b))
    yield Change(say(_("{b} is divided by {a}, not multiplied"), a=a, b=b), binary(b, ast.Div, a))
    if is_sum(b):
        yield Change(say(_("the brackets are missing: {a} multiplies only {first} of {b}"), a=a, b=b, first=_first(b)),
                     _in_first(b, lambda first: binary(a, ast.Mult, first)))
    yield Change(say(_("{a} and {b} are added, not multiplied"), a=a, b=b), binary(a, ast.Add, b), RARE)
    for one in (a, b):
        yield Change(say(_("the factor {one} stands there twice"), one=one), binary(node, ast.Mult, one), RARE)


def of_quotient(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("the division by {b} is missing"), b=b), a)
    yield Change(say(_("{a} is multiplied by {b}, not divided"), a=a, b=b), binary(a, ast.Mult, b))
    yield Change(say(_("{a} / {b} is upside down"), a=a, b=b), binary(b, ast.Div, a))
    if is_sum(a):
        last = binary(a.right, ast.Div, b)
        yield Change(say(_("the brackets are missing: of {a}, only {last} is divided by {b}"), a=a, b=b, last=a.right),
                     binary(a.left, type(a.op), last))
    if isinstance(b, ast.BinOp) and isinstance(b.op, ast.Mult):
        yield Change(say(_("the brackets are missing: it is divided by {x} and multiplied by {y}"), x=b.left, y=b.right),
                     binary(binary(a, ast.Div, b.left), ast.Mult, b.right))
    yield Change(say(_("it is divided by {b} twice"), b=b), binary(node, ast.Div, b), RARE)
    yield Change(say(_("it is divided by the root of {b}"), b=b), binary(a, ast.Div, numpy("sqrt", b)), RARE)
    yield Change(say(_("{b} is subtracted, not divided by"), b=b), binary(a, ast.Sub, b), RARE)
    for number in TINY:
        yield Change(say(_("{number} is added to {b}"), number=f"{number:g}", b=b),
                     binary(a, ast.Div, binary(b, ast.Add, ast.Constant(number))), RARE)


def of_matrix_product(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("the product with {b} is missing: {a} is taken as it is"), a=a, b=b), a)
    yield Change(say(_("the product with {a} is missing: {b} is taken as it is"), a=a, b=b), b)
    yield Change(say(_("{a} and {b} are multiplied in the wrong order"), a=a, b=b), binary(b, ast.MatMult, a))
    if not is_transposed(a):
        yield Change(say(_("{a} is transposed where it should not be"), a=a), binary(transposed(a), ast.MatMult, b))
    if not is_transposed(b):
        yield Change(say(_("{b} is transposed where it should not be"), b=b), binary(a, ast.MatMult, transposed(b)))
    yield Change(say(_("the product of {a} and {b} is transposed"), a=a, b=b), transposed(node))
    yield Change(say(_("{a} and {b} are multiplied number by number, not as matrices"), a=a, b=b), binary(a, ast.Mult, b), RARE)
    yield Change(say(_("the product with {b} is taken twice"), b=b), binary(node, ast.MatMult, b), RARE)


def of_power(node, say) -> Iterator[Change]:
    a, b = node.left, node.right
    yield Change(say(_("the exponent {b} is missing"), b=b), a)
    yield Change(say(_("{b} is a factor of {a}, not its exponent"), a=a, b=b), binary(a, ast.Mult, b), RARE)
    for factor, text in ((2, _("twice")), (0.5, _("half")), (-1, _("minus"))):
        yield Change(say(_("the exponent is {times} {b}"), times=text, b=b),
                     binary(a, ast.Pow, binary(b, ast.Mult, ast.Constant(factor))), RARE)


def of_conditions(node, say) -> Iterator[Change]:
    a, b, other = node.left, node.right, ast.BitOr if isinstance(node.op, ast.BitAnd) else ast.BitAnd
    yield Change(say(_("{other} stands in place of {all}"), other=binary(a, other, b), all=node), binary(a, other, b))
    yield Change(say(_("the condition {b} is missing"), b=b), a)
    yield Change(say(_("the condition {a} is missing"), a=a), b)
    yield Change(say(_("{a} is the wrong way round"), a=a), binary(inverted(a), type(node.op), b))
    yield Change(say(_("{b} is the wrong way round"), b=b), binary(a, type(node.op), inverted(b)))
    yield Change(say(_("{a} and {b} are combined by ^: True if exactly one of them is"), a=a, b=b), binary(a, ast.BitXor, b), RARE)


OPERATORS: dict[type[ast.operator], Callable[..., Iterator[Change]]] = {
    ast.Add: of_sum, ast.Sub: of_difference, ast.Mult: of_product, ast.Div: of_quotient,
    ast.MatMult: of_matrix_product, ast.Pow: of_power, ast.BitAnd: of_conditions, ast.BitOr: of_conditions}


def of_unary(node, say) -> Iterator[Change]:
    if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield Change(say(_("the minus sign of {a} is missing"), a=node.operand), node.operand)


def _first(node) -> ast.expr:
    """The first term of a sum of any number of terms."""
    return _first(node.left) if is_sum(node) else node


def _in_first(node, change) -> ast.expr:
    """The sum with its first term changed."""
    return binary(_in_first(node.left, change), type(node.op), node.right) if is_sum(node) else change(node)
