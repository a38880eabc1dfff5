"""A reader's forward, each expression of which can be given another derivative.

The complex step carries the derivative in the imaginary part. So an expression whose imaginary part
is dropped is taken for a constant, and one whose imaginary part is changed is derived wrongly,
while its value stays.
"""

import ast
import copy
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from minitransformer_course.diagnosis.operations import run_with
from minitransformer_course.diagnosis.source import NO_SOURCE, Source

AT = "_at_"  # a name that no reader uses
LIBRARIES = "np", "math", "self", "numpy"
REDUCTIONS = "sum", "mean", "max", "min", "norm", "prod", "std", "var", "amax", "logsumexp"
LONGEST = 90  # characters of a statement that is quoted


class Node(NamedTuple):
    """An expression of the forward, as its author wrote it."""

    tree: ast.expr
    text: str
    statement: str
    line: int  # in its file
    target: str  # the name that its statement gives it, or ""
    output: int  # which of several outputs it is, from 1; else 0

    @property
    def is_reduction(self) -> bool:
        return isinstance(self.tree, ast.Call) and (
            getattr(self.tree.func, "attr", getattr(self.tree.func, "id", "")) in REDUCTIONS
        )

    @property
    def said(self) -> str:
        """With the statement around it: "`mean` in `centred = x - mean`"."""
        if len(self.statement) > LONGEST or self.statement == self.text:
            return f"`{self.text}`"
        whole = self.statement == f"{self.target} = {self.text}"
        return f"`{self.statement}`" if whole else f"`{self.text}` in `{self.statement}`"


class Seen(NamedTuple):
    """The value of an expression when the forward ran, and how often it was computed."""

    value: Any
    times: int


class Watched:
    """A forward, and what it calls of the same file, compiled so that `changes` apply to it.

    nodes: its expressions. changes: {a node's number: function of its value and of the frame that
    computed it}. seen: {a node's number: Seen} of the last run, unless it is None.
    """

    def __init__(self, subject):
        self.nodes: list[Node] = []
        self.changes: dict[int, Callable] = {}
        self.seen: dict[int, Seen] | None = None
        self._made: dict[Callable, Callable] = {}  # {a function: the watched one}
        cls = None if subject.pair else type(subject.layer)
        forward = cls.forward if cls else subject.pair[0]
        self.in_forward = 0  # how many of the nodes are in the forward itself: the first
        self.methods = {"forward": self._watched(inspect.unwrap(forward))}
        waiting = list(self.methods.values())
        while waiting and cls:
            for name in waiting.pop().__code__.co_names:
                method = getattr(cls, name, None)
                if name not in self.methods and name != "backward" and _is_the_readers(method):
                    self.methods[name] = self._watched(method)
                    waiting.append(self.methods[name])

    def _watched(self, function) -> Callable:
        if function not in self._made:
            self._made[function] = function  # for one that calls itself, or has no source
            try:
                source = Source(function)
            except NO_SOURCE:
                return function
            marker = _Marker(self.nodes, function.__code__.co_firstlineno - 1)
            tree: Any = source.tree
            tree.body = [marker.visit(one) for one in tree.body]
            ast.fix_missing_locations(source.module)
            self.in_forward = self.in_forward or len(self.nodes)
            for name in function.__code__.co_names:
                value = source.names.get(name)
                if _is_the_readers(value) and value.__globals__ is function.__globals__:
                    source.names[name] = self._watched(value)
            source.names[AT] = self._at
            self._made[function] = source.compiled()
        return self._made[function]

    def _at(self, number, value) -> Any:
        if self.seen is not None:
            before = self.seen[number].times if number in self.seen else 0
            kept = value.copy() if isinstance(value, np.ndarray) else value  # inputs are restored
            self.seen[number] = Seen(kept, before + 1)
        change = self.changes.get(number)
        return value if change is None else change(value, sys._getframe(1))

    @contextmanager
    def within(self, subject) -> Iterator[None]:
        """Within the block, the subject runs this forward."""
        with ExitStack() as stack:
            for name, method in self.methods.items():
                stack.enter_context(run_with(subject, name, method))
            yield


def _is_the_readers(function) -> TypeGuard[types.FunctionType]:
    return isinstance(function, types.FunctionType) and not str(function.__module__).startswith(
        "minitransformer."
    )


class _Marker(ast.NodeTransformer):
    """Puts AT(number, e) around each expression e that can carry a derivative."""

    def __init__(self, nodes, first):
        self.nodes, self.first = nodes, first
        self.statement, self.assigned, self.outputs = "", [], []

    def visit(self, node) -> Any:
        if isinstance(node, ast.stmt):
            return self._of_statement(node)
        if not isinstance(node, ast.expr):
            return self.generic_visit(node) if isinstance(node, ast.comprehension) else node
        if isinstance(node, (ast.Constant, ast.Lambda, ast.JoinedStr, ast.Compare, ast.Slice)):
            return node
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if isinstance(node, (ast.Tuple, ast.List, ast.Starred)):
            return self.generic_visit(node)
        if isinstance(node, ast.Name) and node.id in LIBRARIES:
            return node
        made = Node(
            copy.deepcopy(node),
            ast.unparse(node),
            self.statement,
            self.first + node.lineno,
            next((name for name, one in self.assigned if one is node), ""),
            next((i for i, one in enumerate(self.outputs, 1) if one is node), 0),
        )
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                node.func.value = self.visit(node.func.value)
            node.args = [self.visit(one) for one in node.args]
        elif isinstance(node, ast.Subscript):
            node.value = self.visit(node.value)
        elif not isinstance(node, (ast.Attribute, ast.Name)):
            node = self.generic_visit(node)
        self.nodes.append(made)
        number = ast.Constant(len(self.nodes) - 1)
        return ast.Call(ast.Name(AT, ast.Load()), [number, node], [])

    def _of_statement(self, node) -> ast.stmt:
        before = self.statement, self.assigned, self.outputs
        self.statement = ast.unparse(node).partition("\n")[0]
        self.assigned = _assigned(node) if isinstance(node, ast.Assign) else []
        returned = node.value if isinstance(node, ast.Return) else None
        if isinstance(returned, ast.Tuple) and isinstance(returned.elts[0], ast.Tuple):
            self.outputs = returned.elts[0].elts
        node = self.generic_visit(node)
        self.statement, self.assigned, self.outputs = before
        return node


def _assigned(node) -> list[tuple[str, ast.expr]]:
    """(name, expression) of what an assignment makes, each of several alone."""
    target, value = node.targets[-1], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(map(ast.unparse, target.elts), value.elts))
    return [(ast.unparse(target), value)]
