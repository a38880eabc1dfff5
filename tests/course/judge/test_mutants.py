"""Each reference with one thing changed, by people's habits and not by the judge's own rules: every
such mutant has to fail.
"""

import ast
import copy
import math
import warnings

import numpy as np
import pytest

from minitransformer.checking.compare import relative_error
from minitransformer_course.diagnosis.fitting import tuple_of
from minitransformer_course.judge.course import exercises
from minitransformer_course.judge.explanation import EXACT
from minitransformer_course.judge.judgement import cases_of
from minitransformer_course.judge.stages import EXTRA

EXERCISES = {name: one for name, one in exercises().items() if not one.versions}
SAMPLE = (
    "softmax",
    "attention",
    "layer_norm",
    "clip",
    "clipped_matches",
    "shifted",
)  # in the README's command
SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
REDUCTIONS = {
    "sum": ("mean", "max"),
    "mean": ("sum", "max", "min"),
    "max": ("min", "mean"),
    "any": ("all",),
    "all": ("any",),
}
UNSHIFTED = "no score is large here, and what is subtracted does not matter: the exercises on the softmax ask for it"
TWO_AXES = "the array has two axes, so 1 is the last"
EQUIVALENT = {  # {exercise: {change: why it is as right as the reference}}
    "shares_backward": dict.fromkeys(
        (
            "x.sum(axis=-1, keepdims=True) -> x.sum(axis=1, keepdims=True)",
            "(dy * y).sum(axis=-1, keepdims=True) -> (dy * y).sum(axis=1, keepdims=True)",
        ),
        TWO_AXES,
    ),
    "copied": {"V -> 70000": "a base above every id is right, too"},
    "masked_softmax": {
        "0 -> 1": "whatever is subtracted from an empty row, all of it is minus infinity",
        "1 -> 2": "0 divided by anything is 0",
    },
    "find_leaks": {
        **dict.fromkeys(
            (
                "3 + (ids - 2) % 26 -> (ids - 2) % 26",
                "3 -> 0",
                "ids - 2 -> ids + 2",
                "ids - 2 -> ids",
                "2 -> 0",
                "2 -> 4",
            ),
            "another id takes the place of the token all the same",
        ),
        "np.abs(changed - y) > 0.001 -> np.abs(changed - y) >= 0.001": "no number moves by 0.001 exactly",
    },
    "feed_forward_backward": {
        "a > 0 -> a >= 0": "no number is 0 exactly, and there a subgradient may be either"
    },
    "dropouts_backward": dict.fromkeys(("W.shape[0] -> W.shape[1]", "0 -> 1"), "W is square"),
    "post_norm_backward": dict.fromkeys(("W.shape[0] -> W.shape[1]", "0 -> 1"), "W is square"),
    "decoder_layer": {
        "-np.inf -> -100.0": "a token's score with itself is at least 0, and exp(-100) is nothing beside exp(0)",
        "scores - scores.max(axis=-1, keepdims=True) -> scores": UNSHIFTED,
        "scores.max(axis=-1, keepdims=True) -> ": UNSHIFTED,
        **dict.fromkeys(
            (
                "(h * h).mean(axis=-1, keepdims=True) + 1e-05 -> (h * h).mean(axis=-1, keepdims=True)",
                "1e-05 -> 2e-05",
                "1e-05 -> 1.0000000000000002e-06",
            ),
            "the last LayerNorm removes the scale",
        ),
    },
    "smoothed_targets": {"1 -> 2": "0 times any logarithm is 0"},
    "schedule": {
        "np.minimum(rise, fall) -> np.where(rise ** 2 < fall, rise, fall)": "both change at the peak, where they are 1"
    },
    "nucleus": {"before < top_p -> before <= top_p": "no sum is top_p exactly"},
    "cached_step": {
        "query.shape[-1] -> query.shape[1]": TWO_AXES,
        "e.sum(axis=-1, keepdims=True) -> e.sum(axis=1, keepdims=True)": TWO_AXES,
        "scores - scores.max(axis=-1, keepdims=True) -> scores": UNSHIFTED,
        "scores.max(axis=-1, keepdims=True) -> ": UNSHIFTED,
    },
    "bits_per_character": dict.fromkeys(
        (
            f"said.max(axis=-1, keepdims=True) -> {other}"
            for other in (
                "np.take(said, [-1], axis=-1)",
                "np.take(said, [0], axis=-1)",
                "said.min(axis=-1, keepdims=True)",
                "said.mean(axis=-1, keepdims=True)",
            )
        ),
        "the logits of a row are near each other: any of them keeps exp small",
    ),
    "prefix_score": {
        "after.any(axis=-1) -> after.any(axis=1)": "as many letters come before an equal one as after"
    },
    "reinforce_backward": dict.fromkeys(
        (
            f"logits.max(axis=-1, keepdims=True) -> {other}"
            for other in (
                "np.take(logits, [-1], axis=-1)",
                "np.take(logits, [0], axis=-1)",
                "logits.min(axis=-1, keepdims=True)",
                "logits.mean(axis=-1, keepdims=True)",
            )
        ),
        "the logits of a row are near each other: any of them keeps exp small",
    ),
    "difference_backward": dict.fromkeys(
        (
            "dn.mean(axis=-1, keepdims=True) -> dn.mean(axis=1, keepdims=True)",
            "(dn * n).mean(axis=-1, keepdims=True) -> (dn * n).mean(axis=1, keepdims=True)",
        ),
        TWO_AXES,
    ),
    "training_operations": {"1000000000000.0 -> 1000000000001.0": "the same to twelve digits"},
    "clipped_matches": {
        "np.tril((found[:, None] == found).all(axis=-1)).sum(axis=1) -> "
        "np.tril((found[:, None] == found).all(axis=-1)).sum(axis=0)": "counted from the end, as many match",
        "1 -> 0 (line 6)": "the same",
    },
    "corpus_bleu": {
        "np.minimum(0, 1 - ratio) -> np.where(0 ** 2 < 1 - ratio, 0, 1 - ratio)": "the square of 0 is 0"
    },
    "merged": dict.fromkeys(
        (
            "(pairs[:, None] == pairs).all(axis=-1).sum(axis=1) -> "
            f"(pairs[:, None] == pairs).all(axis=-1).{other}"
            for other in ("mean(axis=1)", "sum(axis=0)")
        ),
        "the order of the counts is the same, and the table of equal pairs is symmetric",
    ),
    "layers_needed": {"n -> ": "more layers than are needed are tried"},
}


def mutants(source, scalars):
    """{"what -> what it became": the source with that change}. scalars: {name of an argument: the
    numbers that it has}.
    """
    tree, made = ast.parse(source), {}
    nodes = [node for line in tree.body[0].body[1:] for node in ast.walk(line)]
    negative = [
        node.operand for node in nodes if isinstance(node, ast.UnaryOp)
    ]  # -1 in reshape, or an axis
    for i, node in enumerate(nodes):
        if node in negative:
            continue
        written = ast.unparse(node)
        for code in {
            ast.unparse(ast.parse(one, mode="eval")): None for one in _others(node, scalars)
        }.keys() - {written}:
            changed = copy.deepcopy(tree)
            target = [inner for line in changed.body[0].body[1:] for inner in ast.walk(line)][i]
            new = ast.parse(code, mode="eval").body
            replaced = _Put(target, new).visit(changed)
            made[f"{written} -> {code} (line {node.lineno})"] = ast.unparse(
                ast.fix_missing_locations(replaced)
            )
    return made


class _Put(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def _others(node, scalars):
    """The code of what could stand in the place of an expression."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from map(repr, scalars.get(node.id, ()))  # an argument is not read
    if isinstance(node, (ast.BinOp, ast.Compare)):
        left, right, sign = (
            (node.left, node.right, node.op)
            if isinstance(node, ast.BinOp)
            else (node.left, node.comparators[0], node.ops[0])
        )
        if type(sign) in SWAPS:
            other = copy.deepcopy(node)
            if isinstance(node, ast.BinOp):
                other.op = SWAPS[type(sign)]()
                yield from (ast.unparse(left), ast.unparse(right))
            else:
                other.ops = [SWAPS[type(sign)]()]
                if ast.unparse(right) != "0":
                    yield f"({ast.unparse(left)}) ** 2 {ast.unparse(node).removeprefix(ast.unparse(left))}"
            yield ast.unparse(other)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and ast.unparse(node) == "-np.inf"
    ):
        yield from ("-100.0", "-10.0", "0.0")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from (
            repr(node.value + 1),
            repr(2 * node.value),
            repr(node.value / 10 if isinstance(node.value, float) else 0),
        )
    if isinstance(node, ast.Call):
        yield from _other_calls(node)
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(".shape"):
        yield from (
            f"{ast.unparse(node.value)}[{axis}]" for axis in _other_axes(ast.unparse(node.slice))
        )


def _other_calls(node):
    name, given = ast.unparse(node.func), [ast.unparse(one) for one in node.args]
    if name in ("max", "min", "np.maximum", "np.minimum") and len(given) == 2:
        sign = ">" if "max" in name else "<"
        yield from (
            f"np.where(({given[0]}) ** 2 {sign} {given[1]}, {given[0]}, {given[1]})",
            *given,
        )
    if isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS and not given:
        of, axes = (
            ast.unparse(node.func.value),
            {one.arg: ast.unparse(one.value) for one in node.keywords},
        )
        rest = "" if "keepdims" not in axes else ", keepdims=True"
        written = ", ".join(f"{key}={value}" for key, value in axes.items())
        yield from (f"({of}).{other}({written})" for other in REDUCTIONS[node.func.attr])
        if "axis" in axes:
            yield from (
                f"({of}).{node.func.attr}(axis={axis}{rest})" for axis in _other_axes(axes["axis"])
            )
            yield from (
                f"np.take({of}, {f'[{place}]' if rest else place}, axis={axes['axis']})"
                for place in (0, -1)
            )
    if (
        name.startswith("np.")
        and len(given) == 1
        and name[3:] in "exp log sqrt tanh abs cos sin".split()
    ):
        yield given[0]


def _other_axes(axis):
    return (0, 1) if axis == "-1" else (0,) if axis in ("1", "3") else (1,)


def survivors(exercise):
    """The mutants that give the reference's numbers in every case."""
    cases = cases_of(exercise)[: 1 - EXTRA]
    scalars = {
        name: dict.fromkeys(arguments[i] for _name, arguments in cases)
        for i, name in enumerate(exercise.parameters)
        if isinstance(cases[0][1][i], (int, float))
    }
    left = []
    for what, source in mutants(exercise.source, scalars).items():
        names = {"np": np, "math": math}
        exec(source, names)
        left += [what] * is_right(exercise, names[exercise.name], cases)
    return left


def is_right(exercise, function, cases):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = (tuple_of(function(*copy.deepcopy(arguments))) for _name, arguments in cases)
            return all(
                relative_error(one, tuple_of(exercise.reference(*arguments))) <= EXACT
                for one, (_name, arguments) in zip(given, cases)
            )
        except Exception:  # a mutant need not run
            return False


@pytest.mark.parametrize(
    "name",
    [
        name if name in SAMPLE else pytest.param(name, marks=pytest.mark.campaign)
        for name in EXERCISES
    ],
)
def test_every_mutant_fails_or_is_as_right_as_the_reference(name):
    known = EQUIVALENT.get(name, {})
    assert [what for what in survivors(EXERCISES[name]) if not what.startswith(tuple(known))] == []


def digits(ids, new):
    """The text as a string with a character for each id."""
    right, _text = EXERCISES["merged"].reference(ids, new)
    text = "".join(map(str, ids)).replace("".join(map(str, right)), str(new))
    return right, np.array([*map(int, text)])


def first_subtracted(x):
    e = np.exp(x - x[..., :1])
    return e / e.sum(axis=-1, keepdims=True)


def masked_by(number):
    def masked_softmax(x, mask):
        x = np.where(mask, x, number)
        e = np.exp(x - x.max(axis=-1, keepdims=True)) * np.broadcast_to(
            mask.any(axis=-1, keepdims=True), x.shape
        )
        return e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)

    return masked_softmax


def longest(losses, ids):
    return (losses * (ids != 0)).sum(), (ids != 0).sum(axis=1).max()


def full_last_row(losses, ids):
    return (losses * (ids != 0)).sum(), (ids[:-1] != 0).sum() + ids.shape[1]


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("merged", digits),
        ("softmax", first_subtracted),
        ("masked_softmax", masked_by(-100.0)),
        ("masked_softmax", masked_by(-1000.0)),
        ("masked_loss", longest),
        ("masked_loss", full_last_row),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_people_write_in_another_way_fails_at_any_seed(name, wrong):
    for seed in range(10):
        assert not is_right(EXERCISES[name], wrong, EXERCISES[name].cases(seed))
