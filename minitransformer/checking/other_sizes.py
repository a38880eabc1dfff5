"""Is it right at other sizes too? A backward may have the size of one batch written into it."""

import numpy as np

from minitransformer.checking.case import Case
from minitransformer.checking.checked_block import Breach, CheckedBlock
from minitransformer.checking.resize import other_inputs
from minitransformer.errors import InputError

FEW = 2_000             # a block with more numbers is run at one other size only, to answer as fast as the check itself
AFFORDABLE = 300_000    # a block with more numbers is not run again: its parts are small blocks elsewhere


def wrong_elsewhere(case):
    """(sentence, the Case or None) for a block whose gradients are right at its sizes, but not at others; None if they are.

    Sizes that the forward does not take tell nothing.
    """
    if sum(array.size for array in case.checked.variables.values()) > AFFORDABLE:
        return None
    few = sum(array.size for array in case.checked.variables.values()) > FEW
    for block, arguments, make_rng in other_inputs(case)[:1 if few else None]:
        try:
            with np.errstate(all="ignore"):
                y, _ = CheckedBlock(block, arguments, np.float64, make_rng).forward()
                if not all(np.isfinite(one).all() for one in (y if isinstance(y, tuple) else (y,))):
                    continue
        except InputError:
            continue
        shapes = ", ".join(f"{name} of shape {value.shape}" for name, value in arguments.items() if isinstance(value, np.ndarray))
        at = f"right at the given sizes only: with {shapes}"
        try:
            with np.errstate(all="ignore"):
                one = Case(block, arguments, make_rng)
                if one.is_wrong:
                    return f"{at} the gradient of {', '.join(one.wrong[:3])} is wrong; a size is written into backward, or hides a mistake", one
        except Breach as breach:
            return f"{at} {breach}", None
    return None
