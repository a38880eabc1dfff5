"""Is the checker able to fail? Changes the backwards one by one and runs `minitransformer gradcheck`, which must fail.

    python -m tests.checking.mutants_of_gradients --count 400 --seed 1 --jobs 2

A change alters one operator, factor, axis, index, term, name or statement of a backward: of a function that no forward calls.
It counts if it alters a gradient of the layers of tests/layers/cases.py, in many sizes, or of a model's loss. Then the command
runs, block by block, on those that call the changed function, until one fails. What none of them notices is printed.

--group forwards changes forwards, and counts those that no longer fit their backward, by central differences along one line;
--group numpy and --group compiled change kernels, and count those that alter a result or a gradient.
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
from functools import partial
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.checking.more_edits import formula_edits
from tests.mutants import ROOT, mutants

PACKAGE = ROOT / "minitransformer"
TEXTBOOK = ("functional", "layers", "models", "rivals", "successors")
ROOMS = {"backwards": TEXTBOOK, "forwards": TEXTBOOK, "numpy": ("kernels/numpy",), "compiled": ("kernels/compiled",)}
DRAWS = 12       # sizes for each layer
LIMIT = 120      # seconds of processor time; a change that never ends is caught
STEP = 1e-6

# {(file, the line as it is after the change): why the command does not notice it}
SURVIVORS: dict[tuple[str, str], str] = {}


class Survey(NamedTuple):
    """What the unchanged tree does."""

    results: dict    # {key of a case: its arrays}
    cases: dict      # {(file, line of a function): {"forward" or "backward": the keys of the cases that call it}}
    blocks: dict     # {(file, line of a function): the names of the command's blocks that call it, small ones first}


class TimeIsUp(BaseException):
    pass


def keys():
    from tests.layers.cases import NAMES
    from tests.models.makers import KINDS
    return [(name, i) for name in (*NAMES, *(f"{kind} loss" for kind in KINDS)) for i in range(DRAWS)]


class Case:
    """A layer, or a model with its loss, that runs repeatedly in the same way."""

    def __init__(self, key):
        name, i = key
        self.rng = np.random.default_rng([i, 7])
        if name.endswith(" loss"):
            self.layer, batch = self._model(name.removesuffix(" loss"), i)
            self._forward, self._backward = self.layer.loss_forward, self.layer.loss_backward
            self.arguments = {"batch": batch, "smoothing": 0.1 * (i % 2)}
        else:
            self.layer, inputs = self._layer(name, i)
            self._forward, self._backward = self.layer.forward, self.layer.backward
            self.arguments = inputs if isinstance(inputs, dict) else dict(enumerate(inputs))
        self.parameters = list(self.layer.parameters().values())
        for parameter in self.parameters:    # so that = in the place of += shows
            parameter.grad[...] = self.rng.standard_normal(parameter.shape)
        self.variables = [*(x for x in self.arguments.values() if isinstance(x, np.ndarray) and x.dtype.kind == "f"),
                          *(parameter.data for parameter in self.parameters)]

    def _layer(self, name, i):
        from tests.layers.cases import make_case
        size = dict(zip(("batch", "t_q", "t_k", "heads", "d_k", "d_v", "d_ff"), map(int, self.rng.integers(1, 5, 7))))
        flag = dict(zip(("pre_norm", "share"), map(bool, self.rng.integers(0, 2, 2))))
        case = make_case(name, {**size, **flag, "d_model": int(self.rng.integers(4, 8)), "activation": ("relu", "gelu")[i % 2],
                                "positions": ("sinusoidal", "learned")[i // 2 % 2], "dropout_rate": 0.3 * (i % 3 > 0), "seed": i})
        return case.layer, case.inputs

    def _model(self, kind, i):
        from tests.models.makers import make_batch_for, make_model
        return make_model(kind, i, dropout=0.2 * (i % 3 > 0)), make_batch_for(kind, i)

    def forward(self):
        """The outputs, and the cache."""
        positional = [value for name, value in self.arguments.items() if isinstance(name, int)]
        named = {name: value for name, value in self.arguments.items() if not isinstance(name, int)}
        if "rng" in inspect.signature(self._forward).parameters:
            named["rng"] = np.random.default_rng(3)
        y, cache = self._forward(*positional, **named)
        return (y.loss if hasattr(y, "loss") else y), cache

    def backward(self, dy, cache):
        """Every gradient: those that backward returns, and what it adds to the parameters'."""
        before = [parameter.grad.copy() for parameter in self.parameters]
        returned = self._backward(dy, cache)
        returned = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
        return [*returned, *(parameter.grad - old for parameter, old in zip(self.parameters, before))]

    def upstream(self, y):
        rng = np.random.default_rng(5)
        return tuple(rng.standard_normal(one.shape) for one in y) if isinstance(y, tuple) else rng.standard_normal(np.shape(y))

    def arrays(self, phase=lambda name: contextlib.nullcontext()):
        """All outputs and gradients."""
        with phase("forward"):
            y, cache = self.forward()
        outputs = [np.copy(one) for one in (y if isinstance(y, tuple) else (y,))]
        with phase("backward"):
            return outputs, self.backward(self.upstream(y), cache)

    def fits(self):
        """Whether backward agrees with central differences along one random line, or a kink makes these disagree."""
        y, cache = self.forward()
        dy = self.upstream(y)
        gradients = self.backward(dy, cache)
        lines = [self.rng.standard_normal(x.shape) for x in self.variables]
        analytic = sum(float((g * v).sum()) for g, v in zip(gradients, lines))
        size = max(np.sqrt(sum(float((g * g).sum()) for g in gradients)), abs(analytic), 1e-3)
        near, far = self._slope(dy, lines, STEP), self._slope(dy, lines, 5 * STEP)
        return abs(near - far) > 1e-5 * size or abs(near - analytic) < 1e-4 * size

    def _slope(self, dy, lines, step):
        sums = []
        for sign in (1, -2):    # ahead, then behind
            for x, v in zip(self.variables, lines):
                x += sign * step * v
            y, _ = self.forward()
            sums.append(sum(float((a * b).sum()) for a, b in zip(y, dy)) if isinstance(y, tuple) else float(np.sum(y * dy)))
        for x, v in zip(self.variables, lines):
            x += step * v
        return (sums[0] - sums[1]) / (2 * step)


class Recorder:
    """Which functions of the package run, in which phase."""

    def __init__(self):
        self.called = set()    # (phase, code)

    @contextlib.contextmanager
    def __call__(self, phase):
        def call(frame, event, argument):
            if event == "call":
                self.called.add((phase, frame.f_code))
        sys.setprofile(call)
        try:
            yield
        finally:
            sys.setprofile(None)

    def functions(self):
        """(phase, (file from minitransformer/, the function's first line)) of those of the package."""
        found = ((phase, Path(code.co_filename), code.co_firstlineno) for phase, code in self.called)
        return [(phase, (file.relative_to(PACKAGE).as_posix(), line)) for phase, file, line in found if PACKAGE in file.parents]


def survey():
    """The Survey of the tree as it is."""
    from minitransformer.checking.blocks import blocks
    from minitransformer.checking.checked_block import CheckedBlock
    results, cases, uses = {}, {}, {}
    for key in keys():
        recorder = Recorder()
        results[key] = Case(key).arrays(recorder)
        for phase, function in recorder.functions():
            cases.setdefault(function, {}).setdefault(phase, []).append(key)
    sized = []
    for name, (block, inputs) in blocks().items():
        recorder, checked = Recorder(), CheckedBlock(block, inputs, np.float64, lambda: np.random.default_rng(0))
        with recorder("block"):
            y, cache = checked.forward()
            checked.gradients(checked.upstream(y, np.random.default_rng(0)), cache)
        sized.append((sum(x.size for x in checked.variables.values()), name, recorder.functions()))
    for _, name, called in sorted(sized, key=lambda one: one[0]):
        for _, function in called:
            uses.setdefault(function, []).append(name)
    return Survey(results, cases, uses)


def functions(path):
    """{line: the first line of the outermost function or method that contains it}, of a file."""
    found = {}
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        for function in [node, *(node.body if isinstance(node, ast.ClassDef) else [])]:
            if isinstance(function, ast.FunctionDef):
                first = min(one.lineno for one in [function, *function.decorator_list])
                found.update(dict.fromkeys(range(function.body[0].lineno, function.end_lineno + 1), first))
    return found


def changes(group, surveyed, files=None):
    """[(Mutant, the function that it changes)] of a group, in all files or in these."""
    found = []
    for room in ROOMS[group]:
        for file in sorted((PACKAGE / room).rglob("*.py")):
            path = file.relative_to(PACKAGE).as_posix()
            if files and path not in files:
                continue
            wanted = {line: (path, first) for line, first in functions(path).items()
                      if _belongs(group, surveyed.cases.get((path, first)))}
            found += [(mutant, wanted[mutant.line]) for mutant in mutants(path, partial(edits_in, wanted))] if wanted else []
    return found


def _belongs(group, phases):
    return bool(phases) and (group in ("numpy", "compiled") or (group == "backwards") == ("forward" not in phases))


def edits_in(lines_wanted, tree, lines):
    return (edit for edit in formula_edits(tree, lines) if edit[0][0] in lines_wanted)


def install(mutant, function):
    """Give the function the code of the changed file."""
    path, first = function
    file = PACKAGE / path
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[mutant.line - 1] = mutant.after
    (code,) = (code for code in _codes(compile("\n".join(lines) + "\n", file, "exec")) if code.co_firstlineno == first)
    module = import_module("minitransformer." + path.removesuffix(".py").replace("/", "."))
    for holder in (module, *(value for value in vars(module).values() if isinstance(value, type))):
        for value in vars(holder).values():
            for found in (getattr(value, "__func__", value), getattr(value, "fget", None), getattr(value, "fset", None)):
                found = inspect.unwrap(found) if callable(found) else found
                before = getattr(found, "__code__", None)
                if before and (before.co_filename, before.co_firstlineno) == (str(file), first):
                    found.__code__ = code


def _codes(code):
    """The code objects of the functions and methods of a module's code."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            is_class = not inner.co_flags & inspect.CO_NEWLOCALS
            yield from _codes(inner) if is_class else [inner]


def effect(group, function, surveyed):
    """"differs" or "raises" if a gradient of a case is another one now, or a forward no longer fits it; "" if not."""
    phases = surveyed.cases[function]
    for key in dict.fromkeys(key for found in phases.values() for key in found):
        outputs, gradients = surveyed.results[key]
        try:
            if group == "forwards":
                if not Case(key).fits():
                    return "differs"
            else:
                outputs_now, gradients_now = Case(key).arrays()
                if not _same(gradients, gradients_now) or (group != "backwards" and not _same(outputs, outputs_now)):
                    return "differs"
        except TimeIsUp:
            raise
        except Exception:
            return "raises"
    return ""


def _same(some, others):
    return len(some) == len(others) and all(
        np.shape(a) == np.shape(b) and np.abs(a - b).max(initial=0) <= 1e-9 * (1 + np.abs(a).max(initial=0))
        for a, b in zip(some, others))


def command(names):
    """The exit code of `minitransformer gradcheck NAMES`."""
    from minitransformer.cli import main
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
        return main(["gradcheck", *names])


def judge(group, change, surveyed, whole):
    """(effect, what noticed it: a block's name, or "" if nothing did)."""
    mutant, function = change
    with tempfile.TemporaryDirectory() as tempfile.tempdir:    # for the command's reports of unexpected errors
        install(mutant, function)
        signal.signal(signal.SIGVTALRM, _stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            found = effect(group, function, surveyed)
        except TimeIsUp:
            found = "never ends"
        if not found:
            return "", ""
        signal.setitimer(signal.ITIMER_VIRTUAL, 10 * LIMIT if whole else LIMIT)
        name = ""
        try:
            if whole:
                return found, "the command" if command([]) else ""
            from minitransformer.diagnosis import doctor
            doctor.diagnose = lambda *arguments, **options: None    # it would name the mistake, and take as long again
            for name in surveyed.blocks.get(function, []):
                if command([name]):
                    return found, name
        except TimeIsUp:
            return found, f"{name}, which never ends"
        return found, ""


def _stop(*ignored):
    raise TimeIsUp


def each_alone(function, arguments, jobs):
    """(argument, function(argument)) of each, in a process of its own, `jobs` at a time; None if it dies."""
    context, running, left = multiprocessing.get_context("fork"), {}, list(reversed(arguments))

    def answer(sender, argument):
        sender.send(function(argument))

    while left or running:
        while left and len(running) < jobs:
            receiver, sender = context.Pipe(duplex=False)
            argument = left.pop()
            process = context.Process(target=answer, args=(sender, argument))
            process.start()
            sender.close()
            running[receiver] = process, argument
        for receiver in wait(list(running)):
            process, argument = running.pop(receiver)
            try:
                result = receiver.recv()
            except EOFError:
                result = None
            process.join()
            yield argument, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--group", choices=ROOMS, default="backwards", help="what is changed (default: backwards)")
    parser.add_argument("--count", type=int, default=400, help="how many are drawn (default: 400)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="how many are tried at a time (default: 1)")
    parser.add_argument("--files", nargs="*", help="change these only, such as functional/attention.py")
    parser.add_argument("--whole", action="store_true", help="run the whole command, not the blocks that use the function")
    parser.add_argument("--list", action="store_true", help="print what is drawn and run nothing")
    args = parser.parse_args()
    os.environ["MINITRANSFORMER_FAST"] = {"numpy": "numpy", "compiled": "1"}.get(args.group, "0")
    if args.group == "compiled":
        os.environ["NUMBA_DISABLE_JIT"] = "1"    # the loops run as Python: nothing is compiled
        import numba    # noqa: F401
    surveyed = survey()
    assert command(["relu"]) == 0    # in the parent process, what it imports is imported once
    every = changes(args.group, surveyed, args.files)
    drawn = random.Random(args.seed).sample(every, min(args.count, len(every)))
    if args.list:
        print(*(mutant for mutant, _ in drawn), sep="\n")
        return 0
    counts, survivors = {}, 0
    for (mutant, _), result in each_alone(lambda change: judge(args.group, change, surveyed, args.whole), drawn, args.jobs):
        found, noticed = result or ("dies", "the process, which ends")
        found = found or "no effect"
        counts[found] = counts.get(found, 0) + 1
        if not noticed and found != "no effect":
            reason = SURVIVORS.get((mutant.path, mutant.after.strip()))
            survivors += not reason
            noticed = f"nothing: {reason or 'A HOLE'}"
        print(f"{found}, noticed by {noticed or 'nothing'}: {mutant}", flush=True)
    print(f"{args.group}, seed {args.seed}: {len(drawn)} of {len(every)} changes: {counts}; {survivors} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
