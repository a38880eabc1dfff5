"""Which mistakes give the learner's numbers? Those that the exercise lists, or else one change of
the reference, or else two.
"""

import ast
import re
from functools import partial

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME, relative_error
from minitransformer_course.diagnosis.fitting import are_one, fitting, tuple_of
from minitransformer_course.diagnosis.syntax_tree import names_in
from minitransformer_course.judge.changes_of_arrays import (
    factors,
    other_inputs,
    other_outputs,
    same_everywhere,
)
from minitransformer_course.messages import _
from minitransformer_course.judge.search import programs

LISTED, ONE_CHANGE, TWO_CHANGES = range(
    3
)  # kinds of mistakes; the last two count changes of the reference
FURTHER = (1001, 1002)  # seeds of cases that tell apart the mistakes that fit equally well


def fitting_mistakes(exercise, cases, given, source="", only_listed=False) -> list[list]:
    """What explains the arrays `given`, a tuple for each case: one list if it is one mistake, or a
    list for each wrong output.

    Each is a Mistake of the exercise (decorators.py) or a Changed (search.py): a sentence and
    `wrong`. If a list has several, the numbers cannot tell which it is. What is listed comes before
    one change of the reference, one change before two, and one mistake before one in each output.
    source: the learner's code, if that is known.
    """
    only_listed = only_listed or bool(exercise.versions)  # a verdict is only a bit
    return _Search(exercise, cases, given, source).mistakes(1 if only_listed else 3)


class _Search:
    """The search for what explains one learner's arrays. Programs run once on a case, whichever
    outputs they are asked for.
    """

    def __init__(self, exercise, cases, given, source):
        self.exercise, self.cases, self.given, self.source = exercise, cases, given, source
        self.expected = [tuple_of(exercise.reference(*arguments)) for _case, arguments in cases]
        self.outputs = range(len(exercise.returns))
        self.wrong = [
            k
            for k in self.outputs
            if any(_error(mine, right, [k]) > SAME for mine, right in zip(given, self.expected))
        ]
        self.constant = {
            k
            for k in self.outputs
            if len({*np.concatenate([arrays[k].ravel() for arrays in given]).tolist()}) == 1
        }
        self.factors = factors(exercise, cases)
        self.unknown = names_in(ast.parse(exercise.source)) - exercise.known_words(source)
        self.further = [arguments for seed in FURTHER for _case, arguments in exercise.cases(seed)]
        self.tried = {}  # programs, by how many changes they have and which case they ran on

    def mistakes(self, kinds) -> list[list]:
        """Like `fitting_mistakes`: the first of this many kinds of mistakes that explains
        everything.
        """
        by_output = {k: [] for k in self.wrong}
        changes = {}  # {sentence: how many changes it names}
        for kind in range(kinds):
            whole = self._of_kind(kind, self.outputs)
            if whole:
                return [whole]
            for k in [k for k in self.wrong if not by_output[k]]:
                by_output[k] = self._of_output(kind, k)
                changes |= {candidate.sentence: max(kind, 1) for candidate in by_output[k][:1]}
            several = (
                kind == TWO_CHANGES and max(changes.values(), default=0) == 1
            )  # each output has one, as a last resort
            if all(by_output.values()) and (sum(changes.values()) <= 2 or several):
                return list(by_output.values())
        return []

    def _of_output(self, kind, k) -> list:
        """What explains the k-th output by itself. If it would make another one wrong too, the
        sentence says so.
        """
        alone = [
            (*right[:k], mine[k], *right[k + 1 :]) for mine, right in zip(self.given, self.expected)
        ]
        if kind == LISTED:
            return self._fitting(self.exercise.mistakes, alone, self.outputs)
        candidates = self._of_kind(kind, [k])
        if (
            self.expected[0][k].dtype.kind != "f"
        ):  # whole numbers coincide: they have to be explained together
            return self._fitting(candidates, alone, self.outputs)
        name = self.exercise.returns[k]
        return [
            one
            if self._fitting([one], alone, self.outputs)
            else one._replace(
                sentence=_("in {name} alone: {what}").format(name=name, what=one.sentence)
            )
            for one in candidates
        ]

    def _of_kind(self, kind, ks) -> list:
        """The mistakes of the kind, LISTED or this number of changes, that give the outputs `ks`;
        the most usual first.
        """
        if kind == LISTED:
            return self._fitting(self.exercise.mistakes, self.given, ks)
        made = [one for one in self._programs(kind, ks) if one.outputs.issuperset(ks)]
        if kind == ONE_CHANGE:
            made = [
                *other_outputs(self.exercise, self.cases, self.factors, ks),
                *made,
                *other_inputs(self.exercise, self.cases),
            ]
        if self.constant.issuperset(
            {*ks} & {*self.wrong}
        ):  # many a change makes that, and proves nothing
            made = [
                one
                for one in made
                if one.sentence
                in {said for k in ks for said in same_everywhere(self.exercise.returns[k])}
            ]
        made.sort(key=lambda one: (self._names_the_unknown(one.sentence), one.rank, one.lines))
        candidates = self._fitting(made, self.given, ks)
        are_alike = are_one(candidates, partial(_made, ks), self.further)
        return candidates[:1] if are_alike else candidates

    def _programs(self, number, ks) -> list:
        """The references with `number` changes that give a wrong output in the first case where one
        of `ks` is wrong.
        """
        i = int(
            np.argmax(
                [_error(mine, right, ks) > SAME for mine, right in zip(self.given, self.expected)]
            )
        )
        if (number, i) not in self.tried:
            wrong = {k for k in self.wrong if _error(self.given[i], self.expected[i], [k]) > SAME}
            self.tried[number, i] = programs(
                self.exercise,
                self.cases[i][1],
                self.given[i],
                wrong,
                self.factors,
                number,
                self.source,
            )
        return self.tried[number, i]

    def _names_the_unknown(self, sentence) -> bool:
        """Whether it has a name that the learner neither wrote nor was told, or speaks of a mean
        that they did not write.
        """
        words = {*re.findall(r"\w+", sentence)}
        became = re.sub(
            r"\\{(\w+)\\}",
            lambda one: r"(\w+)" if one[1] == "other" else ".*?",
            re.escape(_("the {name} of {a} became a {other}")),
        )
        made = {*re.findall(became, sentence)} - {*re.findall(r"[a-z]+", self.source)}
        return bool(self.source and (self.unknown & words or made))

    def _fitting(self, candidates, given, ks) -> list:
        """The candidates whose function gives the outputs `ks` of the arrays `given`."""
        observed = [[arrays[k] for k in ks] for arrays in given]
        given_to = [arguments for _case, arguments in self.cases]
        return [
            candidate
            for candidate, _after in fitting(candidates, partial(_made, ks), given_to, observed)
        ]


def _made(ks, candidate, arguments) -> list[Array]:
    """The outputs `ks` of a mistake."""
    copied = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    with np.errstate(all="ignore"):
        returned = tuple_of(candidate.wrong(*copied))
    return [returned[k] for k in ks]


def _error(mine, right, ks) -> float:
    """How wrong the outputs `ks` are."""
    return relative_error([mine[k] for k in ks], [right[k] for k in ks])
