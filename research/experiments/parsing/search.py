"""The search of section 6.3 of the paper: a tree has more symbols than its sentence has words."""

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from minitransformer.decoding import Hypothesis, Search
from minitransformer.decoding.state import EXTRA_LENGTH, DecodingState

EXTRA_SYMBOLS = (
    300  # an output is at most this much longer than its source, where the package has EXTRA_LENGTH
)


@dataclass(frozen=True)
class TreeSearch(Search):
    """A Search that lets a model write EXTRA_SYMBOLS more symbols than its source has words."""

    def __call__(self, model, source) -> list[list[Hypothesis]]:
        positions = (
            model.target_input.positions.max_length
            if hasattr(model, "target_input")
            else sys.maxsize
        )

        def start(source) -> DecodingState:
            state = model.start(source)
            state.limit = np.minimum(state.limit + EXTRA_SYMBOLS - EXTRA_LENGTH, positions - 1)
            return state

        return super().__call__(SimpleNamespace(start=start), source)
