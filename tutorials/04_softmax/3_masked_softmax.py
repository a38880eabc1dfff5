"""A row with nothing to attend to

Softmax over the entries that a mask allows. The others get probability 0. A row in which nothing is allowed is 0 throughout:
no NaN, and no attention to what is masked out. Again, scores may be as large as 1,000, even those that are masked out.
"""

import numpy as np

from minitransformer import functional
from minitransformer.functional.softmax import SoftmaxCache
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def masked_softmax(x, mask):
    """x: (..., K); mask: bool, broadcastable to x, True where an entry takes part. Returns p (..., K)."""
    # your code: nothing that is masked out may matter, and an empty row must stay 0
    allowed = np.where(mask, x, -np.inf)
    largest = allowed.max(axis=-1, keepdims=True)
    e = np.exp(allowed - np.where(np.isfinite(largest), largest, 0))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)
    # end of your code


# %% what it is called with
returns = "p"
section = "A row with nothing to attend to"
stars, minutes = 2, 15


def case(rng, B, T, K):
    mask = rng.random((B, 1, K)) < 0.6
    mask[0] = False
    mask[-1, :, :1], mask[-1, :, 1:2] = True, False
    return rng.standard_normal((B, T, K)), mask


@edge("nothing is masked out")
def allowed(rng, T, K):
    return rng.standard_normal((T, K)), np.ones((T, K), bool)


@edge("scores of 1,000 and of -1,000")
def large(rng, B, T, K):
    return 1000 * rng.standard_normal((B, T, K)), rng.random((B, T, K)) < 0.7


@edge("a masked score of 1,000, far above the allowed ones")
def masked_peak(rng, T, K):
    x, peak = rng.standard_normal((T, K)), rng.integers(0, K, (T, 1))
    return x + 1000 * (np.arange(K) == peak), np.arange(K) != peak


@edge("allowed scores near -1,000")
def low(rng, T, K):
    return rng.standard_normal((T, K)) - 1000, np.arange(K) != rng.integers(0, K, (T, 1))


@edge("of the queries of one sentence, one has nothing to attend to")
def one_empty(rng, B, T, K):
    mask = np.arange(K) != rng.integers(0, K, (B, T, 1))
    mask[np.arange(B), np.arange(B) % T] = False
    return rng.standard_normal((B, T, K)), mask


@invariant("each row must sum to 1, or to 0 if nothing in it is allowed")
def rows(p, x, mask):
    return p.sum(axis=-1) - np.broadcast_to(mask, x.shape).any(axis=-1)


@invariant("what is masked out must have probability 0")
def forbidden(p, x, mask):
    return np.where(mask, 0, p)


@plugs(functional.softmax_forward)
def in_the_model(own):
    def forward(x, mask=None):
        p = own(x, np.ones(x.shape, bool) if mask is None else mask)
        return p, SoftmaxCache(p)
    return forward


# %% hints
hints = (
    "What is the sum of exp over a row in which nothing is allowed? What does NumPy return when you divide by it?",
    "Only allowed scores count, even in the search for the largest one. If a row's sum is 0, divide by 1 instead.",
    "return e / np.where(total == ___, 1, total)",
)


# %% mistakes
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@mistake("a row with nothing to attend to is NaN: 0 / 0")
def empty_row(x, mask):
    return softmax(np.where(mask, x, -np.inf))


@mistake("the largest score is taken over the masked entries too: if it is one of them, exp of all others can be 0")
def peak_of_all(x, mask):
    e = np.where(mask, np.exp(x - x.max(axis=-1, keepdims=True)), 0).astype(x.dtype)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@mistake("a row with nothing to attend to attends to everything, equally: that is what a large negative score does there")
def large_negative(x, mask):
    return softmax(np.where(mask, x, -1e9))


@mistake("a row with nothing to attend to is 1 throughout: it has to be 0")
def empty_row_is_1(x, mask):
    return np.where(mask.any(axis=-1, keepdims=True), masked_softmax(x, mask), 1)


@mistake("the mask is ignored")
def ignored(x, mask):
    return softmax(x)


@mistake("the mask is the wrong way round: here True means that an entry takes part")
def inverted(x, mask):
    return masked_softmax(x, ~mask)


@mistake("masked probabilities become 0 after the division: the rest of the row no longer sums to 1")
def too_late(x, mask):
    return softmax(x) * mask


@mistake("masked scores are set to 0, but exp(0) is 1: they still take part")
def zero_scores(x, mask):
    return softmax(x * mask)


@mistake("the division is missing")
def undivided(x, mask):
    allowed = np.where(mask, x, -np.inf)
    largest = allowed.max(axis=-1, keepdims=True)
    return np.exp(allowed - np.where(np.isfinite(largest), largest, 0))


@mistake("the largest score of the row is not subtracted: exp(1000) overflows")
def overflowing(x, mask):
    e = np.where(mask, np.exp(x), 0).astype(x.dtype)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@mistake("masked scores are multiplied by 0, but exp(0) is 1: they still take part; only empty rows are 0")
def multiplied_by_the_mask(x, mask):
    return np.where(np.any(mask, axis=-1, keepdims=True), softmax(x * mask), 0)


# %% other right solutions
@also_right
def with_infinity(scores, allowed):
    masked = np.where(allowed, scores, -np.inf)
    peak = masked.max(axis=-1, keepdims=True)
    e = np.exp(masked - np.where(np.isfinite(peak), peak, 0))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


@also_right
def with_loops(x, mask):
    p, mask = np.zeros_like(x), np.broadcast_to(mask, x.shape)
    for row in np.ndindex(x.shape[:-1]):
        if mask[row].any():
            allowed = x[row][mask[row]]
            e = np.exp(allowed - allowed.max())
            p[row][mask[row]] = e / e.sum()
    return p
