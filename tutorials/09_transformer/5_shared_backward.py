"""One matrix, three uses

The matrix E embeds the source as sqrt(D) E[source] and the target as sqrt(D) E[target]. It also makes the logits from the last
hidden states h: logits = h E^T. You get the gradients of all three results. Return those of h and of E.
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def shared_backward(dsource, dtarget, dlogits, h, source, target, E):
    """dsource: (B, T_k, D); dtarget, h: (B, T_q, D); dlogits: (B, T_q, V); source: ids (B, T_k); target: ids (B, T_q); E: (V, D).

    Returns dh (B, T_q, D) and dE (V, D).
    """
    # your code: E is used in three places
    V, D = E.shape
    dh = dlogits @ E
    dE = dlogits.reshape(-1, V).T @ h.reshape(-1, D)
    np.add.at(dE, source, math.sqrt(D) * dsource)
    np.add.at(dE, target, math.sqrt(D) * dtarget)
    return dh, dE
    # end of your code


# %% what it is called with
returns = "dh dE"
section = "One matrix, three uses"
stars, minutes = 2, 15


def made(rng, B, T_k, T_q, V, D, source=None):
    source = rng.integers(0, V, (B, T_k)) if source is None else source
    source[0, :2], target = 1, rng.integers(0, V, (B, T_q))    # a token that occurs twice
    dtarget, h = rng.standard_normal((2, B, T_q, D))
    return (rng.standard_normal((B, T_k, D)), dtarget, rng.standard_normal((B, T_q, V)), h, source, target,
            rng.standard_normal((V, D)))


def case(rng, B, T_k, T_q, V, D):
    return made(rng, B, T_k, T_q, V, D)


@edge("the same token again and again")
def same_token(rng, B, T_k, T_q, V, D):
    return made(rng, B, T_k, T_q, V, D, np.ones((B, T_k), int))


def loss(dsource, dtarget, dlogits, h, source, target, E):
    scale = math.sqrt(E.shape[1])
    return lambda h, E: ((dsource * scale * E[source]).sum() + (dtarget * scale * E[target]).sum()
                         + (dlogits * (h @ E.T)).sum()), [h, E]


@invariant("summed over the vocabulary, dE must hold everything that arrives")
def all_of_it(answer, dsource, dtarget, dlogits, h, source, target, E):
    scale = math.sqrt(E.shape[1])
    arrived = scale * (dsource.sum(axis=(0, 1)) + dtarget.sum(axis=(0, 1))) + (dlogits.sum(axis=-1)[..., None] * h).sum(axis=(0, 1))
    return answer[1].sum(axis=0) - arrived


# %% hints
hints = (
    "If one number of E is nudged, in how many places can the loss feel it? What happens to the gradients of these uses?",
    "Three terms: dlogits^T h, summed over all positions; sqrt(D) dsource to the rows of source, sqrt(D) dtarget to target's.",
    "np.add.at(dE, source, ___ * dsource)",
)


# %% mistakes
def of_logits(dlogits, h):
    return np.einsum("btv,btd->vd", dlogits, h)


def of_embedding(dx, ids, E, scale=True):
    dE = np.zeros_like(E)
    np.add.at(dE, ids, dx * (math.sqrt(E.shape[1]) if scale else 1))
    return dE


@mistake("only the logits' gradient is in dE: the embeddings of source and target use E too")
def logits_only(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, of_logits(dlogits, h)


@mistake("the source is missing from dE: its embedding uses E as well")
def without_source(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, of_logits(dlogits, h) + of_embedding(dtarget, target, E)


@mistake("the target is missing from dE: its embedding uses E as well")
def without_target(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, of_logits(dlogits, h) + of_embedding(dsource, source, E)


@mistake("the logits are missing from dE: only the two embeddings are there")
def without_logits(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, of_embedding(dsource, source, E) + of_embedding(dtarget, target, E)


@mistake("the gradients of the three uses are averaged: they add up")
def averaged(dsource, dtarget, dlogits, h, source, target, E):
    dE = of_logits(dlogits, h) + of_embedding(dsource, source, E) + of_embedding(dtarget, target, E)
    return dlogits @ E, dE / 3


@mistake("the factor sqrt(D) of the embeddings is missing")
def unscaled(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, of_logits(dlogits, h) + of_embedding(dsource, source, E, False) + of_embedding(dtarget, target, E, False)


@mistake("the logits' part is multiplied by sqrt(D) as well: only the embeddings have the factor")
def all_scaled(dsource, dtarget, dlogits, h, source, target, E):
    dE = math.sqrt(E.shape[1]) * of_logits(dlogits, h) + of_embedding(dsource, source, E) + of_embedding(dtarget, target, E)
    return dlogits @ E, dE


@mistake("repeated tokens are lost: dE[ids] += writes each row once, np.add.at adds every time")
def repeats_lost(dsource, dtarget, dlogits, h, source, target, E):
    dE = of_logits(dlogits, h)
    dE[source] += math.sqrt(E.shape[1]) * dsource
    dE[target] += math.sqrt(E.shape[1]) * dtarget
    return dlogits @ E, dE


@mistake("dh is multiplied by sqrt(D): the logits have no such factor")
def scaled_h(dsource, dtarget, dlogits, h, source, target, E):
    dh, dE = shared_backward(dsource, dtarget, dlogits, h, source, target, E)
    return dh * math.sqrt(E.shape[1]), dE


@mistake("dh holds dtarget as well: h comes out of the decoder, and the target's embedding goes into it")
def both_ends(dsource, dtarget, dlogits, h, source, target, E):
    dh, dE = shared_backward(dsource, dtarget, dlogits, h, source, target, E)
    return dh + dtarget, dE


@mistake("the logits' part of dE holds only the first sentence: sum over the whole batch")
def first_sentence(dsource, dtarget, dlogits, h, source, target, E):
    return dlogits @ E, dlogits[0].T @ h[0] + of_embedding(dsource, source, E) + of_embedding(dtarget, target, E)


# %% other right solutions
@also_right
def with_one_hot(dsource, dtarget, dlogits, h, source, target, E):
    one = np.eye(len(E), dtype=E.dtype) * math.sqrt(E.shape[1])
    uses = (one[source], dsource), (one[target], dtarget), (dlogits, h)
    return np.einsum("btv,vd->btd", dlogits, E), sum(np.einsum("btv,btd->vd", *use) for use in uses)


@also_right
def with_loops(dsource, dtarget, dlogits, h, source, target, E):
    dE, root = np.zeros_like(E), math.sqrt(E.shape[1])
    for ids, dx in ((source, dsource), (target, dtarget)):
        for b in range(ids.shape[0]):
            for t in range(ids.shape[1]):
                dE[ids[b, t]] += root * dx[b, t]
    for b in range(len(h)):
        dE += dlogits[b].T @ h[b]
    return dlogits @ E, dE
