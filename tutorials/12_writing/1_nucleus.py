"""Temperature and top-p

Turn logits into the probabilities with which a token is drawn. Take the softmax at a temperature, then keep only the nucleus, the
smallest set of most likely tokens whose probabilities together reach `top_p`. All others get 0, and each row sums to 1 again. The
result is in the order of the vocabulary.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def nucleus(logits, temperature, top_p):
    """logits: (..., V); 0 < top_p <= 1. Returns p (..., V).

    No two logits of a row are equal, and the most likely tokens never reach top_p exactly, unless it is 1 and all are kept.
    """
    # your code: a softmax; sorted, so that you can add up; then back to the order of the vocabulary
    scaled = logits / temperature
    e = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    order = np.argsort(-logits, axis=-1)
    falling = np.take_along_axis(p, order, axis=-1)
    before = np.cumsum(falling, axis=-1) - falling
    kept = np.zeros_like(p)
    np.put_along_axis(kept, order, falling * (before < top_p), axis=-1)
    return kept / kept.sum(axis=-1, keepdims=True)
    # end of your code


# %% what it is called with
returns = "p"
section = "Draw, but not everything"
stars, minutes = 2, 20


def case(rng, B, V):
    return 1.5 * rng.standard_normal((B, V + 6)), float(rng.uniform(0.6, 1.6)), float(rng.uniform(0.6, 0.9))


@edge("one token reaches top_p by itself")
def certain(rng, V):
    logits = rng.standard_normal(V + 3)
    logits[rng.integers(V)] += 20
    return logits, float(rng.uniform(0.6, 1.6)), float(rng.uniform(0.6, 0.9))


@edge("logits of 1,000 and of -1,000, and of -1,000 alone in one row")
def large(rng, B, T, V):
    logits = 1000 * rng.choice([-1, 1], (B, T, V + 6)) + rng.standard_normal((B, T, V + 6))
    logits[0, 0] = rng.standard_normal(V + 6) - 1000
    return logits, 0.7, float(rng.uniform(0.6, 0.9))


@edge("top_p = 1")
def everything(rng, B, V):
    return rng.standard_normal((B, V)), 2.0, 1.0


@edge("more than 100 tokens, none of them much more likely than the others")
def flat(rng, B, V):
    return 0.3 * rng.standard_normal((B, V + 100)), 1.0, float(rng.uniform(0.6, 0.9))


@invariant("each row has to sum to 1")
def total(p, logits, temperature, top_p):
    return p.sum(axis=-1) - 1


# %% hints
hints = (
    "Of the probabilities 0.5, 0.3 and 0.2, which tokens reach 0.6 together? What is the sum *before* the last one that you keep?",
    "Sort from the most likely down and take a running sum. A token stays if the sum of those before it is still below top_p.",
    "before = np.cumsum(falling, axis=-1) - ___",
)


# %% mistakes
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def unsorted(order, falling):
    p = np.zeros_like(falling)
    np.put_along_axis(p, order, falling, axis=-1)
    return p


def renormalised(p):
    return p / p.sum(axis=-1, keepdims=True)


def made(p, top_p, keep):
    """keep(sums of the falling probabilities up to each token, the probabilities, top_p): which of them stay."""
    order = np.argsort(-p, axis=-1)
    falling = np.take_along_axis(p, order, axis=-1)
    return renormalised(unsorted(order, falling * keep(np.cumsum(falling, axis=-1), falling, top_p)))


def right(reached, falling, top_p):
    return reached - falling < top_p


@mistake("the token that crosses top_p is dropped: a row whose first token crosses it keeps nothing and becomes NaN")
def crossing_dropped(logits, temperature, top_p):
    return made(softmax(logits / temperature), top_p, lambda reached, falling, top_p: reached <= top_p + 1e-9 * (top_p == 1))


@mistake("the token that crosses top_p is dropped: without it, the kept tokens do not reach top_p")
def crossing_dropped_but_one(logits, temperature, top_p):
    return made(softmax(logits / temperature), top_p, lambda reached, falling, top_p: (
        reached <= top_p + 1e-9 * (top_p == 1)) | (falling == falling[..., :1]))


@mistake("no token is left out: those outside the nucleus must get 0")
def everything_kept(logits, temperature, top_p):
    return softmax(logits / temperature)


@mistake("one token too many is kept: the one after the token that crosses top_p")
def one_more(logits, temperature, top_p):
    def keep(reached, falling, top_p):
        stays = right(reached, falling, top_p)
        return np.concatenate([stays[..., :1] | True, stays[..., :-1]], axis=-1)
    return made(softmax(logits / temperature), top_p, keep)


@mistake("the logits are multiplied by the temperature: divide, so that a high one makes the row flatter")
def multiplied(logits, temperature, top_p):
    return made(softmax(logits * temperature), top_p, right)


@mistake("the temperature has no effect: divide the logits by it, since a factor of p cancels when the row is normalised")
def cancels(logits, temperature, top_p):
    return made(softmax(logits), top_p, right)


@mistake("the nucleus is chosen before the temperature is applied: first the temperature, then the nucleus")
def chosen_first(logits, temperature, top_p):
    return renormalised(softmax(logits / temperature) * (made(softmax(logits), top_p, right) > 0))


@mistake("the kept probabilities are not rescaled to sum to 1")
def not_renormalised(logits, temperature, top_p):
    p = softmax(logits / temperature)
    return p * (made(p, top_p, right) > 0)


@mistake("the running sum follows the order of the vocabulary: sort first, with the most likely token in front")
def without_sorting(logits, temperature, top_p):
    p = softmax(logits / temperature)
    return renormalised(p * right(np.cumsum(p, axis=-1), p, top_p))


@mistake("the sort is in ascending order: the least likely tokens are kept")
def rising(logits, temperature, top_p):
    p = softmax(logits / temperature)
    order = np.argsort(p, axis=-1)
    upwards = np.take_along_axis(p, order, axis=-1)
    return renormalised(unsorted(order, upwards * right(np.cumsum(upwards, axis=-1), upwards, top_p)))


@mistake("p is returned in sorted order: put each probability back in the place of its token")
def left_sorted(logits, temperature, top_p):
    return -np.sort(-made(softmax(logits / temperature), top_p, right), axis=-1)


@mistake("the mask is in sorted order but p is not: entry i of the mask belongs to token order[i]")
def mask_of_ranks(logits, temperature, top_p):
    p = softmax(logits / temperature)
    falling = -np.sort(-p, axis=-1)
    return renormalised(p * right(np.cumsum(falling, axis=-1), falling, top_p) + 1e-300)


@mistake("each probability is compared with 1 - top_p: compare the sum of those before it with top_p")
def by_itself(logits, temperature, top_p):
    p = softmax(logits / temperature)
    return renormalised(p * (p > 1 - top_p))


@mistake("the maximum is not subtracted in the softmax: the exponential of a large logit is infinite")
def overflow(logits, temperature, top_p):
    e = np.exp(logits / temperature)
    return made(e / e.sum(axis=-1, keepdims=True), top_p, right)


@mistake("every kept token gets the same probability: keep their proportions")
def uniform(logits, temperature, top_p):
    return renormalised((made(softmax(logits / temperature), top_p, right) > 0).astype(logits.dtype))


# %% other right solutions
@also_right
def with_log_softmax(logits, temperature, top_p):
    """Dividing log p by the temperature looks like a mistake, and is the same: they differ by a constant."""
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    p = softmax(log_p / temperature)
    falling = -np.sort(-p, axis=-1)
    last = (np.cumsum(falling, axis=-1) - falling < top_p).sum(axis=-1, keepdims=True) - 1
    p = np.where(p >= np.take_along_axis(falling, last, axis=-1), p, 0)
    return p / p.sum(axis=-1, keepdims=True)


@also_right
def with_loops(logits, temperature, top_p):
    flat = softmax(logits / temperature).reshape(-1, logits.shape[-1])
    kept = np.zeros_like(flat)
    for row, out in zip(flat, kept):
        total = 0
        for token in sorted(range(len(row)), key=lambda token: -row[token]):
            if total >= top_p:
                break
            out[token], total = row[token], total + row[token]
        out /= out.sum()
    return kept.reshape(logits.shape)
