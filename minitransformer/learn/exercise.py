"""One exercise: a file that holds the reference, inputs, what must always hold, hints, and the mistakes that people make."""

import inspect
import sys
from collections.abc import Callable
from functools import cached_property
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from typing import Any

import numpy as np

from minitransformer.learn.messages import _
from minitransformer.learn.marks import Edge, Invariant, Mistake, Plug, Style
from minitransformer.learn.source import reference_source

SIZES = range(2, 8)    # of which each letter of a case's shapes gets one of its own


class Exercise:
    """The file NUMBER_NAME.py of a chapter; NAME is the function to write. docs/add_an_exercise.md says what it defines."""

    def __init__(self, path, chapter):
        self.path, self.chapter = path, chapter
        self.name = path.stem.partition("_")[2]

    @cached_property
    def module(self) -> Any:
        """The file, imported under a name by which the judge knows its functions."""
        loader = SourceFileLoader(f"tutorials.{self.name}", str(self.path))
        module = module_from_spec(ModuleSpec(loader.name, loader, origin=loader.path))
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True    # the folder may be read-only, or a clone
        try:
            loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = writes
        return module

    @property
    def title(self) -> str:
        return self.module.__doc__.strip().partition("\n")[0]

    @property
    def task(self) -> str:
        return self.module.__doc__.strip().partition("\n")[2].strip()

    @property
    def effort(self) -> str:
        """Such as "★★☆ 15 minutes"."""
        return f"{'★' * self.module.stars}{'☆' * (3 - self.module.stars)} {self.module.minutes} {_('minutes')}"

    @property
    def reference(self) -> Callable:
        return getattr(self.module, self.name)

    @cached_property
    def source(self) -> str:
        return reference_source(self.path.read_text(encoding="utf-8"))

    @property
    def parameters(self) -> list[str]:
        return list(inspect.signature(self.reference).parameters)

    @property
    def returns(self) -> list[str]:
        return self.module.returns.split()

    @property
    def loss(self) -> Callable | None:
        return getattr(self.module, "loss", None)

    @property
    def terms(self) -> Callable | None:
        return getattr(self.module, "terms", None)

    @property
    def float64_only(self) -> bool:
        return getattr(self.module, "float64_only", False)

    @property
    def plug(self) -> Plug | None:
        return next(iter(self._marked(Plug)), None)

    @property
    def invariants(self) -> list[Invariant]:
        return self._marked(Invariant)

    @property
    def mistakes(self) -> list[Mistake]:
        return self._marked(Mistake)

    @property
    def styles(self) -> list[Style]:
        return self._marked(Style)

    def _marked(self, kind) -> list:
        marks = (getattr(value, "mark", None) for value in vars(self.module).values())
        return [mark for mark in marks if isinstance(mark, kind)]

    def cases(self, seed=0) -> list[tuple[str, tuple]]:
        """[(name, arguments)]: two usual cases of other sizes, then the edges. The same seed makes the same numbers."""
        rng, (first, second) = self._sizes(seed)
        made = [("", self.module.case(rng, *sizes)) for sizes in (first, second)]
        for one in self._marked(Edge):
            sizes = rng.permutation(SIZES)[:len(inspect.signature(one.make).parameters) - 1]
            made.append((one.name, one.make(rng, *map(int, sizes))))
        return made

    def other_numbers(self, seed=0) -> tuple:
        """Arguments of the shapes of the first case."""
        _rng, (first, _second) = self._sizes(seed)
        return self.module.case(np.random.default_rng([seed, 1, *self.name.encode()]), *first)

    def _sizes(self, seed) -> tuple[np.random.Generator, list[list[int]]]:
        """The generator, and the sizes of the two usual cases: one for each letter, and no letter has the same in both."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        letters = len(inspect.signature(self.module.case).parameters) - 1
        first, second = (rng.permutation(SIZES)[:letters] for _case in range(2))
        while (first == second).any():
            second = rng.permutation(SIZES)[:letters]
        return rng, [first.tolist(), second.tolist()]
