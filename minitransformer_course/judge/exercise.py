"""One exercise: a file that holds the reference, inputs, what must always hold, hints, and the
mistakes that people make.
"""

import inspect
import re
import textwrap
from types import ModuleType
from typing import Any, cast

import numpy as np

from minitransformer_course.judge.decorators import (
    Edge,
    Invariant,
    Mistake,
    Plug,
    Version,
    also_right,
)
from minitransformer_course.judge.fixtures import VersionUnderTest
from minitransformer_course.messages import _

SIZES = range(2, 8)  # each letter of a case's shapes gets a different one
REFERENCE = re.compile(r"^# %% reference\n(.*?)^# %%", re.MULTILINE | re.DOTALL)
BLANK = re.compile(
    r"(?P<begin>^ *# your code: [^\n]*\n)(?P<lines>.*?)(?P<end>^ *# end of your code\n)",
    re.MULTILINE | re.DOTALL,
)


class Exercise:
    """The file NUMBER_NAME.py of a chapter; NAME is the function to write. docs/add_an_exercise.md
    says what it defines.
    """

    def __init__(self, path, chapter):
        self.path, self.chapter = path, chapter
        self.name = path.stem.partition("_")[2]
        text = path.read_text(encoding="utf-8")
        self.source = REFERENCE.findall(text)[0].strip() + "\n"
        self.module = module = cast(
            Any, ModuleType(f"tutorials.{self.name}")
        )  # a name by which the judge knows its functions
        exec(
            compile(text, str(path), "exec", optimize=0), vars(module)
        )  # docstrings under -OO, too
        self.title, _line, task = module.__doc__.strip().partition("\n")
        self.task = task.strip()
        self.minutes = module.minutes
        self.effort = f"{'★' * module.stars}{'☆' * (3 - module.stars)} {_('{n} minutes').format(n=self.minutes)}"
        self.reference = getattr(module, self.name)
        self.parameters = list(inspect.signature(self.reference).parameters)
        self.returns = module.returns.split()
        self.loss, self.terms = getattr(module, "loss", None), getattr(module, "terms", None)
        roles = [value.role for value in vars(module).values() if hasattr(value, "role")]
        self.versions = [
            role for role in roles if isinstance(role, Version)
        ]  # what a test is called with
        self.varies, self.rest = getattr(module, "varies", "").split(), getattr(module, "rest", "")
        self.float64_only = bool(self.versions) or getattr(module, "float64_only", False)
        self.edges = [role for role in roles if isinstance(role, Edge)]
        self.invariants = [role for role in roles if isinstance(role, Invariant)]
        self.mistakes = [role for role in roles if isinstance(role, Mistake)]
        self.styles = [
            value for value in vars(module).values() if getattr(value, "role", None) is also_right
        ]
        self.plug = next((role for role in roles if isinstance(role, Plug)), None)

    def cases(self, seed=0) -> list[tuple[str, tuple]]:
        """[(name, arguments)]: two usual cases of different sizes, then the edges. The same seed
        makes the same numbers.

        If the answer is a test: its versions.
        """
        if self.versions:
            return [(_(one.sentence), (VersionUnderTest(one.function),)) for one in self.versions]
        rng, (first, second) = self._sizes(seed)
        made = [("", self.module.case(rng, *sizes)) for sizes in (first, second)]
        for one in self.edges:
            sizes = rng.permutation(SIZES)[: len(inspect.signature(one.make).parameters) - 1]
            made.append((_(one.name), one.make(rng, *map(int, sizes))))
        return made

    def other_numbers(self, seed=0) -> tuple:
        """Other arguments, in the shapes of the first case."""
        if self.versions:
            return self.cases()[1][1]
        _rng, (first, _second) = self._sizes(seed)
        return self.module.case(np.random.default_rng([seed, 1, *self.name.encode()]), *first)

    def known_words(self, source) -> set[str]:
        """The names that the learner wrote or was told."""
        told = *self.parameters, *self.returns, self.task, *self.module.hints[:2], source
        return {*re.findall(r"\w+", " ".join(told))}

    def _sizes(self, seed) -> tuple[np.random.Generator, list[list[int]]]:
        """The generator, and the sizes of the two usual cases: one for each letter, and no letter
        has the same size in both.
        """
        rng = np.random.default_rng([seed, *self.name.encode()])
        letters = len(inspect.signature(self.module.case).parameters) - 1
        first, second = (rng.permutation(SIZES)[:letters] for _case in range(2))
        while (first == second).any():
            second = rng.permutation(SIZES)[:letters]
        return rng, [first.tolist(), second.tolist()]


def skeleton(reference, name) -> str:
    """The reference with each blank emptied: what the learner begins with."""

    def empty(blank) -> str:
        indent = " " * (len(blank["begin"]) - len(blank["begin"].lstrip()))
        return f'{blank["begin"]}{indent}raise NotImplementedError("{name}")\n{blank["end"]}'

    return BLANK.sub(empty, reference)


def blanks(reference) -> list[list[str]]:
    """The lines that each blank hides, a list for each."""
    return [textwrap.dedent(blank["lines"]).splitlines() for blank in BLANK.finditer(reference)]
