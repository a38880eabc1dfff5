"""Where the mistake is: the innermost part whose own gradient is wrong, for the inputs and dy that
it actually received.
"""

from typing import NamedTuple

import numpy as np

from minitransformer.checking.compare import SAME, relative_error
from minitransformer.errors import InputError
from minitransformer.layers import Layer
from minitransformer_course.doctor.case import Case, case_or_none
from minitransformer_course.doctor.counterpart import find_counterpart, name_of
from minitransformer_course.doctor.recorder import Call, innermost_first, record


class Located(NamedTuple):
    path: str  # "" for the block itself
    case: Case  # the innermost wrong part
    others: list  # the calls of other innermost wrong parts
    parts: set  # the names of what its backward called, all right for what they received
    facts: list  # sentences about these calls: what was observed needs no proof
    # [(path, block, sentence)] of arrays that parts changed in place, whichever part is then wrong
    changed: list


def locate(case) -> Located:
    """The innermost wrong part of a wrong Case; the case itself if all its parts are right."""
    recorder = record(case.subject.astype(np.float64), case.dy)
    wrong = _innermost(recorder.backward.parts) or [(recorder.backward, case)]
    (call, innermost), *others = wrong
    innermost.counterpart = find_counterpart(innermost)  # before its right gradients are requested
    parts = {name_of(inside.block) for inside in innermost_first(call.parts)}
    return Located(
        call.path,
        innermost,
        [other for other, _ in others],
        parts,
        _facts(call, innermost, recorder),
        recorder.changed,
    )


def _innermost(calls) -> list[tuple[Call, Case]]:
    """[(Call, Case)] of the wrong calls none of whose parts is wrong, in the order of backward."""
    wrong = []
    for call in calls:
        one = case_of(call)
        if one is not None and one.is_wrong:
            inside = _innermost(call.parts)
            wrong += inside or [(call, one)]
        elif one is None:
            wrong += _innermost(call.parts)
    return wrong


def case_of(call: Call) -> Case | None:
    """The Case of a part's call, or None if the part cannot run alone."""
    try:
        return case_or_none(call.subject, call.dy)
    except InputError:
        return None


def _facts(call, case, recorder) -> list[str]:
    """What the wrong block did with its right parts: a cache mixed up, a backward never called, a
    right result spoilt.
    """
    inside = f"{call.path}." if call.path else ""
    facts = [
        f"`{path}.backward` received the cache of `{other}.forward`"
        for path, other in recorder.mixed_up
        if path.startswith(inside) and other.startswith(inside)
    ]
    ran = {one.path for one in call.parts} | {path for path, _ in recorder.mixed_up}
    for path, layer in case.block.sublayers().items() if isinstance(case.block, Layer) else ():
        own = {f"{path}.{name}" for name in layer.parameters()} & case.observed.keys()
        never_ran = inside + path not in ran and "." not in path
        if (
            never_ran
            and own
            and own <= set(case.wrong)
            and not any(case.observed[name].any() for name in own)
        ):
            facts.append(f"`{path}.forward` ran, `{path}.backward` never did")
    for name in [name for name in case.wrong if name in case.right]:
        for part in call.parts:
            if any(relative_error([one], [case.right[name]]) <= SAME for one in part.returned):
                facts.append(
                    f"the gradient of {name} that the backward of {part.path.removeprefix(inside)} returned was right; "
                    "what is done to it afterwards is not"
                )
    return list(dict.fromkeys(facts))
