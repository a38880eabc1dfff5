"""Mistakes that the doctor recognises: each is a wrong backward and a sentence that says what is
wrong with it.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from minitransformer.errors import InputError, choices
from minitransformer.dispatch import Replaceable
from minitransformer_course.diagnosis.operations import METHODS, OPERATIONS, PARAMETERS
from minitransformer_course.judge.course import exercises
from minitransformer_course.messages import _

TAUGHT: list[Any] = []  # the Mistakes of a reader, in the order in which they were taught


class Mistake(NamedTuple):
    of: str  # the operation: "softmax", or a class's name, "Linear"
    sentence: str
    # wrong(dy, cache), a method's wrong(self, dy, cache); more parameters are forward's arguments
    wrong: Any
    # or the class's part of one that its base class calls; or "forward", for the right backward
    method: str = "backward"
    rank: int = 0  # of several that give the same numbers, those with the lowest are named


def mistake(of, sentence) -> Callable:
    """Teach the doctor a mistake: decorate the wrong backward, and say in one sentence what is
    wrong with it.

        @mistake("softmax", "only the diagonal of the Jacobian is used")
        def diagonal_only(dp, cache):
            return cache.p * (1 - cache.p) * dp

    of: the name of a pair of functions in `functional`, or of a class in `layers` or `models`; the
    wrong backward has the parameters of the right one; after these it may take arguments of the
    forward, by name. Raises InputError for an unknown name.
    """
    if of not in OPERATIONS:
        raise InputError(f"the doctor knows no operation {of!r}; {choices(of, list(OPERATIONS))}")

    def teach_one(wrong) -> Callable:
        forward = inspect.signature(OPERATIONS[of].forward).parameters
        own = 2 if OPERATIONS[of].is_pair else 3
        unknown = [
            name for name in list(inspect.signature(wrong).parameters)[own:] if name not in forward
        ]
        if unknown:
            raise InputError(
                f"the wrong backward of {of} takes {unknown[0]!r}, expected (dy, cache) and then "
                f"arguments of the forward: {', '.join(forward)}"
            )
        TAUGHT.append(Mistake(of, sentence, wrong))
        return wrong

    return teach_one


def method_of(of, method) -> tuple[str, Callable]:
    """(name, function) of the method that an operation has itself: "read_backward" if its base
    class calls that.
    """
    operation = OPERATIONS[of]
    names = (
        []
        if operation.is_pair
        else [name for name in vars(operation.owner) if name.endswith(method)]
    )
    if not names or method in names:
        return method, textbook_of(getattr(operation, method))
    return names[0], METHODS[
        operation.owner, names[0]
    ]  # the library's, even if a reader has replaced it


def textbook_of(function) -> Callable:
    """The library's own function, not what is plugged in for it."""
    return function.textbook if isinstance(function, Replaceable) else function


@cache
def of_exercises() -> tuple[Mistake, ...]:
    """The mistakes of the course's exercises whose backward `plug` puts in place of an operation's."""
    backwards = [exercise for name, exercise in exercises().items() if name.endswith("_backward")]
    return tuple(
        Mistake(of, _in_words_of_the_library(of, exercise, _(one.sentence)), plug.adapt(one.wrong))
        for exercise in backwards
        if (plug := exercise.plug)
        for of in [plug.replaced.operation]
        for one in exercise.mistakes
    )


def _in_words_of_the_library(of, exercise, sentence) -> str:
    """With a name for each gradient that the exercise and the library call differently: "dW (of
    weight)".
    """
    parameters = PARAMETERS.get(of, ())
    for ours, name in zip(parameters, exercise.returns[-len(parameters) :] if parameters else ()):
        both = _("{name} (of {ours})").format(name=name, ours=ours)
        sentence = re.sub(rf"\b{name}\b", both, sentence, count=1, flags=re.ASCII)
    return sentence
