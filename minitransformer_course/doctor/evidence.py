"""What is known about a wrong gradient if no mistake is proven: observations, worded as such and
never as a cause.
"""

import numpy as np

from minitransformer.checking.subject import is_float
from minitransformer_course.doctor.case import Case, case_or_none
from minitransformer_course.diagnosis.factors import as_text, ratio


def observations(case) -> list[str]:
    """Sentences about a wrong Case, the most informative first."""
    sentences = [_which(case)]
    r = ratio({n: case.observed[n] for n in case.wrong}, case.right) if case.is_known else None
    if r is not None and sum(case.observed[name].size for name in case.wrong) > 1:
        sentences.append(f"the wrong numbers are {as_text(r) or f'{r:.6g}'} times the true ones")
    if not case.is_known:  # nothing is said of an error that was not computed
        pass
    elif case.error(case.right) < 1e-8:
        sentences.append(
            "the error is smaller than float32 rounding: look for a constant with too few digits"
        )
    elif case.error(case.right) < 1e-6:
        sentences.append(
            "the error is as small as float32 rounding: look for a conversion to float32"
        )
    elif not isinstance(case.dy, tuple) and _is_not_linear(case):
        sentences.append(
            "backward is not linear in dy: three times the upstream gradient does not give three times the gradients"
        )
    masks = {
        k: np.ones_like(v)
        for k, v in case.arguments.items()
        if isinstance(v, np.ndarray) and v.dtype == bool
    }
    for sentence, changed in (
        ("right without the mask", _with(case, masks)),
        (
            "right without dropout",
            _with(case, {}, (lambda: None) if case.subject.takes_rng and case.make_rng() else None),
        ),
        (
            "right without label smoothing",
            _with(case, {"smoothing": 0.0} if case.arguments.get("smoothing") else {}),
        ),
        ("right for a batch of one", _one_sentence(case)),
        ("right for one token", _one_token(case)),
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


def _with(case, arguments, make_rng=None) -> Case | None:
    """The case with other arguments or another generator; None if nothing would change."""
    if not (arguments or make_rng):
        return None
    changed = case.subject.at(arguments)
    changed.make_rng = make_rng or case.make_rng
    return case_or_none(changed)


def _one_sentence(case) -> Case | None:
    batch = _batch(case)
    return _with(
        case,
        {
            k: v[:1]
            for k, v in case.arguments.items()
            if isinstance(v, np.ndarray) and v.ndim and len(v) == batch
        }
        if batch and batch > 1
        else {},
    )


def _one_token(case) -> Case | None:
    if not _batch(case):
        return None
    cut = {
        k: v[..., :1, :] if is_float(v) else v[:, :1]
        for k, v in case.arguments.items()
        if isinstance(v, np.ndarray) and v.ndim >= 2 and v.dtype != bool
    }
    masks = {
        k: None for k, v in case.arguments.items() if isinstance(v, np.ndarray) and v.dtype == bool
    }
    return _with(case, {**cut, **masks})


def _batch(case) -> int | None:
    arrays = [
        v
        for v in case.arguments.values()
        if isinstance(v, np.ndarray) and v.dtype != bool and v.ndim >= 2
    ]
    return len(max(arrays, key=np.ndim)) if arrays else None
