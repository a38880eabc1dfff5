"""The logits of a layer that has none

xs holds x before the first layer, after it, and so on up to the last one. Read each of them as if
it were the last: apply the model's final LayerNorm, multiply by the output matrix, and return the
log-probability of the letter that comes next.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def lens(xs, gamma, beta, W, next_ids, epsilon):
    """xs: (L, T, D); gamma, beta: (D,); W: (V, D), a row for each letter; next_ids: (T,).
    Returns log_p (L, T).
    """
    # your code: normalise each row; logits; the log-softmax; the entry of the letter that came
    centred = xs - xs.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    logits = (gamma * centred / np.sqrt(variance + epsilon) + beta) @ W.T
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_p[:, np.arange(len(next_ids)), next_ids]
    # end of your code


# %% what it is called with
returns = "log_p"
section = "Read every layer"
stars, minutes = 2, 15


def case(rng, L, T, D, V):
    return made(rng, L, T, D + 6, V, 1.0)


@edge("logits in the thousands")
def large(rng, L, T, D, V):
    return made(rng, L, T, D + 6, V, 500.0)


@edge("rows so small that epsilon matters")
def small(rng, L, T, D, V):
    xs, *rest = made(rng, L, T, D + 6, V, 1.0)
    return 0.003 * xs, *rest


def made(rng, L, T, D, V, size):
    xs = 2 + 3 * rng.standard_normal((L, T, D))
    gamma, beta = 1 + rng.standard_normal(D) / 2, rng.standard_normal(D)
    W, next_ids = size * rng.standard_normal((V, D)), rng.integers(V, size=T)
    return xs, gamma, beta, W, next_ids, float(10 ** -rng.uniform(4, 6))


@invariant("the logarithm of a probability is not above 0")
def not_positive(log_p, xs, gamma, beta, W, next_ids, epsilon):
    return np.maximum(log_p, 0)


# %% hints
hints = (
    "The last layer's x passes through two more things before it becomes logits. Which? And what "
    "does the softmax run over?",
    "LayerNorm with the final gamma and beta, then W^T, then the log-softmax over the V letters. "
    "For position t, take the entry of next_ids[t].",
    "logits = (gamma * centred / np.sqrt(variance + epsilon) + beta) @ ___",
)


# %% mistakes
def normed(xs, epsilon, axis=-1):
    centred = xs - xs.mean(axis=axis, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=axis, keepdims=True) + epsilon)


def log_softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def pick(table, ids):
    return table[:, np.arange(len(ids)), ids]


@mistake("the final LayerNorm is missing: x goes into the output matrix as it is")
def no_norm(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax(xs @ W.T), next_ids)


@mistake("gamma and beta of the final LayerNorm are missing")
def no_gamma_and_beta(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax(normed(xs, epsilon) @ W.T), next_ids)


@mistake("beta is missing: the final LayerNorm adds it")
def no_beta(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((gamma * normed(xs, epsilon)) @ W.T), next_ids)


@mistake("gamma is missing: the final LayerNorm multiplies by it")
def no_gamma(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((normed(xs, epsilon) + beta) @ W.T), next_ids)


@mistake("the mean is not subtracted: this is RMSNorm, but the model ends with LayerNorm")
def rms(xs, gamma, beta, W, next_ids, epsilon):
    n = xs / np.sqrt((xs * xs).mean(axis=-1, keepdims=True) + epsilon)
    return pick(log_softmax((gamma * n + beta) @ W.T), next_ids)


@mistake("the softmax runs over the positions: it has to run over the letters")
def over_positions(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T, axis=1), next_ids)


@mistake("the softmax runs over the layers: it has to run over the letters")
def over_layers(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T, axis=0), next_ids)


@mistake("this is the likeliest letter's log-probability: take the one of next_ids")
def likeliest(xs, gamma, beta, W, next_ids, epsilon):
    return log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T).max(axis=-1)


@mistake("these are logits: the softmax is missing")
def logits_alone(xs, gamma, beta, W, next_ids, epsilon):
    return pick((gamma * normed(xs, epsilon) + beta) @ W.T, next_ids)


@mistake("these are probabilities: take their logarithm")
def probabilities(xs, gamma, beta, W, next_ids, epsilon):
    return np.exp(pick(log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T), next_ids))


@mistake("this is the negative log-probability: its sign is wrong")
def negative(xs, gamma, beta, W, next_ids, epsilon):
    return -pick(log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T), next_ids)


@mistake("every layer gets the last layer's log-probabilities")
def last_layer(xs, gamma, beta, W, next_ids, epsilon):
    last = np.broadcast_to(xs[-1], xs.shape)
    return pick(log_softmax((gamma * normed(last, epsilon) + beta) @ W.T), next_ids)


@mistake("mean and variance run over the positions: LayerNorm takes them along each row")
def norm_over_positions(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((gamma * normed(xs, epsilon, axis=1) + beta) @ W.T), next_ids)


@mistake("epsilon is outside the square root: add it to the variance")
def epsilon_outside(xs, gamma, beta, W, next_ids, epsilon):
    centred = xs - xs.mean(axis=-1, keepdims=True)
    n = centred / (np.sqrt((centred * centred).mean(axis=-1, keepdims=True)) + epsilon)
    return pick(log_softmax((gamma * n + beta) @ W.T), next_ids)


@mistake("the ids are shifted once more: next_ids[t] is what comes after position t already")
def shifted_again(xs, gamma, beta, W, next_ids, epsilon):
    return pick(log_softmax((gamma * normed(xs, epsilon) + beta) @ W.T), np.roll(next_ids, -1))


# %% other right solutions
@also_right
def with_loops(kept, g, b, matrix, answers, eps):
    found = np.zeros(kept.shape[:2], kept.dtype)
    for layer in range(len(kept)):
        for t, answer in enumerate(answers):
            row = kept[layer, t]
            n = (row - row.mean()) / np.sqrt(row.var() + eps)
            scores = matrix @ (g * n + b)
            top = scores.max()
            found[layer, t] = scores[answer] - top - np.log(np.exp(scores - top).sum())
    return found


@also_right
def with_take_along_axis(xs, gamma, beta, W, next_ids, epsilon):
    n = (xs - xs.mean(-1, keepdims=True)) / (xs.var(-1, keepdims=True) + epsilon) ** 0.5
    y = np.einsum("ltd,vd->ltv", n * gamma + beta, W)
    y = y - np.max(y, axis=-1, keepdims=True)
    y = y - np.log(np.sum(np.exp(y), axis=-1, keepdims=True))
    places = np.broadcast_to(next_ids[None, :, None], (*y.shape[:2], 1))
    return np.take_along_axis(y, places, axis=-1)[:, :, 0]
