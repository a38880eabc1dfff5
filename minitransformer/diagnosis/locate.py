"""Where the mistake is: the innermost part whose own gradient is wrong, for the inputs and dy that it actually received."""

from typing import NamedTuple

import numpy as np

from minitransformer.checking.checked_block import CheckedBlock
from minitransformer.diagnosis.case import Case, case_or_none
from minitransformer.diagnosis.recorder import Call, record
from minitransformer.diagnosis.counterpart import name_of


class Located(NamedTuple):
    path: str      # "" for the block itself
    case: Case     # the innermost wrong part
    others: list   # the calls of other innermost wrong parts
    parts: set     # the names of what its backward called, all right for what they received
    changed: list  # [(path, block, sentence)] of arrays that parts changed in place, whichever part is then wrong


def locate(case) -> Located:
    """The innermost wrong part of a wrong Case; the case itself if all its parts are right."""
    recorder = record(CheckedBlock(case.block, case.given, np.float64, case.make_rng), case.dy)
    wrong = _innermost(recorder.backward.parts) or [(recorder.backward, case)]
    (call, innermost), *others = wrong
    return Located(call.path, innermost, [other for other, _ in others], _blocks(call.parts), recorder.changed)


def _innermost(calls) -> list[tuple[Call, Case]]:
    """[(Call, Case)] of the wrong calls none of whose parts is wrong, in the order of backward."""
    wrong = []
    for call in calls:
        one = case_or_none(call.block, call.arguments, call.make_rng, call.dy)
        if one is not None and one.is_wrong:
            inside = _innermost(call.parts)
            wrong += inside or [(call, one)]
        elif one is None:
            wrong += _innermost(call.parts)
    return wrong


def _blocks(calls) -> set[str]:
    """The names of everything called, at any depth."""
    names = set()
    for call in calls:
        names |= {name_of(call.block)} | _blocks(call.parts)
    return names
