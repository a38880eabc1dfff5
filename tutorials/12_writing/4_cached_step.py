"""One step with a key-value cache

`W` hypotheses of a beam write their next token. Hypothesis i continues hypothesis parents[i] of the step before, whose keys and
values are in the cache. Return the output of the newest position of each, and the cache for the next step.
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def cached_step(query, key, value, keys, values, parents):
    """query, key: (W, d_k), value: (W, d_v), of the newest position; keys: (L, T, d_k), values: (L, T, d_v), of the T before.

    Returns y (W, d_v), keys (W, T + 1, d_k), values (W, T + 1, d_v). There is one head. keys and values stay as they are.
    """
    # your code: whose past is it, what is added to it, and what does one query for each hypothesis find in it?
    keys = np.concatenate([keys[parents], key[:, None]], axis=1)
    values = np.concatenate([values[parents], value[:, None]], axis=1)
    scores = (keys @ query[:, :, None])[:, :, 0] / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    y = (p[:, None] @ values)[:, 0]
    return y, keys, values
    # end of your code


# %% what it is called with
returns = "y keys values"
section = "What need not be computed again"
stars, minutes = 3, 20


def case(rng, W, T, d_k, d_v):
    W += 1
    parents = np.roll(np.arange(W), 1)
    parents[-1] = parents[0]    # one hypothesis is dropped, another one is split
    query, key = rng.standard_normal((2, W, d_k))
    return (2 * query, key, rng.standard_normal((W, d_v)), rng.standard_normal((W, T, d_k)), rng.standard_normal((W, T, d_v)),
            parents)


@edge("the first position: the cache is empty")
def first(rng, d_k, d_v):
    query, key = rng.standard_normal((2, 1, d_k))
    return query, key, rng.standard_normal((1, d_v)), np.zeros((1, 0, d_k)), np.zeros((1, 0, d_v)), np.zeros(1, int)


@edge("one hypothesis becomes several")
def split(rng, W, T, d_k, d_v):
    query, key = rng.standard_normal((2, W, d_k))
    return (query, key, rng.standard_normal((W, d_v)), rng.standard_normal((1, T, d_k)), rng.standard_normal((1, T, d_v)),
            np.zeros(W, int))


@edge("fewer hypotheses than before")
def fewer(rng, W, T, d_k, d_v):
    return of_several(rng, W + 2, W, T, d_k, d_v)


@edge("two hypotheses become more")
def more(rng, W, T, d_k, d_v):
    return of_several(rng, 2, W + 1, T, d_k, d_v)


def of_several(rng, L, W, T, d_k, d_v):
    query, key, value, keys, values = map(
        rng.standard_normal, ((W, d_k), (W, d_k), (W, d_v), (L, T, d_k), (L, T, d_v))
    )
    return query, key, value, keys, values, (np.arange(W) + 1) % L


@invariant("the last key in the cache is the newest one")
def newest(answer, query, key, value, keys, values, parents):
    return answer[1][:, -1] - key


@invariant("each hypothesis has its parent's past, keys and values")
def past(answer, query, key, value, keys, values, parents):
    return np.concatenate([answer[1][:, :-1] - keys[parents], answer[2][:, :-1] - values[parents]], axis=-1)


# %% hints
hints = (
    "Two hypotheses continue the same parent, and a third parent has no child. Which past does row i of the cache need?",
    "In order: pick rows of the cache by parents; append the newest key and value as a position; scores / sqrt(d_k); softmax; sum.",
    "keys = np.concatenate([___, key[:, None]], axis=1)",
)


# %% mistakes
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def appended(past, new):
    return np.concatenate([past, new[:, None]], axis=1)


def made(query, keys, values, d=None, axis=-1):
    scores = np.einsum("wd,wtd->wt", query, keys) / math.sqrt(query.shape[1] if d is None else d)
    return np.einsum("wt,wtd->wd", softmax(scores, axis), values), keys, values


def own(past, parents):
    """Row i for hypothesis i, as if each continued itself."""
    return past[np.minimum(np.arange(len(parents)), len(past) - 1)]


@mistake("the cache is not reordered: hypothesis i gets the past of row i, not that of its parent")
def not_reordered(query, key, value, keys, values, parents):
    return made(query, appended(own(keys, parents), key), appended(own(values, parents), value))


@mistake("only the keys are reordered: the values have to follow their hypotheses too")
def only_keys(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(own(values, parents), value))


@mistake("only the values are reordered: the keys have to follow their hypotheses too")
def only_values(query, key, value, keys, values, parents):
    return made(query, appended(own(keys, parents), key), appended(values[parents], value))


@mistake("the newest key and value are reordered as well: they already belong to the new hypotheses")
def reordered_after(query, key, value, keys, values, parents):
    return made(query, appended(own(keys, parents), key)[parents], appended(own(values, parents), value)[parents])


@mistake("the query is reordered: it already belongs to the new hypothesis")
def query_reordered(query, key, value, keys, values, parents):
    return made(query[parents], appended(keys[parents], key), appended(values[parents], value))


@mistake("the newest position does not look at itself: append its key and value before the attention, not after it")
def appended_after(query, key, value, keys, values, parents):
    past = made(query, keys[parents], values[parents])[0] if keys.shape[1] else np.zeros_like(value)
    return past, appended(keys[parents], key), appended(values[parents], value)


@mistake("the newest key and value come first in the cache: append them at the end")
def in_front(query, key, value, keys, values, parents):
    return made(query, np.concatenate([key[:, None], keys[parents]], axis=1),
                np.concatenate([value[:, None], values[parents]], axis=1))


@mistake("the scores are not divided by sqrt(d_k)")
def unscaled(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(values[parents], value), d=1)


@mistake("the scores are divided by d_k, not by its root")
def scaled_without_root(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(values[parents], value), d=query.shape[1] ** 2)


@mistake("the scores are divided by the root of d_v: a dot product of query and key has d_k terms")
def scaled_by_values(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(values[parents], value), d=value.shape[1])


@mistake("the scores are divided by the root of T + 1, the number of positions: divide by the root of d_k")
def scaled_by_length(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(values[parents], value), d=keys.shape[1] + 1)


@mistake("the softmax runs over the hypotheses: each of them distributes its attention over the positions")
def over_hypotheses(query, key, value, keys, values, parents):
    return made(query, appended(keys[parents], key), appended(values[parents], value), axis=0)


@mistake("there is no softmax: the scores themselves weight the values")
def without_softmax(query, key, value, keys, values, parents):
    keys, values = appended(keys[parents], key), appended(values[parents], value)
    return np.einsum("wd,wtd,wte->we", query, keys, values) / math.sqrt(query.shape[1]), keys, values


@mistake("y is the mean of the values: the scores are not used")
def mean_of_values(query, key, value, keys, values, parents):
    keys, values = appended(keys[parents], key), appended(values[parents], value)
    return values.mean(axis=1), keys, values


# %% other right solutions
@also_right
def with_einsum(q, k, v, K, V, parents):
    K, V = np.append(K[parents], k[:, None], axis=1), np.append(V[parents], v[:, None], axis=1)
    weights = np.exp(np.einsum("wd,wtd->wt", q, K) / math.sqrt(q.shape[1]))
    return np.einsum("wt,wtd->wd", weights, V) / weights.sum(axis=1, keepdims=True), K, V


@also_right
def with_loops(query, key, value, keys, values, parents):
    ys, all_keys, all_values = [], [], []
    for i, parent in enumerate(parents):
        own_keys = np.vstack([keys[parent], key[i]])
        own_values = np.vstack([values[parent], value[i]])
        ys.append(softmax(own_keys @ query[i] / math.sqrt(len(query[i]))) @ own_values)
        all_keys.append(own_keys)
        all_values.append(own_values)
    return np.array(ys), np.array(all_keys), np.array(all_values)
