"""What one call of a learner's function gave; the learner's process hands it over in a file, from which nothing is executed."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LARGEST = 1_000_000    # the most numbers in an array that is looked at: no right answer comes near


class Outcome(NamedTuple):
    """The result of one call: the arrays that it returned, or why there are none."""

    arrays: Sequence = ()
    error: str = ""       # "ValueError: operands could not be broadcast", or "" if it returned
    line: str = ""        # "line 12: y = x @ w", the place of the error
    raised: bool = False  # the error is an exception, raised by this call
    late: bool = False    # the error is that time ran out
    blank: bool = False   # the error is the skeleton's own
    returned: str = ""    # what it returned, in words, if that is not an array: "None"
    changed: int = -1     # which argument it changed
    forbidden: str = ""    # what it used that is off limits: "it calls minitransformer.functional.softmax_forward"
    printed: str = ""

    @property
    def is_last(self) -> bool:
        """Whether the function is not called again after this."""
        return bool(self.error or self.forbidden)

    def save(self, path) -> None:
        """Its words, then its arrays, one after the other in one file that is complete once it is there."""
        new = path.with_suffix(".new")
        with open(new, "wb") as file:
            np.save(file, np.array(json.dumps({**self._asdict(), "arrays": len(self.arrays)})))
            for array in self.arrays:
                np.save(file, array)
        new.replace(path)

    @classmethod
    def load(cls, path) -> "Outcome":
        with open(path, "rb") as file:
            fields = json.loads(str(np.load(file, allow_pickle=False)))
            return cls(**{**fields, "arrays": [np.load(file, allow_pickle=False) for _array in range(fields["arrays"])]})
