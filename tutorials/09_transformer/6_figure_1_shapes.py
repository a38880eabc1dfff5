"""Figure 1, from memory

Fill figure 1 with shapes. A batch holds `B` sentences of `T_k` source tokens, of which the decoder has `T_q` target tokens. The
vocabulary has `V` tokens, and there are `H` heads, whose queries and keys have `d_k` numbers and whose values have `d_v`. The
panel on the right stands for the decoder's *cross-attention*. Two of the arrays are hidden in the figure: the scores of the
masked self-attention, and what goes through the ReLU of the decoder's feed-forward network. Return each shape as an array of whole
numbers, such as `np.array([B, T_k])` for the ids of the source.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def figure_1_shapes(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    """All are whole numbers. Returns nine shapes, each an array with a number for each axis.

    memory: what the encoder hands over; query, key: of all heads, after the split; scores, answers, merged: inside the
    cross-attention, before and after the softmax and the weighted sum, and after the heads are merged; logits; masked: the scores
    of the masked self-attention; inner: inside the decoder's feed-forward network.
    """
    # your code: whose tokens ask, and whose are asked? What did a head get of the width?
    memory = np.array([B, T_k, d_model])
    query = np.array([B, H, T_q, d_k])
    key = np.array([B, H, T_k, d_k])
    scores = np.array([B, H, T_q, T_k])
    answers = np.array([B, H, T_q, d_v])
    merged = np.array([B, T_q, H * d_v])
    logits = np.array([B, T_q, V])
    masked = np.array([B, H, T_q, T_q])
    inner = np.array([B, T_q, d_ff])
    return memory, query, key, scores, answers, merged, logits, masked, inner
    # end of your code


# %% what it is called with
returns = "memory query key scores answers merged logits masked inner"
section = "Figure 1, from memory"
stars, minutes = 1, 10
float64_only = True


def case(rng, B, T_k, T_q):
    V, d_model, d_ff, H, d_k, d_v = (rng.permutation(40)[:6] + 10).tolist()
    return B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v


@edge("the paper's base model, with heads that divide the width")
def base(rng):
    return 2, 30, 25, 37_000, 512, 2048, 8, 64, 64


@invariant("a weight belongs to a pair of a query and a key: scores must have the query's tokens, then the key's")
def pairs(answer, *sizes):
    _memory, query, key, scores, *_others = answer
    return scores[2:] - [query[2], key[2]]


@invariant("merging moves numbers and loses none: merged must hold as many as answers")
def none_lost(answer, *sizes):
    return np.prod(answer[5]) - np.prod(answer[4])


# %% hints
hints = (
    "In the cross-attention, which tokens ask: those of the source or those of the target? And in the masked self-attention?",
    "The source has T_k tokens, the target T_q. All queries come from the target. A residual keeps d_model, a head has d_k or d_v.",
    "scores = np.array([B, H, ___, T_k])",
)


# %% mistakes
def made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, **others):
    right = dict(memory=(B, T_k, d_model), query=(B, H, T_q, d_k), key=(B, H, T_k, d_k), scores=(B, H, T_q, T_k),
                 answers=(B, H, T_q, d_v), merged=(B, T_q, H * d_v), logits=(B, T_q, V), masked=(B, H, T_q, T_q),
                 inner=(B, T_q, d_ff))
    return tuple(np.array(shape) for shape in (right | others).values())


@mistake("source and target are swapped everywhere: T_k counts the source tokens, which are asked")
def sides_swapped(B, T_k, T_q, *sizes):
    return made(B, T_q, T_k, *sizes)


@mistake("the memory has the target's length: it is made of the source")
def memory_of_the_target(B, T_k, T_q, V, d_model, *sizes):
    return made(B, T_k, T_q, V, d_model, *sizes, memory=(B, T_q, d_model))


@mistake("the cross-attention's queries have the source's length: the target asks")
def source_asks(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, query=(B, H, T_k, d_k))


@mistake("the scores have keys before queries: a row belongs to a query, and each row of weights sums to 1")
def keys_first(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, scores=(B, H, T_k, T_q))


@mistake("the masked self-attention looks at the source: there, the target asks and the target is asked")
def masked_at_the_source(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, masked=(B, H, T_q, T_k))


@mistake("the heads have the full width: after the split, a head has d_k numbers of the queries and keys")
def full_width(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, query=(B, H, T_q, d_model), key=(B, H, T_k, d_model))


@mistake("the answers have the width of the keys: they are sums of values, which have d_v numbers")
def answers_of_keys(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, answers=(B, H, T_q, d_k), merged=(B, T_q, H * d_k))


@mistake("the merged heads have d_model numbers: they have H d_v, and the linear layer after them brings these to d_model")
def merged_to_the_width(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, merged=(B, T_q, d_model))


@mistake("heads and positions are not swapped by the split: the heads come before the positions")
def positions_first(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    return made(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v, query=(B, T_q, H, d_k), key=(B, T_k, H, d_k), answers=(B, T_q, H, d_v))


@mistake("the logits have d_model numbers: there is one for each token of the vocabulary")
def logits_of_the_width(B, T_k, T_q, V, d_model, *sizes):
    return made(B, T_k, T_q, V, d_model, *sizes, logits=(B, T_q, d_model))


@mistake("the logits have the source's length: a token is predicted at each position of the target")
def logits_of_the_source(B, T_k, T_q, V, *sizes):
    return made(B, T_k, T_q, V, *sizes, logits=(B, T_k, V))


@mistake("the feed-forward network has d_model numbers inside: there it widens to d_ff")
def not_widened(B, T_k, T_q, V, d_model, *sizes):
    return made(B, T_k, T_q, V, d_model, *sizes, inner=(B, T_q, d_model))


# %% other right solutions
@also_right
def from_zeros(B, source, target, V, d, f, heads, k, v):
    q, keys, values = np.zeros((B, heads, target, k)), np.zeros((B, heads, source, k)), np.zeros((B, heads, source, v))
    s = q @ keys.swapaxes(2, 3)
    y = s @ values
    one = y.swapaxes(1, 2).reshape(B, target, -1)
    last = np.zeros((B, target, V)), q @ q.swapaxes(2, 3), np.zeros((B, target, f))
    arrays = (np.zeros((B, source, d)), q, keys, s, y, one, *last)
    return tuple(np.array(array.shape) for array in arrays)


@also_right
def from_parts(B, T_k, T_q, V, d_model, d_ff, H, d_k, d_v):
    heads, here = np.array([B, H]), np.array([B, T_q])
    return (np.append([B, T_k], d_model), np.append(heads, [T_q, d_k]), np.append(heads, [T_k, d_k]), np.append(heads, [T_q, T_k]),
            np.append(heads, [T_q, d_v]), np.append(here, d_v * H), np.append(here, V), np.append(heads, [T_q, T_q]),
            np.append(here, d_ff))
