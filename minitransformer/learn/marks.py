"""The marks of an exercise's file: each says what the function below it is."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable)    # a marked function is the function itself


class Invariant(NamedTuple):
    sentence: str
    excess: Any      # function(answer, *arguments): an array that must be 0


class Mistake(NamedTuple):
    sentence: str    # its diagnosis
    wrong: Any       # a function with the reference's arguments
    hint: int        # 1 to 4: which hint helps most against it


class Edge(NamedTuple):
    name: str
    make: Any        # function(rng, sizes...) -> the arguments


class Plug(NamedTuple):
    replaced: Any    # the library's function, one marked replaceable
    adapt: Any       # function(the reader's function) -> one with the arguments of `replaced`


class Style(NamedTuple):
    name: str
    function: Any    # another right solution


def invariant(sentence) -> Callable[[Function], Function]:
    """What must hold for every right answer: the function returns an array that must be 0."""
    return _mark(lambda function: Invariant(sentence, function))


def mistake(sentence, hint=1) -> Callable[[Function], Function]:
    """A wrong solution that people write, the sentence that names it, and the hint to begin with."""
    return _mark(lambda function: Mistake(sentence, function, hint))


def edge(name) -> Callable[[Function], Function]:
    """One more input, for a case that the usual ones leave out, such as scores of 1,000."""
    return _mark(lambda function: Edge(name, function))


def plugs(replaced) -> Callable[[Function], Function]:
    """How the reader's function takes the place of one of the library's."""
    return _mark(lambda function: Plug(replaced, function))


def also_right(function: Function) -> Function:
    """A right solution in another style: it has to pass."""
    function.mark = Style(function.__name__, function)    # type: ignore[attr-defined]    # what a function is given
    return function


def _mark(make) -> Callable[[Function], Function]:
    def put(function: Function) -> Function:
        function.mark = make(function)    # type: ignore[attr-defined]
        return function
    return put
