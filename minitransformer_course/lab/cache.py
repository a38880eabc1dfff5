"""A key-value cache that forgets whose past it keeps."""

import string
from typing import Any
from unittest import mock

import numpy as np

from minitransformer import beam_search
from minitransformer.decoding.cached import CachedStack
from minitransformer.data.special import EOS
from minitransformer_course.lab.example import drawkcab


def with_a_broken_cache(length) -> str:
    """What a beam search on 100 random words of that many letters finds if the cache is never
    reordered.
    """
    advance = CachedStack.advance

    def broken(state, ids, parents=None) -> Any:
        places = (
            np.minimum(np.arange(ids.shape[1]), state._past.shape[1] - 1)
            if state._past is not None
            else 0
        )
        return advance(state, ids, None if parents is None else np.broadcast_to(places, ids.shape))

    model, vocabulary = drawkcab()
    draw = np.random.default_rng(length)
    words = ["".join(draw.choice([*string.ascii_lowercase], length)) for _word in range(100)]
    source = np.array([[*vocabulary.encode(word), EOS] for word in words])
    right = beam_search(model, source, 4)
    with mock.patch.object(CachedStack, "advance", broken):
        wrong = beam_search(model, source, 4)
    exact = [vocabulary.decode(found[0].ids) == word[::-1] for found, word in zip(wrong, words)]
    differ = [[one.ids for one in a] != [one.ids for one in b] for a, b in zip(right, wrong)]
    return f"{length} letters: {np.mean(exact):.0%} of the words are right, {np.mean(differ):.0%} of the beams differ"
