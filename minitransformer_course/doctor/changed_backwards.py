"""Mistakes in no list: each changes one place of the library's own method, as a syntax tree, or of
the cache that it reads.

The judge changes the references of its exercises by the same rules. A sentence says what is wrong,
and quotes the right line.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, get_args

import numpy as np

from minitransformer_course.doctor.mistakes import Mistake, method_of
from minitransformer_course.diagnosis.operations import OPERATIONS
from minitransformer_course.diagnosis.source import Source
from minitransformer_course.diagnosis.wrong_forms import AXES, made_wrong
from minitransformer_course.diagnosis.changes import changes, of_statement
from minitransformer_course.diagnosis.arrays import rearranged, wrong_numbers
from minitransformer_course.diagnosis.syntax_tree import (
    NAME,
    RARE,
    USUAL,
    Change,
    expression,
    filled,
    names_in,
    with_part,
)

LOOPS = {
    "[*a][:1]": "only the first pass of the loop is made",
    "[*a][-1:]": "only the last pass of the loop is made",
    "[*a][1:]": "the first pass of the loop is left out",
    "[*a][:-1]": "the last pass of the loop is left out",
}
OF_A_MASK = [  # 0 at some places, and a scale at others
    (
        "{name} is inverted: zero where it must not be, and not zero where it must",
        lambda array: (array == 0) * array.max(),
    ),
    *[
        (
            "{name} is not applied, only its scale: no place is zero (padding or what is dropped gets a gradient)",
            lambda array, axis=axis: 0 * array + array.max(axis=axis, keepdims=True),
        )
        for axis in (None, 1)
    ],
    (
        "the scale (the division) of {name} is missing, only its zeros are applied",
        lambda array: 1.0 * (array != 0),
    ),
    (
        "the scale of {name} is inverted: divided by it, not multiplied",
        lambda array: (array != 0) / array.max(),
    ),
]
FIELD = re.compile(
    r"^ +(\w+): .*?# (\(.*?\))?(?: bool:)? ?(.*)", re.MULTILINE
)  # normed: Array    # (..., D) what it is


@cache
def changed(of, direction="backward") -> list[Mistake]:
    """The Mistakes that are a change of one expression or statement of an operation's method, of
    all that are alike.
    """
    method, textbook = method_of(of, direction)
    forward = OPERATIONS[of].forward
    try:
        source = Source(textbook)
    except ValueError:  # it has a loop that might never end
        return []
    tree: Any = source.tree
    own = inspect.signature(textbook)
    given = [one.arg for one in tree.args.args]
    made = [
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    read = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == given[-1]
    ]
    more, compared = [], []
    if direction == "backward":  # a wrong backward may read what only forward has
        more = [
            name
            for name in inspect.signature(forward).parameters
            if name not in (*given, *made, "self", "rng", "mask")
        ]
        compared = [f"({given[-2]} > 0)"]
        tree.args.args += map(ast.arg, more)
        tree.args.defaults += [ast.Constant(None)] * len(more)
        ast.fix_missing_locations(tree)
    lists = [
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "append"
    ]
    names = list(
        dict.fromkeys(
            name
            for name in (*made, *read, *given, *more, *compared)
            if name not in ("self", "cache", "_", *lists)
        )
    )
    fields = _documented((get_args(inspect.signature(forward).return_annotation) or [None])[-1])
    return [
        Mistake(
            of,
            f"{_in_words(change.sentence, fields)}: `{source.line(places[0])}` is right",
            _wrong(source, places, change.node, own, more),
            method,
            change.rank,
        )
        for places, change in _changes(source, names)
    ]


def _wrong(source, places, node, own, more) -> Callable:
    """The changed method, made when it is first called."""
    make = cache(partial(source.changed, places, node))

    def wrong(*values, **options) -> Any:
        return make()(*values, **options)

    used = names_in(node)
    return _with_signature(wrong, own, [name for name in more if name in used])


def _with_signature(wrong, own, more=()) -> Callable:
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in more]
    wrong.__signature__ = own.replace(parameters=[*own.parameters.values(), *parameters])
    return wrong


def _changes(source, names) -> Iterator[tuple[list, Change]]:
    """(places, Change): what is put in these places of the tree."""
    statements = [
        place
        for place in source.places
        if isinstance(place[3], ast.stmt) and not _is_check(place[3])
    ]
    for place in statements:  # what is wrong with a statement as a whole is told first
        yield from (([place], change) for change in _of_statement(place[3]))
    for place in statements:
        loops = isinstance(place[3], ast.For)  # it might loop over a list that it adds to
        of_expression = partial(_of_expression, names=[] if loops else names)
        if loops or not hasattr(place[3], "body"):
            yield from (([place], one) for one in of_statement(place[3], of_expression))
    for (of_axis, text), places in _alike(source, names).items():
        for other in () if len(places) < 2 else AXES if of_axis else (*names, "1", "0"):
            said = f"{text} is ignored: {other} is used in its place everywhere"
            if of_axis:
                said = f"all sums and means run over axis={other}, not axis={text}"
            elif other in names:
                said = f"{other} is used wherever {text} belongs"
            yield places, Change(said, expression(other), RARE)


def _alike(source, names) -> dict[tuple[bool, str], list]:
    """{(whether it is an axis, its text): its places} of names and axes."""
    found: dict[tuple, list] = {}
    for place in source.places:
        parent, _field, _i, node = place
        statement = source.statement.get(id(node))
        if statement is None or isinstance(statement, ast.For) or _is_check(statement):
            continue
        text = ast.unparse(node)
        of_axis = isinstance(parent, ast.keyword) and parent.arg == "axis"
        if of_axis or (text in names and isinstance(getattr(node, "ctx", None), ast.Load)):
            found.setdefault((of_axis, text), []).append(place)
    return found


def _is_check(statement) -> bool:
    """Whether it checks arguments, or is a docstring."""
    return ast.unparse(statement).startswith(("check_", "_check", "self._check", "'''", '"'))


def _of_expression(node, names) -> Iterator[Change]:
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if called.endswith("backward") and node.args:
        part, first = called.removeprefix("self."), ast.unparse(node.args[0])
        part += " (pre-norm's LayerNorm)" if part.endswith("enter_backward") else ""
        yield from (
            Change(said, filled(form, call=node, dy=node.args[0]))
            for form, said in {
                "dy": f"{part} is not called (skipped): {first} is passed on as it is, without the derivative",
                "[call, dy][1]": f"what {part} returns is not used (it is lost): {first} is passed on, without the derivative",
                "[call, call][1]": f"{part} is called twice: it adds to its gradients two times (doubled)",
                "call + dy": f"{first} is added to what {part} returns, as if there were a residual path (skip connection) around it",
                "0 * call": f"what {part} returns is missing: it is zero",
                "call / 2": f"what {part} returns is halved",
                "2 * call": f"what {part} returns is counted twice (doubled)",
                "-call": f"what {part} returns has the wrong sign (negative)",
            }.items()
        )
        yield Change(
            f"{part} is applied twice", ast.Call(node.func, [node, *node.args[1:]], node.keywords)
        )
    yield from (
        Change(said, made, NAME if ast.IfExp in (type(node), type(made)) else USUAL)
        for said, made in made_wrong(node)
    )
    if ast.unparse(node) in names:
        yield Change(
            f"{ast.unparse(node)} is the wrong way round (inverted)", filled("~a", a=node), NAME
        )
    if isinstance(node, (ast.BinOp, ast.Call, ast.Subscript)):
        yield from (
            Change(f"{name} is used where `{ast.unparse(node)}` belongs", expression(name), RARE)
            for name in names
        )
    yield from changes(node, names, {})


def _of_statement(node) -> Iterator[Change]:
    if isinstance(node, ast.AugAssign):
        yield Change(
            "it is overwritten (=), but must be added to (+=)",
            ast.Assign([node.target], node.value),
            NAME,
        )
        yield Change("this line is missing", ast.Pass())
        twice = filled("2 * a", a=node.value)
        yield Change("it is counted twice (doubled)", with_part(node, "value", twice))
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith(".backward")
    ):
        part = ast.unparse(node.value.func).removeprefix("self.")
        yield Change(f"{part} is not called (skipped): it gets no gradient", ast.Pass())
        yield Change(
            f"{part} is called twice: it adds to its gradients two times (doubled)",
            ast.Expr(ast.List([node.value, node.value], ast.Load())),
        )
    if isinstance(node, ast.For):
        for form, said in LOOPS.items():
            yield Change(said, with_part(node, "iter", filled(form, a=node.iter)))


@cache
def _documented(cached) -> list[tuple[str, str, str]]:
    """(name, shape, what it is) of each field, as the comments in the class of a cache say."""
    return FIELD.findall(inspect.getsource(cached)) if hasattr(cached, "_fields") else []


def _in_words(sentence, fields) -> str:
    """With the sizes as the cache's class calls them, query.shape[-1] as d_k, and what it says
    about each field that is named.
    """
    for name, shape, _words in fields:
        sizes = shape.strip("()").replace(" ", "").split(",")
        for i in range(1, len(sizes) + 1):
            sentence = sentence.replace(f"{name}.shape[-{i}]", sizes[-i])
    sentence = re.sub(r"\b1 is (added to|subtracted from)", r"1 (off by one) is \1", sentence)
    told = [
        f"{name}: {words}"
        for name, _shape, words in fields
        if words and re.search(rf"\b{name}\b", sentence)
    ]
    return f"{sentence} ({'; '.join(told[:2])})" if told else sentence


def of_cache(of, given) -> Iterator[Mistake]:
    """The Mistakes that are a change of one field of a cache such as the `given` one, before
    backward reads it.
    """
    method, textbook = method_of(of, "backward")
    fields = dict(_fields(given))
    for path, value in fields.items():
        dtype, name = np.asarray(value).dtype, f"cache.{path}"
        masks = OF_A_MASK if dtype.kind == "f" and not np.all(value) else []
        found = [
            (said.format(name=name), lambda array, cache, change=change: change(array))
            for said, change in (
                *masks,
                *wrong_numbers(dtype),
                *rearranged(np.ndim(value), dtype),
            )
        ]
        found += [
            (
                f"cache.{other} is used where {name} belongs",
                lambda array, cache, other=other: dict(_fields(cache))[other],
            )
            for other, another in fields.items()
            if other != path and np.shape(another) == np.shape(value)
        ]
        for i, (said, change) in enumerate(found):

            def wrong(*values, path=path, change=change) -> Any:
                return textbook(*values[:-1], _put(values[-1], path.split("."), change, values[-1]))

            yield Mistake(
                of,
                f"in backward, {_in_words(said, _documented(given.__class__))}",
                _with_signature(wrong, inspect.signature(textbook)),
                method,
                NAME if i < len(masks) else RARE,
            )


def _fields(cache, path="") -> Iterator[tuple[str, Any]]:
    """(path, value) of the numbers and arrays in a cache, and in those that it contains."""
    for name, value in zip(getattr(cache, "_fields", ()), cache):
        if isinstance(value, (np.ndarray, float)):
            yield path + name, value
        yield from _fields(value, f"{path}{name}.") if hasattr(value, "_fields") else ()


def _put(cache, path, change, whole) -> Any:
    name, *rest = path
    value = getattr(cache, name)
    return cache._replace(
        **{name: _put(value, rest, change, whole) if rest else change(value, whole)}
    )
