"""Where the mistake is: the innermost part whose own gradient is wrong, for the inputs and dy that it actually received."""

from typing import NamedTuple

import numpy as np

from minitransformer.diagnosis.case import Case, made
from minitransformer.checking.checked_block import CheckedBlock
from minitransformer.diagnosis.recorder import Call, Recorder
from minitransformer.diagnosis.twin import name_of


class Located(NamedTuple):
    path: str      # "" for the block itself
    case: Case     # the innermost wrong part
    others: list   # the calls of other innermost wrong parts
    parts: set     # the names of what its backward called, all right for what they received
    changed: list  # [(path, block, sentence)] of arrays that parts changed in place, whichever part is then wrong


def locate(case) -> Located:
    """The innermost wrong part of a wrong Case; the case itself if all its parts are right."""
    recorder = Recorder()
    checked = CheckedBlock(case.block, case.given, np.float64, case.make_rng)
    with recorder.watching(checked.layer):
        _, cache = checked.forward()
        checked.gradients(case.dy, cache)
    found = _innermost(recorder.backward.parts) or [(recorder.backward, case)]
    (call, innermost), *others = found
    return Located(call.path, innermost, [other for other, _ in others], _blocks(call.parts), recorder.changed)


def _innermost(calls) -> list[tuple[Call, Case]]:
    """[(Call, Case)] of the wrong calls none of whose parts is wrong, in the order of backward."""
    found = []
    for call in calls:
        one = made(call.block, call.arguments, call.make_rng, call.dy)
        if one is not None and one.is_wrong:
            inside = _innermost(call.parts)
            found += inside or [(call, one)]
        elif one is None:
            found += _innermost(call.parts)
    return found


def _blocks(calls) -> set[str]:
    """The names of everything called, at any depth."""
    found = set()
    for call in calls:
        found |= {name_of(call.block)} | _blocks(call.parts)
    return found
