"""Is the checker able to fail? Changes the backwards one by one and runs `minitransformer
gradcheck`, which must fail.

    python -m tests.library.checking.mutants_of_gradients --count 400 --seed 1 --jobs 2

A change alters one operator, factor, axis, index, term, name or statement of a backward: of a
function that no forward calls. It counts if it alters a gradient of the layers of
tests/helpers/layers.py, in many sizes, or of a model's loss. Then the command runs, block by
block, on those that call the changed function, until one fails. What none of them notices is
printed.

--group forwards changes forwards, and counts those that no longer fit their backward, by central differences along one line;
--group compiled changes kernels, and counts those that alter a result or a gradient, in float32 or float64.

Recorded with seed 1, from changes that all compiled: the command failed for all 399 backwards that
altered a gradient, for all 74 forwards, 60 NumPy kernels and 40 compiled ones (the runs for
backwards and forwards were stopped there). It noticed 696 of the 700 changes that only raise an
error: two of the others need a single token or radius 0 (SURVIVORS), and for two, which were the
same line, a block was changed.
"""

import argparse
import ast
import contextlib
import inspect
import io
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import types
import warnings
from functools import partial
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from minitransformer.checking.blocks import blocks
from minitransformer.checking.subject import Subject, flat
from minitransformer.checking.report import OBSERVED, Finding
from minitransformer.checking.blocks import TrainingLoss
from minitransformer.cli import gradcheck, main as cli
from minitransformer.speed.kernels import kernels_run
from minitransformer_course.doctor import doctor
from tests.helpers.layers import NAMES, case as made_case
from tests.helpers.models import KINDS, make_batch_for, make_model
from tests.mutants import ROOT, candidates, code_of, compiles_differently, edits_of, span

PACKAGE = ROOT / "minitransformer"
TEXTBOOK = ("functional", "layers", "models", "zoo")
ROOMS = {
    "backwards": TEXTBOOK,
    "forwards": TEXTBOOK,
    "compiled": ("speed/compiled",),
}
DRAWS = 12  # sizes for each layer
LIMIT = 60  # seconds of processor time; a change that never ends is caught
STEP = 1e-6

# {(file, the line as it is after the change, without its comment): why the command does not notice
# it}
SURVIVORS = {
    (
        "zoo/recurrent/recurrence.py",
        "dstate, dweights, dz = xp.zeros_like(dstates[1]), [], []",
    ): "an error for a sequence of one token, and the command has none",
    (
        "zoo/attention/restricted.py",
        "size = -(-reach // block) * (1 if causal else 2) + 0",
    ): "an error with radius 0, or for a sequence of one token",
    (
        "zoo/convolutional/windows.py",
        "padded = xp.pad(x, ((0, 0), (left, left), (0, 0)))",
    ): "an error for windows of an even size, and the command has none",
}

# what the tree as it is does; each process that makes a change has a copy
unchanged = SimpleNamespace(
    results={},  # {key of a case: its output, its gradients}
    # {(file, line of a function): {"forward" or "backward": the keys of the cases that call it}}
    cases={},
    blocks={},
)  # {(file, line of a function): the command's blocks that call it, as {name: None}}


def case(name, i, dtype):
    """A layer, or a model with its loss, in random sizes. What its gradients are added to is
    random: = for += shows.
    """
    rng = np.random.default_rng([i, 7])
    if name in KINDS:
        block, inputs = (
            TrainingLoss(make_model(name, i, dropout=0.2 * (i % 3 > 0))),
            (make_batch_for(name, i), 0.1 * (i % 2)),
        )
    else:
        block, inputs = made_case(name, i + 1)
    checked = Subject(block, inputs, seed=3, dtype=np.dtype(dtype))
    for parameter in checked.parameters.values():
        parameter.grad[...] = rng.standard_normal(parameter.shape)
    return checked


def arrays(checked, run=lambda phase, function, *arguments: function(*arguments)):
    """The output, and every gradient."""
    y, cache = run("forward", checked.forward)
    dy, dtype = (
        checked.upstream(y, np.random.default_rng(5)),
        next(iter(checked.variables.values())).dtype,
    )
    dy = tuple(one.astype(dtype) for one in dy) if isinstance(dy, tuple) else np.asarray(dy, dtype)
    y = flat(y)
    return [y, *map(np.copy, run("backward", checked.gradients, dy, cache).values())]


def fits(checked):
    """Whether backward agrees with central differences along one random line, or a kink makes these
    disagree.
    """
    for parameter in checked.parameters.values():
        parameter.grad[...] = 0
    y, cache = checked.forward()
    dy, rng = checked.upstream(y, np.random.default_rng(5)), np.random.default_rng(6)
    gradients = checked.gradients(dy, cache)
    lines = {name: rng.standard_normal(x.shape) for name, x in checked.variables.items()}
    analytic = sum(float((gradients[name] * v).sum()) for name, v in lines.items())
    size = max(np.sqrt(sum(float((g * g).sum()) for g in gradients.values())), abs(analytic), 1e-3)
    near, far = (
        float((flat(dy) * (checked.moved(lines, step) - checked.moved(lines, -step))).sum())
        / (2 * step)
        for step in (STEP, 5 * STEP)
    )
    return abs(near - far) > 1e-5 * size or abs(near - analytic) < 1e-4 * size


def survey(dtypes):
    """Fill `unchanged`."""
    # {phase: the functions of the package, as (file from minitransformer/, first line)}
    called = {}

    def traced(phase, function, *arguments):
        codes = set()
        sys.setprofile(
            lambda frame, event, argument: codes.add(frame.f_code) if event == "call" else None
        )
        try:
            return function(*arguments)
        finally:
            sys.setprofile(None)
            called[phase] = {
                (Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_firstlineno)
                for code in codes
                if PACKAGE in Path(code.co_filename).parents
            }

    for key in (
        (name, i, dtype) for name in (*NAMES, *KINDS) for i in range(DRAWS) for dtype in dtypes
    ):
        unchanged.results[key] = arrays(case(*key), traced)
        for phase, functions in called.items():
            for function in functions:
                unchanged.cases.setdefault(function, {}).setdefault(phase, []).append(key)
    for name, (block, inputs) in blocks().items():
        for dtype in dtypes:
            arrays(
                Subject(block, inputs, seed=0, dtype=np.dtype(dtype)),
                traced,
            )
            for function in called["forward"] | called["backward"]:
                unchanged.blocks.setdefault(function, {})[name] = None


def changes(group, files=None):
    """[(Mutant, the function that it changes)] of a group, in all files or in these."""
    found = []
    for file in chain.from_iterable(
        sorted((PACKAGE / room).rglob("*.py")) for room in ROOMS[group]
    ):
        path = file.relative_to(PACKAGE).as_posix()
        top = ast.parse(file.read_text(encoding="utf-8")).body
        wanted = {}  # {line: the function or method that contains it}; without checks of arguments
        for function in chain(top, *(node.body for node in top if isinstance(node, ast.ClassDef))):
            first = min(one.lineno for one in (function, *getattr(function, "decorator_list", ())))
            phases = isinstance(function, ast.FunctionDef) and unchanged.cases.get((path, first))
            if phases and (
                ROOMS[group] != TEXTBOOK or (group == "forwards") == ("forward" in phases)
            ):
                wanted |= {
                    line: (path, first)
                    for part in function.body
                    if not ast.unparse(part).lstrip("_").startswith("check_")
                    for line in range(part.lineno, part.end_lineno + 1)
                }
        if wanted and (not files or path in files):
            found += [
                (mutant, wanted[mutant.line])
                for mutant in candidates(f"minitransformer/{path}", partial(edits_in, wanted))
            ]
    return found


def edits_in(wanted, tree, lines):
    """What is tried in these lines: also what tests/mutants.py lacks, a missing term, a sign,
    operands and names swapped.
    """
    nodes = chain.from_iterable(
        map(_of_a_formula, filter(lambda node: getattr(node, "lineno", 0) in wanted, code_of(tree)))
    )
    names = chain.from_iterable(
        _swapped_names(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    )
    return (edit for edit in chain(edits_of(tree, lines), nodes, names) if edit[0][0] in wanted)


def _of_a_formula(node):
    def text(part):
        return (
            f"({ast.unparse(part)})"
            if isinstance(part, (ast.BinOp, ast.IfExp))
            else ast.unparse(part)
        )

    if isinstance(node, ast.BinOp):
        operator = {ast.Sub: "-", ast.Div: "/", ast.MatMult: "@"}.get(type(node.op))
        if operator:
            yield *span(node), f"({text(node.right)} {operator} {text(node.left)})"
        if operator != "@":  # a term or a factor is missing
            yield from ((*span(node), text(part)) for part in (node.left, node.right))
    elif (
        isinstance(node, (ast.AugAssign, ast.Return))
        and node.value
        and not isinstance(node.value, ast.Tuple)
    ):
        yield from _scaled(node.value)
    elif isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
        if any(isinstance(x, ast.Name) and x.id == target.id for x in ast.walk(node.value)):
            yield *span(node), "pass"  # x = f(x)
        if not isinstance(node.value, ast.Constant):
            yield from _scaled(node.value)
    elif (
        isinstance(node, ast.Slice)
        and (node.lower is None) != (node.upper is None)
        and node.step is None
    ):
        yield *span(node), f":{text(node.lower)}" if node.lower else f"{text(node.upper)}:"
    elif isinstance(node, ast.Call) or (
        isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load)
    ):
        parts = node.args if isinstance(node, ast.Call) else node.elts
        yield from (
            (span(a)[0], span(b)[1], f"{ast.unparse(b)}, {ast.unparse(a)}")
            for a, b in pairwise(parts)
        )
        yield from chain.from_iterable(map(_scaled, parts)) if isinstance(node, ast.Tuple) else ()


def _scaled(value):
    return ((*span(value), f"{factor}({ast.unparse(value)})") for factor in ("-", "2 * "))


def _swapped_names(function):
    """Each local variable, and each field of one, is read in the place of the one that was first
    read before it.
    """
    own = {
        node.arg if isinstance(node, ast.arg) else getattr(node, "id", "")
        for node in ast.walk(function)
        if isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
    } - {"self", "xp", "cache"}
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    groups = {}  # {"" or the variable with the fields: {text: where it is read}}
    for node in sorted(
        (node for part in function.body for node in code_of(part) if hasattr(node, "lineno")),
        key=span,
    ):
        if (
            isinstance(getattr(node, "ctx", None), ast.Load)
            and id(node) not in called
            and (
                getattr(node, "id", "") in own
                or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
            )
        ):
            text = ast.unparse(node)
            groups.setdefault(text.rpartition(".")[0], {}).setdefault(text, []).append(span(node))
    for found in groups.values():
        for (text, places), new in zip(found.items(), [*list(found)[-1:], *found]):
            yield from ((*place, new) for place in places if new != text)


def install(mutant, function):
    """Give the function the code of the changed file."""
    path, first = function
    file = PACKAGE / path
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[mutant.line - 1] = mutant.after
    (code,) = (
        code
        for code in _codes(compile("\n".join(lines) + "\n", file, "exec"))
        if code.co_firstlineno == first
    )
    module = import_module("minitransformer." + path.removesuffix(".py").replace("/", "."))
    for holder in (module, *(value for value in vars(module).values() if isinstance(value, type))):
        for value in vars(holder).values():
            found = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            before = getattr(found, "__code__", None)
            if before and (before.co_filename, before.co_firstlineno) == (str(file), first):
                found.__code__ = code
                getattr(value, "cache_clear", lambda: None)()


def _codes(code):
    """The code objects of the functions and methods of a module's code."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from (
                [inner] if inner.co_flags & inspect.CO_NEWLOCALS else _codes(inner)
            )  # a class has no locals


def effect(group, function):
    """ "differs" or "raises" if a gradient of a case is another one now, or a forward no longer
    fits it; "no effect" if not.
    """
    for key in dict.fromkeys(chain.from_iterable(unchanged.cases[function].values())):
        try:
            checked = case(*key)
            if not (
                fits(checked)
                if group == "forwards"
                else _same(arrays(checked), unchanged.results[key])
            ):
                return "differs"
        except Exception:
            return "raises"
    return "no effect"


def _same(some, others):
    return all(
        np.shape(a) == np.shape(b)
        and np.abs(a - b).max(initial=0)
        <= (1e-9 if b.dtype == "float64" else 1e-4) * (1 + np.abs(b).max(initial=0))
        for a, b in zip(some, others, strict=True)
    )


def command(names):
    """The exit code of `minitransformer gradcheck NAMES`."""
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return cli(["gradcheck", *names])


def judge(group, change):
    """(Mutant, its effect, what noticed it: a block's name, or "" if nothing did)."""
    mutant, function = change
    if not compiles_differently(mutant):  # of those that are reached only: it takes a while
        return mutant, "no change", ""
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        install(mutant, function)
    except ValueError:  # super() is no longer called, or is now
        return mutant, "cannot be tried", ""
    try:
        with kernels_run():
            found = effect(group, function)
        for name in [] if found == "no effect" else unchanged.blocks.get(function, ()):
            if command([name]):
                return mutant, found, name
    except KeyboardInterrupt:
        return mutant, "never ends", "whoever waits"
    return mutant, found, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--group",
        choices=ROOMS,
        nargs="+",
        default=["backwards"],
        help="what is changed (default: backwards); forwards may follow, and kernels stand alone",
    )
    parser.add_argument(
        "--count",
        type=int,
        nargs="+",
        default=[400],
        help="how many of each group that differ, not counting errors (default: 400)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=1, help="how many are tried at a time (default: 1)"
    )
    parser.add_argument(
        "--files", nargs="*", help="change these only, such as functional/attention.py"
    )
    args = parser.parse_args()
    # Without kernels, the command checks less: the textbook's check alone must notice a changed
    # textbook.
    os.environ["MINITRANSFORMER_FAST"] = "1" if args.group[0] == "compiled" else "0"
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # the loops run as Python: nothing is compiled
    warnings.simplefilter("ignore")
    assert command(["relu"]) == 0  # in this process, what the command imports is imported once
    gradcheck.available_cores = lambda: 1  # other processes would import the unchanged tree
    doctor.diagnose = doctor.find_breach = lambda *ignored, **options: Finding(
        OBSERVED, ""
    )  # or it takes as long again
    with kernels_run():
        survey(("float64", "float32") if args.group[0] == "compiled" else ("float64",))
    with (
        tempfile.TemporaryDirectory() as tempfile.tempdir
    ):  # for the command's reports of unexpected errors
        holes = [
            campaign(group, count, args)
            for group, count in zip(args.group, args.count, strict=True)
        ]
    return 1 if any(holes) else 0


def campaign(group, count, args):
    """How many changes of a group survive without a reason."""
    drawn = changes(group, args.files)
    random.Random(args.seed).shuffle(drawn)
    tried, missed = {}, {}
    with multiprocessing.get_context("fork").Pool(
        args.jobs, maxtasksperchild=1
    ) as pool:  # a process for each change
        for mutant, found, noticed in pool.imap_unordered(partial(judge, group), drawn):
            tried[found] = tried.get(found, 0) + 1
            counts = found not in ("no change", "no effect", "cannot be tried")
            if counts and not noticed:
                path = mutant.path.removeprefix(f"{PACKAGE.name}/")
                missed[mutant] = SURVIVORS.get((path, mutant.after.partition("  #")[0].strip()))
                noticed = f"nothing: {missed[mutant] or 'A HOLE'}"
            print(f"{found}{f', noticed by {noticed}' if counts else ''}: {mutant}", flush=True)
            if tried.get("differs", 0) >= count:
                break
    holes = sum(not reason for reason in missed.values())
    print(
        f"{group}, seed {args.seed}: {tried}, of {len(drawn)} changes; {len(missed)} survive, {holes} of them without a reason"
    )
    return holes


if __name__ == "__main__":
    sys.exit(main())
