"""Is it right at other sizes, too? A backward may contain the size of one batch as a constant."""

from itertools import islice

import numpy as np

from minitransformer.checking.checked_block import Breach, CheckedBlock
from minitransformer.errors import InputError
from minitransformer_course.doctor.case import Case
from minitransformer_course.doctor.resize import other_inputs

FEW = 2_000             # a block with more numbers is run at only one other size, to answer as fast as the check itself
AFFORDABLE = 20_000    # a block with more numbers is not run again: its parts are checked as small blocks


def wrong_elsewhere(block, checked, make_rng) -> tuple[str, Breach | None, Case | None] | None:
    """(shapes in words, the breach or None, the Case or None) at sizes at which the block is wrong; None if there are none.

    Sizes that the forward does not accept tell us nothing.
    """
    size = sum(array.size for array in checked.variables.values())
    if size > AFFORDABLE:
        return None
    others = other_inputs(block, checked.arguments, make_rng)
    for block, arguments, make_rng in islice(others, 1 if size > FEW else None):
        try:
            with np.errstate(all="ignore"):
                y, _ = CheckedBlock(block, arguments, np.float64, make_rng).forward()
                if not all(np.isfinite(one).all() for one in (y if isinstance(y, tuple) else (y,))):
                    continue
        except InputError:
            continue
        shapes = ", ".join(f"{name} of shape {value.shape}" for name, value in arguments.items() if isinstance(value, np.ndarray))
        try:
            with np.errstate(all="ignore"):
                one = Case(block, arguments, make_rng)
                if one.is_wrong:
                    return shapes, None, one
        except Breach as breach:
            return shapes, breach, None
    return None
