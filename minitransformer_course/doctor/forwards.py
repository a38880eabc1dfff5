"""A mistake in the forward: it computes something different from the library's, or stores something
different in its cache.

Even the library's own backward then gives a wrong gradient for this forward.
"""

from functools import partial
from typing import Any

import numpy as np

from minitransformer.backend import Array
from minitransformer.checking.compare import SAME, relative_error
from minitransformer.checking.subject import flat
from minitransformer.errors import InputError
from minitransformer_course.doctor.case import other_cases
from minitransformer_course.doctor.changed_backwards import changed
from minitransformer_course.doctor.counterpart import candidates, library_block
from minitransformer_course.diagnosis.fitting import fitting, one_of
from minitransformer_course.doctor.known_mistakes import mistakes_of
from minitransformer_course.diagnosis.operations import OPERATIONS, library_only, run_with


def explanations(cases) -> list[tuple[str, float]]:
    """[(sentence, error)] of the mistakes that the forward makes in every case."""
    if all(case.counterpart for case in cases):
        return _of_cache(cases)
    known = candidates(cases[0].block)
    own = [
        one
        for one in known
        if (isinstance(cases[0].block, one.owner) if one.owner else known == [one])
    ][:1]
    taught = mistakes_of([operation.name for operation in known], forward=True)
    blocks: dict[tuple, Any] = {}

    def made(mistake, case) -> list[Array]:
        """The gradients of the library's block with the wrong forward, if its y equals the case's."""
        if (id(case), mistake.of) not in blocks:
            block = library_block(OPERATIONS[mistake.of], case, {})
            blocks[id(case), mistake.of] = block, block.forward()[0]
        checked, right = blocks[id(case), mistake.of]
        if relative_error([flat(case.y)], [flat(right)]) <= SAME:
            raise ValueError(
                "the forward is the library's: a change that keeps y would be blamed for a wrong backward"
            )
        with run_with(checked, "forward", mistake.wrong):
            y, cache = checked.forward()
        if relative_error([flat(case.y)], [flat(y)]) > SAME:
            raise ValueError("another forward")
        gradients = checked.gradients(case.dy, cache)
        named = {
            **gradients,
            **dict(zip(case.inputs, [gradients[name] for name in checked.inputs])),
        }
        return [named[name] for name in case.observed]

    with library_only():
        mistakes = [
            *taught,
            *(one for operation in own for one in changed(operation.name, "forward")),
        ]
        found = fitting(mistakes, made, cases, [list(case.observed.values()) for case in cases])
        return [
            (f"in forward, {mistake.sentence}", error)
            for mistake, error in one_of(found, made, partial(other_cases, cases[0], seed=8))
        ]


def _of_cache(cases) -> list[tuple[str, float]]:
    """The only field of the cache that differs from the library's, if the library's backward then
    gives these gradients.
    """
    fields, error = [], 0.0
    for case in cases:
        _, cache = case.subject.forward()
        right = case.counterpart.cache()
        if type(cache) is not type(right) or not hasattr(right, "_fields"):
            return []
        wrong = [
            name
            for name, ours, theirs in zip(right._fields, right, cache)
            if not _same(ours, theirs)
        ]
        fields = fields or wrong
        if len(wrong) != 1 or wrong != fields:
            return []
        try:
            error = max(error, case.error(case.counterpart.gradients(case.dy, cache=cache)))
        except InputError:  # the library's backward does not accept such a cache
            return []
    if not error <= SAME:
        return []
    return [
        (
            f"forward stores a wrong value in its cache: cache.{fields[0]} is not what backward needs there "
            "(backward itself is right)",
            error,
        )
    ]


def _same(one, other) -> bool:
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-9, atol=1e-12)
    return one is other or (type(one) is type(other) and bool(one == other))
