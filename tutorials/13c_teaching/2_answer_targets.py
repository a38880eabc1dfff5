"""Learn the answer, not the question

Each text is a prompt, then an answer, then padding (0). Return what a language model reads and what
it has to predict at each position, so that the loss counts the tokens of the answers and no others.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def answer_targets(texts, n):
    """texts: (B, T), ids; n: (B,), how many tokens of each are its prompt, 1 or more.
    Returns ids (B, T - 1) and target (B, T - 1), in which 0 does not count.
    """
    # your code: shift, as in chapter 6; then hide the targets that belong to the prompt
    ids, target = texts[:, :-1], texts[:, 1:]
    answer = np.arange(1, texts.shape[1]) >= n[:, None]
    return ids, np.where(answer, target, 0)
    # end of your code


# %% what it is called with
returns = "ids target"
section = "Whose words count"
stars, minutes = 1, 10


def case(rng, B, T):
    return made(rng, B, T + 4, 1)


@edge("prompts of one token")
def short(rng, B, T):
    texts, n = made(rng, B, T + 4, 1)
    return texts, np.ones_like(n)


@edge("no padding")
def full(rng, B, T):
    texts = rng.integers(1, 29, (B, T + 4))
    return texts, rng.integers(1, T + 3, B)


def made(rng, B, T, least):
    texts, n = rng.integers(1, 29, (B, T)), np.empty(B, int)
    for row in range(B):
        end = rng.integers(least + 1, T + 1)
        texts[row, end:] = 0
        n[row] = rng.integers(least, end)
    return texts, n


@invariant("as many targets must count as there are tokens in the answers")
def counted(answer, texts, n):
    return (answer[1] != 0).sum(axis=1) - ((texts != 0).sum(axis=1) - n)


# %% hints
hints = (
    "The prompt has n tokens, at positions 0 to n - 1. Which position has to predict the first token "
    "of the answer?",
    "Row t of the targets is token t + 1 of the text. It belongs to the answer if t + 1 is n or more.",
    "answer = np.arange(1, texts.shape[1]) >= ___",
)


# %% mistakes
def shifted(texts):
    return texts[:, :-1], texts[:, 1:]


@mistake("every token counts, the prompt's as well")
def everything(texts, n):
    return shifted(texts)


@mistake("one token too few: the first token of the answer is a target, too")
def one_too_few(texts, n):
    ids, target = shifted(texts)
    return ids, np.where(np.arange(1, texts.shape[1]) > n[:, None], target, 0)


@mistake("one token too many: the last token of the prompt is a target")
def one_too_many(texts, n):
    ids, target = shifted(texts)
    return ids, np.where(np.arange(1, texts.shape[1]) >= n[:, None] - 1, target, 0)


@mistake("the mask is the wrong way round: the prompt counts and the answer does not")
def inverted(texts, n):
    ids, target = shifted(texts)
    return ids, np.where(np.arange(1, texts.shape[1]) < n[:, None], target, 0)


@mistake("the prompt is hidden from the model: it may read everything, only the targets are masked")
def prompt_hidden(texts, n):
    ids, target = shifted(texts)
    answer = np.arange(1, texts.shape[1]) >= n[:, None]
    return np.where(answer, ids, 0), np.where(answer, target, 0)


@mistake("nothing is shifted: position t has read token t and has to predict the next one")
def not_shifted(texts, n):
    T = texts.shape[1]
    return texts[:, :-1], np.where(np.arange(T - 1) >= n[:, None], texts[:, :-1], 0)


@mistake("the shift goes the wrong way: the model reads the later token and predicts the earlier one")
def wrong_way(texts, n):
    T = texts.shape[1]
    return texts[:, 1:], np.where(np.arange(T - 1) >= n[:, None], texts[:, :-1], 0)


@mistake("every text is masked by the longest prompt: each has its own")
def longest(texts, n):
    ids, target = shifted(texts)
    return ids, np.where(np.arange(1, texts.shape[1]) >= np.full_like(n, n.max())[:, None], target, 0)


@mistake("every text is masked by the shortest prompt: each has its own")
def shortest(texts, n):
    ids, target = shifted(texts)
    return ids, np.where(np.arange(1, texts.shape[1]) >= np.full_like(n, n.min())[:, None], target, 0)


# %% other right solutions
@also_right
def with_loops(texts, lengths):
    ids, target = texts[:, :-1].copy(), np.zeros_like(texts[:, 1:])
    for row, prompt in enumerate(lengths):
        for t in range(prompt - 1, texts.shape[1] - 1):
            target[row, t] = texts[row, t + 1]
    return ids, target


@also_right
def by_multiplication(texts, n):
    T = texts.shape[1]
    counts = (np.arange(T) - n[:, None] >= 0)[:, 1:]
    return texts[:, :-1].copy(), texts[:, 1:] * counts
