"""What is known about a wrong gradient if no mistake is proven: observations, worded as such and
never as a cause.
"""

import numpy as np

from minitransformer_course.doctor.case import Case, case_or_none
from minitransformer_course.diagnosis.factors import as_text, ratio


def observations(case) -> list[str]:
    """Sentences about a wrong Case, the most informative first."""
    sentences = [_which(case)]
    r = ratio({n: case.observed[n] for n in case.wrong}, case.right) if case.is_known else None
    if r is not None and sum(case.observed[name].size for name in case.wrong) > 1:
        sentences.append(f"the wrong numbers are {as_text(r) or f'{r:.6g}'} times the true ones")
    error = case.error(case.right) if case.is_known else np.inf
    if error < 1e-8:
        sentences.append(
            "the error is smaller than float32 rounding: look for a constant with too few digits"
        )
    elif error < np.inf and not isinstance(case.dy, tuple) and _is_not_linear(case):
        sentences.append(
            "backward is not linear in dy: three times the upstream gradient does not give three times the gradients"
        )
    for sentence, changed in (
        ("right without the mask", _without_mask(case)),
        ("right without dropout", _without_dropout(case)),
    ):
        if (
            changed is not None
            and not changed.is_wrong
            and all(changed.observed[name].any() for name in case.wrong)
        ):
            sentences.append(sentence)
    return sentences


def _is_not_linear(case) -> bool:
    more = case_or_none(case.subject, 3 * case.dy)
    return (
        more is not None
        and not case.error({name: g / 3 for name, g in more.observed.items()}) <= 1e-9
    )


def _which(case) -> str:
    right = [name for name in case.observed if name not in case.wrong]
    return f"wrong: {_list(case.wrong)}" + (f"; right: {_list(right)}" if right else "")


def _list(names) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _without_mask(case) -> Case | None:
    masks = {
        name: np.ones_like(value)
        for name, value in case.arguments.items()
        if isinstance(value, np.ndarray) and value.dtype == bool
    }
    return case_or_none(case.subject.at(masks)) if masks else None


def _without_dropout(case) -> Case | None:
    if not (case.subject.takes_rng and case.make_rng()):
        return None
    changed = case.subject.at({})
    changed.make_rng = lambda: None
    return case_or_none(changed)
