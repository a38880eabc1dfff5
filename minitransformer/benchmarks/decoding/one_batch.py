"""minitransformer's beam search on one batch and one thread, to measure its growth with sentences and hypotheses."""

from collections.abc import Callable

from threadpoolctl import threadpool_limits

from minitransformer.benchmarks.decoding.sentences import ALPHA
from minitransformer.data.batches import pad
from minitransformer.decoding.beam import beam_search
from minitransformer.workers.host import keep_freed_memory
from minitransformer.functional.special import EOS

DIFFERENT = 32    # sentences; a larger batch repeats them, so that the work per sentence is the same


def make_step(case, threads, size) -> Callable[[], list[list[int]]]:
    """A function that decodes a batch of `size` sentences of medium length."""
    threadpool_limits(threads, user_api="blas")
    keep_freed_memory()
    run, sources = case.load()
    sources = sorted((source for source in sources if source), key=len)
    start = max(0, (len(sources) - DIFFERENT) // 2)
    middle = sources[start:start + DIFFERENT]
    batch = pad([[*middle[i % len(middle)], EOS] for i in range(int(size))])
    return lambda: [best.ids for best, *_ in beam_search(run.model, batch, case.beam, ALPHA)]
