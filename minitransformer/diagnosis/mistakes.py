"""Mistakes that the doctor recognises: each is a wrong backward and a sentence that says what is wrong with it."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from minitransformer.diagnosis.operations import OPERATIONS
from minitransformer.errors import InputError, choices

TAUGHT = []    # every Mistake, in the order in which it was taught


class Mistake(NamedTuple):
    of: str          # the operation: "softmax", or a class's name, "Linear"
    sentence: str
    wrong: Any       # wrong(dy, cache), a method's wrong(self, dy, cache); more parameters are forward's arguments


def mistake(of, sentence) -> Callable:
    """Teach the doctor a mistake: decorate the wrong backward, and say in one sentence what is wrong with it.

        @mistake("softmax", "only the diagonal of the Jacobian is used")
        def diagonal_only(dp, cache):
            return cache.p * (1 - cache.p) * dp

    of: the name of a pair of functions in `functional`, or of a class in `layers` or `models`; the wrong backward has the
    parameters of the right one; after these it may take arguments of the forward, by name. Raises InputError
    for an unknown name.
    """
    if of not in OPERATIONS:
        raise InputError(f"the doctor knows no operation {of!r}; {choices(of, list(OPERATIONS))}")

    def teach(wrong) -> Callable:
        forward = inspect.signature(OPERATIONS[of].forward).parameters
        own = 2 if OPERATIONS[of].is_pair else 3
        unknown = [name for name in list(inspect.signature(wrong).parameters)[own:] if name not in forward]
        if unknown:
            raise InputError(f"the wrong backward of {of} takes {unknown[0]!r}, expected (dy, cache) and then "
                             f"arguments of the forward: {', '.join(forward)}")
        TAUGHT.append(Mistake(of, sentence, wrong))
        return wrong

    return teach


def mistakes_of(names) -> list[Mistake]:
    """The mistakes of these operations, beginning with those of the first operation."""
    return [one for name in names for one in TAUGHT if one.of == name]
