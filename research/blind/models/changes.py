"""What users do to a model after they have made it: a table of functions (model, rng, notes).

A change returns a line that describes it, or raises NotHere before it has touched anything. Given a
generator with the same seed, it does the same to another model made in the same way.
"""

import numpy as np

import changes_of_ends  # noqa: F401    # each adds its changes to the table
import changes_of_layers  # noqa: F401
import changes_of_values  # noqa: F401
from places import CHANGES, Notes, NotHere

__all__ = ["CHANGES", "NotHere", "Notes", "apply_change"]


def apply_change(name, seed, model, notes) -> str:
    return CHANGES[name](model, np.random.default_rng(seed), notes)
