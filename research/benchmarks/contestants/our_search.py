"""minitransformer's own beam search, as `minitransformer translate` makes it."""

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from research.benchmarks.sentences import ALPHA
from minitransformer.data.batches import pad
from minitransformer.decoding import Search, decode_all, translation
from minitransformer.decoding.beam import beam_search
from minitransformer.data.special import EOS
from minitransformer.speed.kernels import load_all
from minitransformer.speed.host import keep_freed_memory

# sentences of medium length; a larger batch repeats them, so that the work per sentence is the same
DIFFERENT = 32

load_all()  # imports Numba, which counts as import, not as memory of the search


def make_step(case, threads, size=None) -> Callable[[], list[list[int]]]:
    """A function that decodes all sentences, or one batch of `size`, and returns the ids of the
    outputs.
    """
    keep_freed_memory()
    run, sources = case.load()
    if size:
        threadpool_limits(threads, user_api="blas")
        batch = _batch(sources, int(size))
        return lambda: [best.ids for best, *_ in beam_search(run.model, batch, case.beam, ALPHA)]
    if case.batch:
        translation.ROWS = case.batch * case.beam  # in this process
    search = Search(case.beam, ALPHA)
    return lambda: [best.ids for best, *_ in decode_all(run.model, sources, search, threads)]


def _batch(sources, size) -> np.ndarray:
    """`size` sources of medium length, (size, T_k) ids."""
    sources = sorted(filter(None, sources), key=len)
    start = max(0, (len(sources) - DIFFERENT) // 2)
    middle = sources[start : start + DIFFERENT]
    return pad([[*middle[i % len(middle)], EOS] for i in range(size)])
