"""Does a head follow a relation?

In each sentence, some tokens have a *partner*: a verb has its object, a pronoun the noun that it stands for. Return for each head
the share of these tokens at which its largest weight lies on the partner. A head that looks two places to the right at every
token may reach a high share without knowing any grammar, so return `fixed` as well: the share that the best fixed distance
reaches, the same one for all tokens. Tokens without a partner do not count.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def follows(weights, partner):
    """weights: (B, H, T_q, T_k), rows of a softmax; partner: (B, T_q), the key's index of each query's partner, or -1.

    Returns share (H,) and fixed (). The distance is the partner's index minus the query's own.
    """
    # your code: first the places of the queries that have a partner, over all sentences
    b, t = np.nonzero(partner >= 0)
    hits = weights[b, :, t].argmax(axis=-1) == partner[b, t][:, None]
    share = hits.mean(axis=0)
    _distances, counts = np.unique(partner[b, t] - t, return_counts=True)
    return share, counts.max() / len(t)
    # end of your code


# %% what it is called with
returns = "share fixed"
section = "Do heads follow syntax?"
stars, minutes = 2, 20
float64_only = True


def made(rng, B, H, T_q, T_k):
    partner = rng.integers(-1, T_k, (B, T_q))
    partner[:, 0], partner[0, 1] = rng.integers(T_k, size=B), -1
    scores = 2 * rng.standard_normal((B, H, T_q, T_k))
    b, t = np.nonzero(partner >= 0)
    chosen = rng.random(len(b)) < 0.6
    scores[b[chosen], 0, t[chosen], partner[b, t][chosen]] += 8    # the first head follows more often than the others
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True), partner


def case(rng, B, H, T_q, T_k):
    return made(rng, B + 2, H + 1, T_q + 3, T_k + 3)


@edge("a single token has a partner")
def one(rng, H, T):
    weights, partner = made(rng, 2, H, T + 3, T + 3)
    partner[...] = -1
    partner[1, 2] = 0
    return weights, partner


@edge("every partner is the token itself")
def itself(rng, B, H, T):
    weights, _partner = made(rng, B, H, T + 2, T + 2)
    return weights, np.tile(np.arange(T + 2), (B, 1))


@invariant("a share is a number of tokens divided by all that have a partner: times their number it must be whole")
def whole(answer, weights, partner):
    found = np.append(answer[0], answer[1]) * (partner >= 0).sum()
    return np.round(found, 9) % 1


@invariant("the best of several distances is at least as good as that of the first partner, so fixed must not be below its share")
def not_below(answer, weights, partner):
    b, t = np.nonzero(partner >= 0)
    distance = partner[b, t] - t
    return max(0, (distance == distance[0]).mean() - answer[1])


# %% hints
hints = (
    "Three verbs have their objects 2, 2 and 3 places later. What share does a head reach that always looks 2 places ahead?",
    "Collect the queries that have a partner. Compare the argmax over the keys with it. Then count how often each distance occurs.",
    "_distances, counts = np.unique(___, return_counts=True)",
)


# %% mistakes
def parts(weights, partner):
    """share and fixed, as they should be."""
    b, t = np.nonzero(partner >= 0)
    share = (weights[b, :, t].argmax(axis=-1) == partner[b, t][:, None]).mean(axis=0)
    return share, np.unique(partner[b, t] - t, return_counts=True)[1].max() / len(t)


@mistake("tokens without a partner are counted, too: leave them out of both shares, because their -1 is no place")
def all_tokens(weights, partner):
    distance = partner - np.arange(partner.shape[1])
    hits = weights.argmax(axis=-1) == partner[:, None]
    return hits.mean(axis=(0, 2)), np.unique(distance, return_counts=True)[1].max() / distance.size


@mistake("share is the mean weight on the partner: count how often it is the largest weight of its row")
def mean_weight(weights, partner):
    b, t = np.nonzero(partner >= 0)
    return weights[b, :, t, partner[b, t]].mean(axis=0), parts(weights, partner)[1]


@mistake("the largest weight is taken over the queries: each query's row is searched for its largest key")
def over_queries(weights, partner):
    b, t = np.nonzero(partner >= 0)
    k = partner[b, t]
    return (weights[b, :, :, k].argmax(axis=-1) == t[:, None]).mean(axis=0), parts(weights, partner)[1]


@mistake("share is the mean of the sentences' shares: count all tokens together, because sentences differ in their number")
def sentence_by_sentence(weights, partner):
    shares = [parts(one[None], other[None])[0] for one, other in zip(weights, partner) if (other >= 0).any()]
    return np.mean(shares, axis=0), parts(weights, partner)[1]


@mistake("the shares of the heads are averaged: return one number for each head")
def one_for_all(weights, partner):
    share, fixed = parts(weights, partner)
    return np.full_like(share, share.mean()), fixed


@mistake("fixed counts distances without their direction: two places before and two places after are not the same")
def without_direction(weights, partner):
    b, t = np.nonzero(partner >= 0)
    return parts(weights, partner)[0], np.unique(abs(partner[b, t] - t), return_counts=True)[1].max() / len(t)


@mistake("fixed counts the most frequent place of a partner: count its distance from the query")
def fixed_place(weights, partner):
    b, t = np.nonzero(partner >= 0)
    return parts(weights, partner)[0], np.unique(partner[b, t], return_counts=True)[1].max() / len(t)


@mistake("fixed includes tokens without a partner, whose -1 is no place: leave them out first")
def with_missing(weights, partner):
    distance = partner - np.arange(partner.shape[1])
    return parts(weights, partner)[0], np.unique(distance, return_counts=True)[1].max() / distance.size


@mistake("fixed is the mean over the distances that occur: take the share of the most frequent one")
def mean_distance(weights, partner):
    b, t = np.nonzero(partner >= 0)
    return parts(weights, partner)[0], 1 / len(np.unique(partner[b, t] - t))


# %% other right solutions
@also_right
def with_loops(p, partner):
    hits, distances, count = np.zeros(p.shape[1]), {}, 0
    for sentence, others in zip(p, partner):
        for t, other in enumerate(others):
            if other >= 0:
                count += 1
                distances[other - t] = distances.get(other - t, 0) + 1
                for head in range(len(hits)):
                    hits[head] += sentence[head, t].argmax() == other
    return hits / count, max(distances.values()) / count


@also_right
def with_masks(weights, partner):
    has = partner >= 0
    right = (weights.argmax(axis=3) == partner[:, None]) & has[:, None]
    apart = (partner - np.arange(partner.shape[1]))[has]
    return right.sum(axis=(0, 2)) / has.sum(), max((apart == d).mean() for d in apart)
