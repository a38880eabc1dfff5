"""Bits per character

A language model read some texts and gave its logits. Return the mean number of bits that a character costs, which is minus the
logarithm to base 2 of its probability. Count every character except the first of each text, which nothing predicts.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def bits_per_character(logits, ids):
    """logits: (B, T, V), what the model says after each character; ids: (B, T), the texts that it read. Returns bits ()."""
    # your code: which row is about which character? then a logarithm of a softmax that cannot overflow
    said, target = logits[:, :-1], ids[:, 1:]
    shifted = said - said.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)
    return -right.mean() / np.log(2).astype(logits.dtype)
    # end of your code


# %% what it is called with
returns = "bits"
section = "A text is its own target"
stars, minutes = 2, 15


def case(rng, B, T, V):
    return 2 * rng.standard_normal((B, T + 1, V)), rng.integers(V, size=(B, T + 1))


@edge("logits of 1,000 in some rows and of -1,000 in others")
def large(rng, B, T, V):
    high = 1000 * (-1.0) ** np.arange(T + 1)[:, None]
    return high + rng.standard_normal((B, T + 1, V)), rng.integers(V, size=(B, T + 1))


@edge("all logits alike: a character costs log2 V bits")
def alike(rng, B, T, V):
    return np.full((B, T + 1, V), 0.5), rng.integers(V, size=(B, T + 1))


@edge("texts of two characters, of which one counts")
def short(rng, B, V):
    return 2 * rng.standard_normal((B, 2, V)), rng.integers(V, size=(B, 2))


@edge("characters that the model held for nearly impossible: probabilities of 1e-30 and less")
def surprised(rng, B, T, V):
    return 60 * rng.standard_normal((B, T + 1, V)), rng.integers(V, size=(B, T + 1))


@invariant("no probability is above 1, so the number of bits cannot be below 0")
def not_negative(bits, logits, ids):
    return np.minimum(bits, 0)


# %% hints
hints = (
    "The model has read *to*. Which row of the logits was there when only *t* had been read, and which character did it predict?",
    "Rows 0 to T - 2 predict characters 1 to T - 1. Take the log-softmax of these rows, pick the entry of the character that "
    "came, and turn nats into bits.",
    "said, target = logits[:, :-1], ids[___]",
)


# %% mistakes
def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def picked(log_p, ids):
    return np.take_along_axis(log_p, ids[..., None], axis=-1)[..., 0]


@mistake("nothing is shifted: row t is about character t + 1, and the model has already read character t")
def not_shifted(logits, ids):
    return -picked(log_softmax(logits), ids).mean() / np.log(2)


@mistake("the shift goes the wrong way: row t + 1 has read character t already")
def wrong_way(logits, ids):
    return -picked(log_softmax(logits[:, 1:]), ids[:, :-1]).mean() / np.log(2)


@mistake("the texts were rolled: the last row is asked about the first character of the text")
def rolled(logits, ids):
    return -picked(log_softmax(logits), np.roll(ids, -1, axis=1)).mean() / np.log(2)


@mistake("these are nats: divide by the logarithm of 2")
def nats(logits, ids):
    return -picked(log_softmax(logits[:, :-1]), ids[:, 1:]).mean()


@mistake("multiplied by the logarithm of 2: a bit is smaller than a nat, so there are more of them")
def multiplied(logits, ids):
    return -picked(log_softmax(logits[:, :-1]), ids[:, 1:]).mean() * np.log(2)


@mistake("this is a sum: divide it by the number of predicted characters")
def total(logits, ids):
    return -picked(log_softmax(logits[:, :-1]), ids[:, 1:]).sum() / np.log(2)


@mistake("the sum is divided by B T, but the first character of each text was not predicted")
def all_characters(logits, ids):
    return -picked(log_softmax(logits[:, :-1]), ids[:, 1:]).sum() / np.log(2) / ids.size


@mistake("the sum is divided by the number of texts alone")
def of_a_text(logits, ids):
    return -picked(log_softmax(logits[:, :-1]), ids[:, 1:]).sum() / np.log(2) / len(ids)


@mistake("this is the logarithm of the mean probability: take the mean of the logarithms")
def log_of_mean(logits, ids):
    return -np.log2(np.exp(picked(log_softmax(logits[:, :-1]), ids[:, 1:])).mean())


@mistake("the logits are taken for log-probabilities: the softmax is missing")
def no_softmax(logits, ids):
    return -picked(logits[:, :-1], ids[:, 1:]).mean() / np.log(2)


@mistake("the sign is missing: the logarithm of a probability is negative")
def negative(logits, ids):
    return picked(log_softmax(logits[:, :-1]), ids[:, 1:]).mean() / np.log(2)


@mistake("the softmax runs over the positions: it belongs to the vocabulary, the last axis")
def over_positions(logits, ids):
    x = logits[:, :-1]
    x = x - x.max(axis=1, keepdims=True)
    return -picked(x - np.log(np.exp(x).sum(axis=1, keepdims=True)), ids[:, 1:]).mean() / np.log(2)


@mistake("the maximum is not subtracted in the softmax: the exponential of a large logit is infinite")
def overflow(logits, ids):
    p = np.exp(logits[:, :-1]) / np.exp(logits[:, :-1]).sum(axis=-1, keepdims=True)
    return -np.log2(picked(p, ids[:, 1:])).mean()


@mistake("this is the perplexity: the number of bits is its logarithm")
def perplexity(logits, ids):
    return np.exp(-picked(log_softmax(logits[:, :-1]), ids[:, 1:]).mean())


# %% other right solutions
@also_right
def with_log2(logits, ids):
    """A softmax first, then a logarithm to base 2."""
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    B, T = ids.shape
    return -np.log2(p[np.arange(B)[:, None], np.arange(T - 1), ids[:, 1:]]).mean()


@also_right
def with_loops(logits, ids):
    bits = []
    for rows, text in zip(logits, ids):
        for row, character in zip(rows, text[1:]):
            row = row - row.max()
            bits.append((np.log(np.exp(row).sum()) - row[character]) / np.log(2).astype(logits.dtype))
    return np.mean(np.array(bits, logits.dtype))
