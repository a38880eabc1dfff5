"""What people get wrong in an expression: a pattern, what they write in its place, and the sentence
that says so.

A single letter of a pattern is any expression; m is any but a number or a transposed one. In a
sentence {a} is the expression of that letter, {all} the right expression as a whole, and {wrong}
the wrong one. What no pattern can say is in changes.py.
"""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import combinations

from minitransformer_course.messages import _
from minitransformer_course.diagnosis.syntax_tree import NAME, RARE, USUAL, expression

Row = tuple[str, str, str, int]  # pattern, wrong expression, sentence, rank

TINY = ("1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12")
# Each, and what people write in its place, the most usual first:
FUNCTIONS = {
    "exp": ("exp2",),
    "log": ("log2", "log10"),
    "sqrt": (),
    "abs": (),
    "sin": ("cos",),
    "cos": ("sin",),
    "tanh": (),
}
SIGNS = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
REDUCTIONS = {
    "sum": ("mean", "max"),
    "mean": ("sum", "max"),
    "max": ("min", "mean"),
    "any": ("all",),
    "all": ("any",),
}


@cache
def rules() -> list[tuple[ast.expr, ast.expr, str, int]]:
    """[(pattern, wrong expression, sentence, rank)], the two expressions as trees."""
    return [
        (expression(pattern), expression(wrong), sentence, rank)
        for rows in (_operators(), _conditions(), _functions(), _reductions())
        for pattern, wrong, sentence, rank in rows
    ]


def _operators() -> Iterator[Row]:
    yield from (
        ("a + b", "a - b", _("{b} is subtracted, not added"), USUAL),
        ("a + b", "b - a", _("{a} is subtracted, not added"), USUAL),
        ("a + b", "a", _("the term {b} is missing"), USUAL),
        ("a + b", "b", _("the term {a} is missing"), USUAL),
        (
            "a * b + (1 - a) * c",
            "(1 - a) * b + a * c",
            _("{a} and 1 - {a} are swapped: {a} belongs to {b}"),
            USUAL,
        ),
        ("a + b", "a + b + b", _("the term {b} is counted twice"), RARE),
        ("a + b", "a + b + a", _("the term {a} is counted twice"), RARE),
        ("1 - a * a", "1 - a", _("{a} is not squared: the slope of tanh is 1 - tanh^2"), USUAL),
        ("1 - a ** 2", "1 - a", _("{a} is not squared: the slope of tanh is 1 - tanh^2"), USUAL),
        ("a - b", "a + b", _("{b} is added, not subtracted"), USUAL),
        ("a - b", "a", _("the term - {b} is missing"), USUAL),
        ("a - b", "-b", _("the term {a} is missing"), USUAL),
        ("a - b", "b", _("{b} is used where {all} belongs"), USUAL),
        ("a - b", "b - a", _("the difference {all} has the wrong sign"), NAME),
        ("a - b", "a - b - b", _("the term {b} is counted twice"), RARE),
        ("a - b", "a - b + a", _("the term {a} is counted twice"), RARE),
        ("-m", "m", _("the minus sign of {m} is missing"), USUAL),
        ("a * b", "a", _("the factor {b} is missing"), USUAL),
        ("a * b", "b", _("the factor {a} is missing"), USUAL),
        ("a * b", "a / b", _("{a} is divided by {b}, not multiplied"), USUAL),
        ("a * b", "b / a", _("{b} is divided by {a}, not multiplied"), USUAL),
        (
            "a * (b + c)",
            "a * b + c",
            _("the brackets are missing: {a} multiplies only {b} of {b} + {c}"),
            USUAL,
        ),
        (
            "a * (b - c)",
            "a * b - c",
            _("the brackets are missing: {a} multiplies only {b} of {b} - {c}"),
            USUAL,
        ),
        (
            "a * (b - c - d)",
            "a * b - c - d",
            _("the brackets are missing: {a} multiplies only {b} of {b} - {c} - {d}"),
            USUAL,
        ),
        (
            "(a - b) * c * d",
            "(a * d - b) * c",
            _("the brackets are missing: of {a} - {b}, only {a} is multiplied by {d}"),
            USUAL,
        ),
        (
            "(a - b) * c",
            "a * c - b",
            _("the brackets are missing: of {a} - {b}, only {a} is multiplied by {c}"),
            USUAL,
        ),
        (
            "(a - b) * c * d",
            "(a - b * d) * c",
            _("the brackets are missing: of {a} - {b}, only {b} is multiplied by {d}"),
            USUAL,
        ),
        (
            "(a - b) * c",
            "a - b * c",
            _("the brackets are missing: of {a} - {b}, only {b} is multiplied by {c}"),
            USUAL,
        ),
        ("a * b", "a * b * a", _("the factor {a} appears twice"), RARE),
        ("a * b", "a * b * b", _("the factor {b} appears twice"), RARE),
        ("a * a", "np.abs(a)", _("the absolute value of {a} is taken, not its square"), RARE),
        (
            "a * b * b",
            "a * np.abs(b)",
            _("the absolute value of {b} is taken, not its square"),
            RARE,
        ),
        ("a / b", "a", _("the division by {b} is missing"), USUAL),
        ("a / b", "a * b", _("{a} is multiplied by {b}, not divided"), USUAL),
        ("a / b", "b / a", _("{a} / {b} is upside down"), USUAL),
        (
            "(a + b) / c",
            "a + b / c",
            _("the brackets are missing: of {a} + {b}, only {b} is divided by {c}"),
            USUAL,
        ),
        (
            "(a - b) / c",
            "a - b / c",
            _("the brackets are missing: of {a} - {b}, only {b} is divided by {c}"),
            USUAL,
        ),
        (
            "a / (b * c)",
            "a / b * c",
            _("the brackets are missing: it is divided by {b} and multiplied by {c}"),
            USUAL,
        ),
        ("a // b", "a % b", _("the remainder % is taken, not the quotient //"), USUAL),
        ("a % b", "a // b", _("the quotient // is taken, not the remainder %"), USUAL),
        ("a / b", "a / b / b", _("it is divided by {b} twice"), RARE),
        ("a / b", "a / np.sqrt(b)", _("it is divided by the root of {b}"), RARE),
        (
            "a / b",
            "a // b",
            _("{all} is computed with //, which drops what follows the decimal point"),
            RARE,
        ),
        *(
            (
                "a / b",
                f"a / (b + {tiny})",
                _("{number} is added to {b}").replace("{number}", f"{float(tiny):g}"),
                RARE,
            )
            for tiny in TINY
        ),
        ("a @ b", "a", _("the product with {b} is missing: {a} is taken as it is"), USUAL),
        ("a @ b", "b", _("the product with {a} is missing: {b} is taken as it is"), USUAL),
        ("a @ b", "b @ a", _("{a} and {b} are multiplied in the wrong order"), USUAL),
        ("m @ b", "m.swapaxes(-1, -2) @ b", _("{m} is transposed where it should not be"), USUAL),
        ("a @ m", "a @ m.swapaxes(-1, -2)", _("{m} is transposed where it should not be"), USUAL),
        ("a @ b", "(a @ b).swapaxes(-1, -2)", _("the product of {a} and {b} is transposed"), USUAL),
        ("a @ b", "a * b", _("{a} and {b} are multiplied number by number, not as matrices"), RARE),
        ("a.T", "a", _("{a} is not transposed"), USUAL),
        ("a ** b", "a", _("the exponent {b} is missing"), USUAL),
    )
    for letters in ("ab", "abc", "abcd"):
        for i, j in combinations(letters, 2):
            other = letters.translate(str.maketrans(i + j, j + i))
            yield (
                ", ".join(letters),
                ", ".join(other),
                _("{a} and {b} are swapped").format(a=f"{{{i}}}", b=f"{{{j}}}"),
                USUAL,
            )


def _conditions() -> Iterator[Row]:
    for sign, other in ("&|", "|&"):
        yield from (
            (f"a {sign} b", f"a {other} b", _("{wrong} is used where {all} belongs"), USUAL),
            (f"a {sign} b", "a", _("the condition {b} is missing"), USUAL),
            (f"a {sign} b", "b", _("the condition {a} is missing"), USUAL),
            (f"a {sign} b", f"~a {sign} b", _("{a} is the wrong way round"), USUAL),
            (f"a {sign} b", f"a {sign} ~b", _("{b} is the wrong way round"), USUAL),
        )
    for sign, opposite in SIGNS.items():
        for other in sorted(SIGNS, key=lambda one: one != opposite):
            yield f"a {sign} b", f"a {other} b", _("the condition is {wrong}, not {all}"), USUAL
        for step in ("+ 1", "- 1", "+ 2", "- 2"):
            yield (
                f"a {sign} b",
                f"a {sign} b {step}",
                _("the condition is {wrong}, not {all}"),
                NAME if "1" in step else RARE,
            )
    yield "a != b", "a > b + 1", _("the condition is {wrong}, not {all}"), RARE


def _functions() -> Iterator[Row]:
    for name, others in FUNCTIONS.items():
        yield (
            f"np.{name}(a)",
            "a",
            _("{name} is missing: {a} is taken as it is").replace("{name}", name),
            USUAL,
        )
        yield from (
            (
                f"np.{name}(a)",
                f"np.{other}(a)",
                _("{other} of {a} is used where {name} belongs")
                .replace("{other}", other)
                .replace("{name}", name),
                USUAL,
            )
            for other in others
        )
    yield from (
        (
            "a.prod() ** (1 / len(a))",
            "a.mean()",
            _("the mean of {a} is the arithmetic one: it has to be the geometric one"),
            USUAL,
        ),
        ("np.maximum(a, b)", "a", _("{all} is missing: {a} is taken as it is"), USUAL),
        (
            "np.maximum(a, b) @ c",
            "np.maximum(a @ c, b)",
            _("the product with {c} is taken before the maximum, not after it"),
            USUAL,
        ),
        ("np.minimum(m, b)", "m", _("{all} is missing: {m} is taken as it is"), USUAL),
        ("np.minimum(a, b)", "b", _("{all} is missing: {b} is taken as it is"), USUAL),
        (
            "np.minimum(a, b)",
            "np.maximum(a, b)",
            _("the larger of {a} and {b} is taken: it has to be the smaller"),
            USUAL,
        ),
        *(
            (
                f"np.{name}(a, b)",
                "(a + b) / 2",
                _("the {what} of {a} and {b} is used where {all} belongs").replace(
                    "{what}", "mean"
                ),
                RARE,
            )
            for name in ("minimum", "maximum")
        ),
        (
            "np.maximum(a, b)",
            "np.minimum(a, b)",
            _("the smaller of {a} and {b} is taken: it has to be the larger"),
            USUAL,
        ),
        ("max(a, b)", "a if a * a > b else b", _("the square of {a} is compared with {b}"), RARE),
        (
            "np.where(a, b, c)",
            "np.where(a, c, b)",
            _("the condition {a} is the wrong way round"),
            USUAL,
        ),
        ("np.where(a, b, c)", "b", _("the condition {a} is missing"), USUAL),
        *(
            (
                "np.where(a, b, c)",
                f"np.where(a, b, {value})",
                _("where {a} is False, {value} is used, and not {c}").replace("{value}", value),
                RARE,
            )
            for value in ("0", "1", "-1", "-5", "-10", "-100", "-1000", "-10000", "1e-09", "-1e+09")
        ),
        (
            "np.add.at(a, b, c)",
            "a.__setitem__(b, a[b] + c)",
            _(
                "what occurs twice in {b} counts only once: += keeps one of its numbers, np.add.at adds them all"
            ),
            USUAL,
        ),
        ("np.zeros_like(a)", "np.ones_like(a)", _("it begins with ones, not with zeros"), USUAL),
        (
            "np.argsort(a)",
            "np.argsort(np.argsort(a))",
            _("the rank of each number of {a} is taken, not their order"),
            USUAL,
        ),
        (
            "np.put_along_axis(a, b, c, axis=x)",
            "np.put_along_axis(a, np.argsort(b, axis=x), c, axis=x)",
            _(
                "what is sorted is read at {b} once more: {b} says where each number came from, and has to go back to"
            ),
            USUAL,
        ),
        *(
            ("len(a)", str(size), _("{wrong} is used where {all} belongs"), RARE)
            for size in (2, 3, 4)
        ),
        ("a.swapaxes(b, c)", "a", _("the axes of {a} are not swapped"), USUAL),
    )
    for letters in ("bc", "bcd", "bcde"):
        for i in range(len(letters) - 1):
            other = letters[:i] + letters[i + 1] + letters[i] + letters[i + 2 :]
            yield (
                f"a.reshape({', '.join(letters)})",
                f"a.reshape({', '.join(other)})",
                _("{a} is reshaped to ({other}), not to ({sizes})")
                .replace("{other}", _places(other))
                .replace("{sizes}", _places(letters)),
                USUAL,
            )


def _reductions() -> Iterator[Row]:
    """For x.sum(axis=-1): another axis, a mean or a max, the sum left out."""
    for name, others in REDUCTIONS.items():
        for axis in ("", "x", "0", "1", "-1"):
            for keeps in ("", ", keepdims=True") if axis else ("",):

                def called(of, name=name, axis=axis, keeps=keeps) -> str:
                    return f"{of}.{name}({f'axis={axis}{keeps}' if axis else ''})"

                yield from (
                    (called("a"), wrong, sentence.replace("{name}", name), rank)
                    for wrong, sentence, rank in (
                        _of_rows(called, axis, keeps)
                        if axis in ("0", "1", "-1")
                        else _of_reduction(called, name, others, axis, keeps)
                    )
                )
                if name == "sum":
                    yield (
                        f"{called('a')} / {called('b')}",
                        called("(a / b)", "mean"),
                        _(
                            "the mean of the ratios of {a} and {b} is taken, not the ratio of their sums"
                        ),
                        USUAL,
                    )
                    yield (
                        called("(a * b)"),
                        f"{called('a')} * {called('b')}",
                        _(
                            "the sums of {a} and {b} are multiplied: it has to be the sum of the products"
                        ),
                        RARE,
                    )


def _of_reduction(called, name, others, axis, keeps) -> Iterator[tuple[str, str, int]]:
    """(wrong expression, sentence, rank). called(of, ...): the call on the array `of`, with another
    name, axis or keepdims.
    """
    for other in ("0", "-1", "-2", "1", "(0, 1)", "None") if axis else ():
        yield called("a", axis=other), _("the {name} of {a} runs over the wrong axis"), USUAL
    for only in ("-1", "0") if not axis else ():
        yield called("a", axis=only), _("the {name} of {a} runs over one axis only"), USUAL
    for row, word in (("0", _("first")), ("-1", _("last"))) if not axis else ():
        yield (
            called(f"a[{row}]"),
            _("only the {word} of {a} is taken: {name} has to run over all of them").replace(
                "{word}", word
            ),
            RARE,
        )
    for other in others:
        yield (
            called("a", other),
            _("the {name} of {a} became a {other}").replace("{other}", other),
            USUAL if other == others[0] else RARE,
        )
    yield "a", _("{a} is taken as it is, without its {name}"), USUAL
    if name == "mean" and axis:
        yield (
            f"{called('a', 'sum')} / (np.shape(a)[x] - 1)",
            _("the mean of {a} is divided by D - 1, not by D"),
            RARE,
        )


def _of_rows(called, axis, keeps) -> Iterator[tuple[str, str, int]]:
    """As `_of_reduction`: the first or the last of all, alone or left out."""
    at = {"0": "", "1": ":, ", "-1": "..., "}[axis]
    for row, kept, rest, word in (("0", "0:1", "1:", _("first")), ("-1", "-1:", ":-1", _("last"))):
        yield (
            f"a[{at}{kept if keeps else row}]",
            _("only the {word} of {a} is taken: {name} has to run over all of them").replace(
                "{word}", word
            ),
            RARE,
        )
        yield (
            called(f"a[{at}{rest}]"),
            _("the {word} of {a} is left out of the {name}").replace("{word}", word),
            RARE,
        )


def _places(letters) -> str:
    """ "{b}, {c}" of "bc": the places of these expressions in a sentence."""
    return ", ".join(f"{{{letter}}}" for letter in letters)
