"""Two accuracies

At each position, the model was given the right tokens before it, and `predicted` holds the token that it found most likely. Return
the share of tokens that are right, and the share of texts in which every token is right. Padding, id 0 in `ids`, does not count.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def accuracies(predicted, ids):
    """predicted, ids: (B, T). Returns tokens () and texts (), two shares from 0 to 1. No text is empty."""
    # your code: which positions count, and when is a text right?
    real = ids != 0
    right = predicted == ids
    tokens = right[real].mean()
    texts = (right | ~real).all(axis=1).mean()
    return tokens, texts
    # end of your code


# %% what it is called with
returns = "tokens texts"
float64_only = True
section = "Four ways to fool yourself"
stars, minutes = 1, 10


def case(rng, B, T):
    B, T = B + 3, T + 3
    ids = rng.integers(1, 30, (B, T)) * (np.arange(T) < rng.integers(1, T + 1, (B, 1)))
    ids[0, 2:] = ids[1, -2:] = 0
    predicted = np.where(rng.random((B, T)) < 0.6, ids, ids % 29 + 1)
    predicted[0, :3] = *ids[0, :2], 5    # right, whatever the model says about padding
    predicted[1, 0], predicted[1, -1] = 0, 0
    predicted[2] = ids[2]
    order = rng.permutation(B)
    return predicted[order], ids[order]


@edge("no padding at all")
def full(rng, B, T):
    ids, right = rng.integers(1, 30, (B + 1, T)), rng.integers(B + 1)
    predicted = np.where(rng.random(ids.shape) < 0.8, ids, ids % 29 + 1)
    predicted[right] = ids[right]
    return predicted, ids


@edge("everything is right except the predictions at padding")
def perfect(rng, B, T):
    ids = rng.integers(1, 30, (B, T + 1))
    ids[:, -1] = 0
    return np.where(ids == 0, 7, ids), ids


@edge("long texts, padding in front, and one wrong token in one of them")
def long(rng, B, T):
    ids = rng.integers(1, 30, (B, T + 30))
    ids[0, :T] = 0
    predicted = ids.copy()
    predicted[-1, -1] += 1
    return predicted, ids


@invariant("each wrong text has a wrong token, so there are at least as many of these: the excess of wrong texts must be 0")
def at_least_one(answer, predicted, ids):
    tokens, texts = answer
    return np.maximum(0, (1 - texts) * len(ids) - (1 - tokens) * (ids != 0).sum() - 1e-9)


# %% hints
hints = (
    "A text of two tokens is in a row of ten. How many positions decide whether it is right, and how many tokens does it add?",
    "Tokens: the mean over the real positions. Texts: all positions of a row must be either right or padding.",
    "texts = (right | ___).all(axis=1).mean()",
)


# %% mistakes
def right_texts(predicted, ids):
    return ((predicted == ids) | (ids == 0)).all(axis=1)


def right_tokens(predicted, ids):
    return (predicted == ids)[ids != 0]


def with_tokens(predicted, ids, tokens):
    return tokens, right_texts(predicted, ids).mean()


def with_texts(predicted, ids, texts):
    return right_tokens(predicted, ids).mean(), texts


@mistake("padding is counted among the tokens: there is no right answer at padding")
def padding_counted(predicted, ids):
    return with_tokens(predicted, ids, (predicted == ids).mean())


@mistake("padding counts as right: the share of tokens grows with the amount of padding")
def padding_right(predicted, ids):
    return with_tokens(predicted, ids, ((predicted == ids) | (ids == 0)).mean())


@mistake("the right tokens are divided by the number of all positions, including padding")
def all_places(predicted, ids):
    return with_tokens(predicted, ids, right_tokens(predicted, ids).sum() / ids.size)


@mistake("padding is where the model predicts 0: the targets say where it is")
def padding_of_predicted(predicted, ids):
    real = predicted != 0
    return (predicted == ids)[real].mean(), ((predicted == ids) | ~real).all(axis=1).mean()


@mistake("tokens is the mean of the texts' own shares, in which a token of a short text counts more")
def mean_of_means(predicted, ids):
    return with_tokens(predicted, ids, np.mean([right_tokens(*row).mean() for row in zip(predicted, ids)]))


@mistake("a text counts as wrong if the prediction at padding is: only its own tokens decide")
def padding_in_texts(predicted, ids):
    return with_texts(predicted, ids, (predicted == ids).all(axis=1).mean())


@mistake("a text counts as right if one of its tokens is: all of them have to be")
def any_token(predicted, ids):
    return with_texts(predicted, ids, ((predicted == ids) & (ids != 0)).any(axis=1).mean())


@mistake("a text counts as right if its first token is: all of them have to be")
def first_token(predicted, ids):
    return with_texts(predicted, ids, (predicted == ids)[:, 0].mean())


@mistake("texts is a power of the share of tokens: mistakes cluster in the same texts, so count the texts")
def as_a_power(predicted, ids):
    tokens = right_tokens(predicted, ids).mean()
    return tokens, tokens ** ids.shape[1]


@mistake("this is the share of columns that are all right: a text is a row")
def columns(predicted, ids):
    return with_texts(predicted, ids, ((predicted == ids) | (ids == 0)).all(axis=0).mean())


@mistake("the two are swapped: tokens first, then texts")
def swapped(predicted, ids):
    return with_texts(predicted, ids, right_texts(predicted, ids).mean())[::-1]


@mistake("these are the shares of mistakes: subtract them from 1")
def errors(predicted, ids):
    return 1 - right_tokens(predicted, ids).mean(), 1 - right_texts(predicted, ids).mean()


@mistake("these are the numbers of right tokens and texts: divide by how many there are")
def counts(predicted, ids):
    return right_tokens(predicted, ids).sum(), right_texts(predicted, ids).sum()


# %% other right solutions
@also_right
def with_wrong_ones(guess, targets):
    wrong = (guess != targets) * (targets > 0)
    return 1 - wrong.sum() / np.count_nonzero(targets), np.mean(wrong.sum(axis=1) == 0)


@also_right
def with_loops(predicted, ids):
    tokens, texts = [], []
    for guess, row in zip(predicted, ids):
        same = [a == b for a, b in zip(guess, row) if b != 0]
        tokens += same
        texts.append(all(same))
    return sum(tokens) / len(tokens), sum(texts) / len(texts)
