"""minitransformer's own beam search, as `minitransformer translate` makes it."""

from collections.abc import Callable

from minitransformer.benchmarks.decoding.sentences import ALPHA
from minitransformer.decoding import Search, decode_all, translation
from minitransformer.workers.host import keep_freed_memory


def make_step(case, threads) -> Callable[[], list[list[int]]]:
    """A function that decodes all sentences and returns the ids of the outputs."""
    keep_freed_memory()
    if case.batch:
        translation.ROWS = case.batch * case.beam    # in this process
    run, sources = case.load()
    search = Search(case.beam, ALPHA)
    return lambda: [best.ids for best, *_ in decode_all(run.model, sources, search, threads)]
