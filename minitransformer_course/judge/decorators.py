"""The decorators of an exercise's file: each says what role the function below it has."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable)  # a marked function is the function itself


class Invariant(NamedTuple):
    sentence: str
    excess: Any  # function(answer, *arguments): an array that must be 0


class Mistake(NamedTuple):
    sentence: str  # its diagnosis
    wrong: Any  # a function with the reference's arguments


class Edge(NamedTuple):
    name: str
    make: Any  # function(rng, sizes...) -> the arguments
    part: str  # what is wrong if an answer is wrong in this case already


class Version(NamedTuple):
    sentence: str
    right: bool
    function: Any  # one of several that the reader's test has to tell apart
    shows: str  # what a test has to look at to see that it is wrong


class Plug(NamedTuple):
    replaced: Any  # the library's function, one marked replaceable
    adapt: Any  # function(the reader's function) -> one with the arguments of `replaced`


def invariant(sentence) -> Callable[[Function], Function]:
    """What must hold for every correct answer: the function returns an array that must be 0."""
    return lambda function: _with_role(function, Invariant(sentence, function))


def mistake(sentence) -> Callable[[Function], Function]:
    """A wrong solution that people write, and the sentence that names it."""
    return lambda function: _with_role(function, Mistake(sentence, function))


def edge(name, part="") -> Callable[[Function], Function]:
    """One more input, for a case that the usual ones leave out, such as scores of 1,000.

    part: what an answer uses in this case, if other parts of it do nothing here: "the masked
    self-attention".
    """
    return lambda function: _with_role(function, Edge(name, function, part))


def version(sentence, right, shows="") -> Callable[[Function], Function]:
    """A version of a change; the reader writes a test, which a right version has to pass and a
    wrong one has to fail. shows: what a test has to look at to see that a version is wrong.
    """
    return lambda function: _with_role(function, Version(sentence, right, function, shows))


def plugs(replaced) -> Callable[[Function], Function]:
    """How the reader's function takes the place of one of the library's."""
    return lambda function: _with_role(function, Plug(replaced, function))


def also_right(function: Function) -> Function:
    """A right solution in another style: it has to pass."""
    return _with_role(function, also_right)


def _with_role(function: Function, role) -> Function:
    function.role = role  # type: ignore[attr-defined]    # what a function is given
    return function
