"""Three attentions, three masks

The encoder reads the source, the decoder reads the target written so far, and the cross-attention looks from the target at the
source. Make the mask of each. Again, True means "may attend", and the id 0 is padding.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def three_masks(source, target):
    """source: ids (B, T_k); target: ids (B, T_q).

    Returns encoder, bool (B, 1, 1, T_k); decoder, bool (B, 1, T_q, T_q); cross, bool (B, 1, 1, T_k).
    """
    # your code: whose tokens are the keys, and which of the three is causal?
    source_real = (source != 0)[:, None, None, :]
    target_real = (target != 0)[:, None, None, :]
    position = np.arange(target.shape[1])
    causal = position[:, None] >= position
    return source_real, causal & target_real, source_real
    # end of your code


# %% what it is called with
returns = "encoder decoder cross"
section = "Padding: what is not there must not count"
stars, minutes = 2, 20


def padded(rng, B, T):
    lengths = rng.integers(1, T + 1, B)
    lengths[rng.integers(B)] = T - 1    # at least one row is padded
    return rng.integers(1, 40, (B, T)) * (np.arange(T) < lengths[:, None])


def case(rng, B, T_k, T_q):
    return padded(rng, B, T_k), padded(rng, B, T_q)


@edge("source and target are equally long")
def equally_long(rng, B, T):
    source = padded(rng, B, T + 1)
    target = padded(rng, B, T + 1)
    source[1], target[1] = 5, [5, *[0] * T]
    return source, target


@edge("a target of padding alone, and one of more than 200 tokens")
def long(rng, B, T):
    target = rng.integers(1, 40, (B, int(rng.integers(200, 260))))
    target[rng.integers(B)] = 0
    return padded(rng, B, T), target


@invariant("the number of pairs in which a position of the decoder may attend to a later one must be 0")
def future(answer, source, target):
    return np.triu(answer[1], 1).sum()


@invariant("the number of pairs in which a query may attend to padding must be 0")
def padding(answer, source, target):
    return sum((mask & (ids == 0)[:, None, None, :]).sum() for mask, ids in zip(answer, (source, target, source)))


@plugs(functional.padding_mask)
def in_the_model(own):
    return lambda ids: own(ids, ids)[0]    # the encoder's: in the model, each of the three asks for its keys


# %% hints
hints = (
    "Which tokens are the keys of the cross-attention, the source's or the target's? So whose padding does its mask hide?",
    "The keys' padding mask, three times: source, target, source. The decoder's is also causal: both must allow a pair, so &.",
    "return source_real, causal & ___, source_real",
)


# %% mistakes
def keys(ids):
    return (ids != 0)[:, None, None, :]


def tri(ids):
    return np.tri(ids.shape[1], dtype=bool)


@mistake("the cross-attention hides the target's padding: its keys are the source, so it needs the source's padding mask")
def cross_of_target(source, target):
    return keys(source), tri(target) & keys(target), keys(target)


@mistake("the decoder's mask is not causal: it sees the complete target")
def not_causal(source, target):
    return keys(source), keys(target) & np.ones_like(tri(target)), keys(source)


@mistake("the decoder's mask is the padding mask alone: the causal mask is missing, and with it the axis of the queries")
def only_padding(source, target):
    return keys(source), keys(target), keys(source)


@mistake("the decoder's mask is the causal mask alone: the target's padding is missing, and with it the axis of the batch")
def only_causal(source, target):
    return keys(source), tri(target), keys(source)


@mistake("the decoder's mask ignores the target's padding")
def target_padding_ignored(source, target):
    return keys(source), tri(target) & np.ones_like(keys(target)), keys(source)


@mistake("one of the two masks is enough to allow a pair: | in place of &")
def either(source, target):
    return keys(source), tri(target) | keys(target), keys(source)


@mistake("the encoder's mask is causal too: a source is known in full, and is read in both directions")
def causal_encoder(source, target):
    return tri(source) & keys(source), tri(target) & keys(target), keys(source)


@mistake("the cross-attention's mask is causal too: every target position may read all of the source")
def causal_cross(source, target):
    return keys(source), tri(target) & keys(target), np.tri(target.shape[1], source.shape[1], dtype=bool) & keys(source)


@mistake("the cross-attention's mask hides queries that are padding; only keys are hidden, and its keys are the source")
def cross_queries_hidden(source, target):
    return keys(source), tri(target) & keys(target), keys(target).swapaxes(-1, -2) & keys(source)


@mistake("one column too many: each position of the decoder sees the next one")
def one_ahead(source, target):
    return keys(source), np.tri(target.shape[1], k=1, dtype=bool) & keys(target), keys(source)


@mistake("the causal mask is transposed: the decoder sees the future, and not the past")
def transposed(source, target):
    return keys(source), tri(target).T & keys(target), keys(source)


@mistake("each mask is the wrong way round: here True means \"may attend\"")
def inverted(source, target):
    return ~keys(source), ~(tri(target) & keys(target)), ~keys(source)


@mistake("the padding is the wrong way round: only padding may be attended to")
def padding_inverted(source, target):
    return ~keys(source), tri(target) & ~keys(target), ~keys(source)


@mistake("the decoder's mask hides queries that are padding; only keys are hidden")
def queries_hidden(source, target):
    return keys(source), tri(target) & keys(target).swapaxes(-1, -2), keys(source)


@mistake("the causal mask leaves out the position itself: the first one has nothing left to attend to")
def without_itself(source, target):
    return keys(source), tri(target) & ~np.eye(target.shape[1], dtype=bool) & keys(target), keys(source)


@mistake("the encoder's mask allows padding: everything is True")
def encoder_open(source, target):
    encoder, decoder, cross = three_masks(source, target)
    return np.ones_like(encoder), decoder, cross


@mistake("the cross-attention's mask allows padding: everything is True")
def cross_open(source, target):
    encoder, decoder, cross = three_masks(source, target)
    return encoder, decoder, np.ones_like(cross)


@mistake("the ids 1 and 2 count as padding: only 0 is padding, and BOS and EOS may be attended to")
def special_tokens_hidden(source, target):
    return three_masks(source * (source > 2), target * (target > 2))


# %% other right solutions
@also_right
def with_tri(src, tgt):
    allowed = np.tri(tgt.shape[1], dtype=bool)[None, None]
    pad = np.expand_dims(src != 0, (1, 2))
    return pad, np.logical_and(allowed, np.expand_dims(tgt != 0, (1, 2))), pad.copy()


@also_right
def with_loops(source, target):
    B, T = target.shape
    encoder = (source > 0).reshape(B, 1, 1, -1)
    decoder = np.zeros((B, 1, T, T), bool)
    for b in range(B):
        for t in range(T):
            for u in range(t + 1):
                decoder[b, 0, t, u] = target[b, u] != 0
    return encoder, decoder, encoder
