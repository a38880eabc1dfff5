"""The target, shifted by one

Make two arrays from a batch of targets: what the decoder reads, and what it has to predict at each position.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def shifted(target):
    """target: ids (B, T), with padding (0) at the end.

    Returns decoder_input and next_target, ids (B, T + 1): the first begins with 1 (BOS), the second ends with 2 (EOS), before
    its padding.
    """
    # your code: the input is BOS and then the target; next_target is the target and then EOS
    B, T = target.shape
    length = (target != 0).sum(axis=1)
    decoder_input = np.zeros((B, T + 1), target.dtype)
    next_target = np.zeros((B, T + 1), target.dtype)
    decoder_input[:, 0] = 1
    decoder_input[:, 1:] = target
    next_target[:, :-1] = target
    next_target[np.arange(B), length] = 2
    return decoder_input, next_target
    # end of your code


# %% what it is called with
returns = "decoder_input next_target"
section = "What the decoder reads"
stars, minutes = 2, 15


def case(rng, B, T):
    lengths = rng.integers(1, T + 1, B)
    lengths[rng.integers(B)] = T - 1    # at least one row is padded
    return (rng.integers(3, 40, (B, T)) * (np.arange(T) < lengths[:, None]),)


@edge("padding in every row")
def padded(rng, B, T):
    return (rng.integers(3, 40, (B, T + 1)) * (np.arange(T + 1) < rng.integers(1, T + 1, (B, 1))),)


@edge("no padding at all")
def full(rng, B, T):
    return (rng.integers(3, 40, (B, T)),)


@edge("a target of padding alone: EOS is all that there is to predict")
def empty(rng, B, T):
    (target,) = padded(rng, B + 1, T)
    target[rng.integers(B + 1)] = 0
    return (target,)


@invariant("each position reads what the one before it has to predict: the number of exceptions before EOS must be 0")
def chained(answer, target):
    decoder_input, next_target = answer
    return ((target != 0) & (decoder_input[:, 1:] != next_target[:, :-1])).sum()


# %% hints
hints = (
    "What does the decoder know when it predicts the first token? What must it predict when the sentence is complete?",
    "Four parts: BOS in column 0 of the input, then the target; the target from column 0 of next_target, EOS after its last token.",
    "next_target[np.arange(B), ___] = 2",
)


# %% mistakes
def right(target):
    column = np.zeros_like(target[:, :1])
    decoder_input = np.concatenate([column + 1, target], axis=1)
    next_target = np.concatenate([target, column], axis=1)
    next_target[np.arange(len(target)), (target != 0).sum(axis=1)] = 2
    return decoder_input, next_target


@mistake("the decoder's input is not shifted: position t already holds the token that it has to predict")
def not_shifted(target):
    _, next_target = right(target)
    return next_target.copy(), next_target


@mistake("it has to predict what it reads: next_target begins with BOS, as the input does")
def predicts_its_input(target):
    decoder_input, _ = right(target)
    return decoder_input, decoder_input.copy()


@mistake("EOS is in the last column, after the padding, not after the last token")
def eos_behind_padding(target):
    decoder_input, _ = right(target)
    return decoder_input, np.concatenate([target, np.full_like(target[:, :1], 2)], axis=1)


@mistake("EOS is written into these columns of every row: np.arange(B) as the first index pairs each row with its own column")
def eos_in_all_rows(target):
    decoder_input, next_target = right(target)
    next_target[:, (target != 0).sum(axis=1)] = 2
    return decoder_input, next_target


@mistake("EOS is missing: the model never learns to stop")
def without_eos(target):
    decoder_input, _ = right(target)
    return decoder_input, np.concatenate([target, np.zeros_like(target[:, :1])], axis=1)


@mistake("EOS overwrites the last token: it belongs after it")
def eos_too_early(target):
    decoder_input, next_target = right(target)
    length = (target != 0).sum(axis=1)
    next_target[np.arange(len(target)), length] = 0
    next_target[np.arange(len(target)), length - 1] = 2
    return decoder_input, next_target


@mistake("EOS replaces the first padding, but a sentence without padding has none: there it overwrites the first token")
def eos_at_first_padding(target):
    decoder_input, next_target = right(target)
    full = (target != 0).all(axis=1)
    next_target[full, 0], next_target[full, -1] = 2, 0
    return decoder_input, next_target


@mistake("BOS is missing: the first position of the input is padding")
def without_bos(target):
    decoder_input, next_target = right(target)
    decoder_input[:, 0] = 0
    return decoder_input, next_target


@mistake("decoder_input and next_target are swapped: they are returned in the wrong order")
def swapped(target):
    return right(target)[::-1]


@mistake("both have T columns: with BOS or EOS there is one token more")
def cut(target):
    decoder_input, next_target = right(target)
    return decoder_input[:, :-1], next_target[:, :-1]


@mistake("the input holds EOS as well: nothing is predicted after it")
def eos_in_the_input(target):
    decoder_input, next_target = right(target)
    length = (target != 0).sum(axis=1)
    decoder_input[length < target.shape[1], length[length < target.shape[1]] + 1] = 2
    return decoder_input, next_target


@mistake("BOS and EOS are swapped: BOS is 1, EOS is 2")
def exchanged(target):
    decoder_input, next_target = right(target)
    decoder_input[:, 0] = 2
    next_target[np.arange(len(target)), (target != 0).sum(axis=1)] = 1
    return decoder_input, next_target


@mistake("the target is cut as if it began with BOS and ended with EOS: here it has neither, so both have to be added")
def cut_as_if_complete(target):
    return target[:, :-1].copy(), target[:, 1:].copy()


@mistake("it is shifted by two: the input has BOS twice, and lacks the last token")
def twice_shifted(target):
    decoder_input, next_target = right(target)
    return np.concatenate([decoder_input[:, :1], decoder_input[:, :-1]], axis=1), next_target


@mistake("BOS is missing: the decoder reads the very token that it has to predict")
def unshifted_input(target):
    decoder_input, next_target = shifted(target)
    return np.concatenate([target, 0 * target[:, :1]], axis=1), next_target


@mistake("EOS fills all of the padding: it belongs in one place, after the last token")
def eos_for_padding(target):
    decoder_input, next_target = right(target)
    return decoder_input, np.where(next_target == 0, 2, next_target).astype(target.dtype)


@mistake("next_target begins with BOS: it is what has to be predicted, and BOS is given")
def bos_in_next_target(target):
    decoder_input, next_target = right(target)
    return decoder_input, np.concatenate([decoder_input[:, :1], next_target[:, :-1]], axis=1)


@mistake("every sentence gets its EOS where the longest one ends: it belongs after its own last token")
def eos_of_the_longest(target):
    decoder_input, _ = right(target)
    next_target = np.concatenate([target, np.zeros_like(target[:, :1])], axis=1)
    next_target[:, (target != 0).sum(axis=1).max()] = 2
    return decoder_input, next_target


# %% other right solutions
@also_right
def with_concatenate(y):
    column = np.zeros_like(y[:, :1])
    after = np.concatenate([y, column], axis=1)
    end = (after == 0) & (np.cumsum(after == 0, axis=1) == 1)
    return np.concatenate([column + 1, y], axis=1), np.where(end, 2, after).astype(y.dtype)


@also_right
def with_loops(target):
    decoder_input = np.zeros((len(target), target.shape[1] + 1), target.dtype)
    next_target = np.zeros_like(decoder_input)
    for b, row in enumerate(target):
        tokens = [token for token in row if token]
        decoder_input[b, :len(tokens) + 1] = [1, *tokens]
        next_target[b, :len(tokens) + 1] = [*tokens, 2]
    return decoder_input, next_target
