"""minitransformer's own beam search, as `minitransformer translate` makes it."""

from minitransformer.benchmarking.decoding.sentences import ALPHA
from minitransformer.decoding import Search, decode_all


def make_step(case, threads):
    """A function that decodes all sentences and returns the ids of the outputs."""
    run, sources = case.load()
    search = Search(case.beam, ALPHA)
    return lambda: [best.tokens for best, *_ in decode_all(run.model, sources, search, threads)]
