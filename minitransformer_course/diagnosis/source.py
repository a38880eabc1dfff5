"""A reader's own backward: its source as a syntax tree that can be changed and run, and the names
that it could have used.
"""

import ast
import inspect
import math
import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from minitransformer.checking.contract import arrays_in
from minitransformer.checking.numeric import complex_step
from minitransformer.checking.subject import drawing, flat
from minitransformer.errors import InputError
from minitransformer_course.diagnosis.factors import as_text, ratio
from minitransformer_course.diagnosis.operations import run_with
from minitransformer_course.diagnosis.wrong_forms import Found
from minitransformer_course.diagnosis.syntax_tree import expression, filled, names_in

NEAR = 1e-10  # relative error of a derivative along a direction
TWICE = 2  # directions for each array
SLOPES = (
    ("f", ""),
    ("1 - f * f", "tanh"),
    ("f * (1 - f)", "sigmoid"),
    ("1 - f", ""),
    ("1 / f", ""),
    ("np.exp(f)", "exp"),
)
NO_SOURCE = OSError, TypeError, ValueError, SyntaxError, IndexError  # what Source may raise
NEVER = "func", "returns", "annotation", "targets", "target"  # parts of a tree that are not changed


class Probe:
    """One case, on which changed backwards are run; right(gradients) compares them with derivatives
    along random directions.
    """

    def __init__(self, case):
        self.checked, self.dy = case.subject.astype(np.float64), case.dy
        _, self.cache = self.checked.forward()
        for array in (
            *self.checked.variables.values(),
            *(array for _name, array, _copy in arrays_in(self.cache)),
        ):
            array.flags.writeable = False  # a change that writes into them fails
        rng = drawing(21)
        self.directions: dict[Any, Any] = {
            (name, k): rng.standard_normal(g.shape)
            for name, g in case.observed.items()
            for k in range(TWICE)
        }
        dy = flat(case.dy)
        self.slopes = {
            key: float(complex_step(partial(case._complex.moved, {key[0]: v}), dy))
            for key, v in self.directions.items()
        }
        sizes = {
            key: max(abs(slope), float(np.sqrt((case.observed[key[0]] ** 2).sum())))
            for key, slope in self.slopes.items()
        }
        self.scales = {name: max(size, max(sizes.values()) / 10) for name, size in sizes.items()}

    def along(self, function, source) -> dict[tuple[str, int], float] | None:
        """{name: the gradient's product with the direction} with this function in the source's
        place; None if it does not run.
        """
        try:
            with source.replaced(self.checked, function):
                self.checked.zero_grad()
                gradients = self.checked.gradients(self.dy, self.cache)
            return {key: float((gradients[key[0]] * v).sum()) for key, v in self.directions.items()}
        except InputError:
            return None

    def is_right(self, along) -> bool:
        return along is not None and all(
            abs(along[key] - slope) <= NEAR * self.scales[key] for key, slope in self.slopes.items()
        )


class Source:
    """The syntax tree of a reader's function, which is changed in place, compiled and restored.

    method: what the layer calls it; "" for a function of the same file.
    """

    def __init__(self, function, method="backward"):
        self.method = method
        self.function = inspect.unwrap(function)
        module = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        self.tree = module.body[0]
        if not isinstance(self.tree, ast.FunctionDef) or any(
            isinstance(node, ast.While) for node in ast.walk(self.tree)
        ):
            raise ValueError("a lambda, or a loop that might never end once it is changed")
        self.tree.decorator_list = []
        known = inspect.getclosurevars(self.function)
        self.names = {**self.function.__globals__, **known.nonlocals, "np": np, "math": math}
        make = ast.parse("def make(__class__): return None").body[0]
        make.body = [self.tree, ast.Return(ast.Name(self.tree.name, ast.Load()))]  # type: ignore[attr-defined]
        self.module = ast.fix_missing_locations(ast.Module([make], []))
        self.owner = known.nonlocals.get("__class__")
        self.places = [
            (parent, field, i, node)
            for parent in ast.walk(self.tree)
            for field, value in ast.iter_fields(parent)
            for i, node in (enumerate(value) if isinstance(value, list) else [(None, value)])
            if isinstance(node, (ast.expr, ast.stmt))
            and field not in NEVER
            and not (field == "value" and isinstance(getattr(parent, "ctx", None), ast.Store))
        ]  # what is written into
        self.statement = {}  # {id of a node: its statement}
        for statement in [one for one in ast.walk(self.tree) if isinstance(one, ast.stmt)][::-1]:
            header = (
                [statement.iter]
                if isinstance(statement, ast.For)
                else []
                if hasattr(statement, "body")
                else [statement]
            )
            self.statement |= {id(node): statement for part in header for node in ast.walk(part)}
        self.values, self._known, self._lines = dict(self.names), {}, {}

    @contextmanager
    def replaced(self, checked, function) -> Iterator[None]:
        """Within the block, the function runs in the place of the reader's."""
        if self.method:
            with run_with(checked, self.method, function):
                yield
            return
        home, name = self.function.__globals__, self.function.__name__
        home[name] = function
        try:
            yield
        finally:
            home[name] = self.function

    def compiled(self) -> Callable:
        namespace = dict(self.names)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a change such as 1[None] makes no sense, but does no harm
            exec(compile(self.module, "<changed>", "exec"), namespace)
        return namespace["make"](self.owner)

    def changed(self, places, *nodes) -> Callable:
        """The function with a node in each of these places, or one in all of them."""
        try:
            for place, node in zip(places, nodes * len(places) if len(nodes) == 1 else nodes):
                _put(place, ast.fix_missing_locations(node))
            return self.compiled()
        finally:
            for place in places:
                _put(place, place[3])

    def run(self, probe) -> dict[tuple[str, int], float] | None:
        """The unchanged backward; its local names are kept in `values`."""
        function = self.compiled()

        def look(frame, event, _argument) -> None:
            if event == "return" and frame.f_code is function.__code__:
                self.values.update(frame.f_locals)

        before = sys.getprofile()
        sys.setprofile(look)
        try:
            return probe.along(function, self)
        finally:
            sys.setprofile(before)

    def value(self, node) -> Any:
        """What an expression is at the end of backward; None if that is no number, and no array of
        numbers.
        """
        text = ast.unparse(node)
        if text not in self._known:
            try:
                found = eval(text, self.values)
            except Exception:
                found = None
            numbers = isinstance(found, np.ndarray) and found.dtype.kind in "fiub"
            self._known[text] = (
                found if numbers or type(found) in (int, float, np.float64) else None
            )
        return self._known[text]

    def line(self, place) -> str:
        """The statement in which a place is."""
        statement = self.statement.get(id(place[3]), place[3])
        if id(statement) not in self._lines:
            text = ast.unparse(statement).split("\n")[0]
            self._lines[id(statement)] = text if len(text) <= 90 else text[:87] + "..."
        return self._lines[id(statement)]


def _put(place, node) -> None:
    parent, field, i, _node = place
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


def sources_of(block, backward) -> list[Source]:
    """A reader's backward, and what it calls of the same class and the same file.

    Raises one of NO_SOURCE if its source is not to be had.
    """
    found = [Source(backward)]
    waiting, known = [found[0].function], {found[0].function}
    while waiting:
        function = waiting.pop(0)
        for name in function.__code__.co_names:
            method = (
                None
                if isinstance(block, tuple)
                else inspect.getattr_static(type(block), name, None)
            )
            one = method or function.__globals__.get(name)
            ours = isinstance(one, types.FunctionType) and one.__globals__ is function.__globals__
            if ours and one not in known and name != "forward":
                with suppress(*NO_SOURCE):
                    found.append(Source(one, name if method else ""))
                    known.add(one)
                    waiting.append(one)
    return found


class Pool:
    """What the backward could have used: its names, what it reads of `self` and its cache, and
    parameters.
    """

    def __init__(self, source, checked):
        self.source, self.forward = source, inspect.getsource(checked.method(0))
        read = names_in(source.tree)
        texts = {
            ast.unparse(node): None
            for node in ast.walk(source.tree)
            if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load)
        }
        texts |= {
            ast.unparse(node): None
            for node in ast.walk(ast.parse(textwrap.dedent(self.forward)))
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and names_in(node) <= read
        }
        names = dict.fromkeys(
            name for name in source.values if name not in source.names and name != "_"
        )
        own = next(iter(inspect.signature(source.function).parameters), "self")
        for name in checked.parameters if checked.layer is not None else ():
            path = "".join(
                f"[{part}]" if part.isdigit() else f".{part}" for part in name.split(".")
            )
            texts[f"{own}{path}.data"] = None
        for name, value in vars(checked.layer).items() if checked.layer is not None else ():
            if type(value) in (float, np.float64):
                texts[f"{own}.{name}"] = None
        cache = list(inspect.signature(source.function).parameters)[-1]
        kept = source.values.get(cache)
        texts |= dict.fromkeys(
            [f"{cache}[{key!r}]" for key in kept]
            if isinstance(kept, dict)
            else [f"{cache}.{name}" for name in getattr(kept, "_fields", ())]
        )
        self.arrays: dict[str, Any] = {}  # {text: value}
        seen: list[Any] = []
        for text in [*names, *texts]:
            value = source.value(expression(text))
            if (
                value is not None
                and ".grad" not in text
                and (text in names or not any(np.array_equal(value, one) for one in seen))
            ):
                seen.append(value)
                self.arrays[text] = value

    def alike(self, node) -> Iterator[str]:
        """What has the shape of an expression; everything, if that is a number."""
        shape, text = np.shape(self.source.value(node)), ast.unparse(node)
        yield from (
            other
            for other, value in self.arrays.items()
            if shape in ((), np.shape(value)) and other != text
        )

    def factors(self, node) -> Found:
        """The node times an array, or times the slope of an activation."""
        shape = np.shape(self.source.value(node))
        for text, value in self.arrays.items():
            if np.ndim(value) == 0 and as_text(float(value)):  # paths.py finds constants
                continue
            for form in (
                ("b", "b[..., None]", "b[:, None]") if np.ndim(value) == len(shape) - 1 else ("b",)
            ):
                factor = filled(form, b=expression(text))
                if not _fits(self.source.value(factor), shape):
                    continue
                for slope, of in SLOPES if np.asarray(value).dtype.kind == "f" else SLOPES[:1]:
                    missing = filled(slope, f=factor)
                    said = (
                        f" (the slope of {of})" if of and of in self.forward else ""
                    )  # a function that the forward has
                    yield (
                        f"`{ast.unparse(node)}` lacks the factor `{ast.unparse(missing)}`{said}",
                        filled("a * b", a=node, b=missing),
                    )

    def terms(self, node) -> Iterator[Any]:
        """Arrays that could be added to the node, and are no multiples of it."""
        own = np.asarray(self.source.value(node))
        shape = own.shape
        floats = {
            text: value
            for text, value in self.arrays.items()
            if np.asarray(value).dtype.kind == "f" and text != ast.unparse(node)
        }
        for text, value in floats.items():
            if np.shape(value) not in (shape, ()):
                continue
            if ratio({"": own}, {"": np.asarray(value)}) is None:  # paths.py finds constants
                yield expression(text)


def _fits(value, shape) -> bool:
    """Whether an array times the value keeps its shape."""
    try:
        return value is not None and np.broadcast_shapes(np.shape(value), shape) == shape
    except ValueError:
        return False
