"""Wrong solutions of exercises that no exercise lists: (name, what the judge says, the solution)."""

import math

import numpy as np

from minitransformer_course.judge.course import exercises

EXERCISES = exercises()

def turned(x):
    return x.swapaxes(-1, -2)


def mean(x):
    return x.mean(axis=-1, keepdims=True)


def weighted(scores, value):
    p = EXERCISES["softmax"].reference(scores)
    return p @ value, p


def normed(dy, n, s, gamma, dx):
    rows = tuple(range(dy.ndim - 1))
    return dx(dy * gamma), (dy * n).sum(rows), dy.sum(rows)


def moments(w, g, m, v, t, learning_rate, beta1, beta2, epsilon, square=lambda g: g * g):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * square(g)
    return w - learning_rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon), m, v


def bleu(precisions, ratio, root=None):
    return np.exp(np.minimum(0, 1 - ratio)) * precisions.prod() ** (root or 1 / len(precisions))


def precisions(matches, totals):
    return matches.sum(axis=0) / totals.sum(axis=0)


def shared(dsource, dtarget, dlogits, h, source, target, E, of_source, of_target, of_logits=1.0):
    dE = of_logits * np.einsum("btv,btd->vd", dlogits, h)
    np.add.at(dE, source, of_source * dsource)
    np.add.at(dE, target, of_target * dtarget)
    return dlogits @ E, dE


def clipped_by_the_square(dW, db, limit):
    norm = np.sqrt((dW * dW).sum() + (db * db).sum())
    return [one * (limit / norm if norm**2 > limit else 1) for one in (dW, db)]


ONE = [
    (
        "layer_norm",
        "epsilon is not read: it is 1e-05 all the time",
        lambda x, gamma, beta, epsilon: EXERCISES["layer_norm"].reference(x, gamma, beta, 1e-5),
    ),
    (
        "clip",
        "in limit / max(norm, limit), the square of norm is compared with limit",
        clipped_by_the_square,
    ),
    (
        "rnn_backward",
        "in dz, h is not squared: the slope of tanh is 1 - tanh^2",
        lambda dy, carried, dU, h, before, U: (
            (dz := (dy + carried) * (1 - h)),
            dz @ U.T,
            dU + before.T @ dz,
        ),
    ),
    (
        "linear_backward",
        "in dW, W is added",
        lambda dy, x, W: (dy @ W.T, x.T @ dy + W, dy.sum(axis=0)),
    ),
    (
        "linear_backward",
        "in db, the sum of dy became a max",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy.max(axis=0)),
    ),
    (
        "linear_backward",
        "in db, the sum of dy runs over the wrong axis",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy.sum(axis=1)),
    ),
    (
        "linear_backward",
        "every output has the wrong sign",
        lambda dy, x, W: (-dy @ W.T, -x.T @ dy, -dy.sum(axis=0)),
    ),
    (
        "numeric_gradient",
        "in dx, the factor h is missing",
        lambda f, dy, x, h: h * EXERCISES["numeric_gradient"].reference(f, dy, x, h),
    ),
    (
        "tied_backward",
        "dW has an axis of length 1 too many",
        lambda dlogits, h, W: (dlogits @ W, (dlogits.T @ h)[None]),
    ),
    (
        "twice_backward",
        "in dx, W is not transposed",
        lambda dy, x, W: (dy @ W.T @ W, (x @ W).T @ dy + x.T @ (dy @ W.T)),
    ),
    (
        "embedding",
        "in d_model, ids.shape[-1] is used where W.shape[1] belongs",
        lambda ids, W: W[ids] * math.sqrt(ids.shape[1]),
    ),
    (
        "embedding_backward",
        "in dW[ids], 1 is used where dy belongs",
        lambda dy, ids, W: EXERCISES["embedding_backward"].reference(np.ones_like(dy), ids, W),
    ),
    (
        "softmax",
        "in p, 1e-06 is added to sum(exp(x - max(x)))",
        lambda x: (
            np.exp(x - x.max(axis=-1, keepdims=True))
            / (np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True) + 1e-6)
        ),
    ),
    (
        "softmax_backward",
        "in dx, 1 - p is used where p belongs",
        lambda dp, p: (1 - p) * (dp - (dp * p).sum(axis=-1, keepdims=True)),
    ),
    ("softmax_backward", "dx is dp, unchanged", lambda dp, p: dp.copy()),
    (
        "temperature_backward",
        "in dt, the sums of ds and x are multiplied: it has to be the sum of the products",
        lambda ds, x, t: (ds / t, -ds.sum() * x.sum() / t**2),
    ),
    (
        "temperature_backward",
        "in dx, 1 is added to t",
        lambda ds, x, t: (ds / (t + 1), -(ds * x).sum() / t**2),
    ),
    (
        "causal_mask",
        "in mask, the condition is position[:, None] >= position + 2, not position[:, None] >= position",
        lambda ids: np.tri(ids.shape[1], k=-2, dtype=bool),
    ),
    (
        "masked_loss",
        "total and count are swapped: they are returned in the wrong order",
        lambda losses, ids: EXERCISES["masked_loss"].reference(losses, ids)[::-1],
    ),
    (
        "split_heads",
        "heads is shifted along axis 1 by one place: each of its numbers stands one place too late (off by one)",
        lambda x, num_heads: np.roll(EXERCISES["split_heads"].reference(x, num_heads), 1, axis=1),
    ),
    (
        "sinusoids",
        "this line is missing: PE[:, 1::2] = np.cos(angles)",
        lambda positions, d_model: (
            EXERCISES["sinusoids"].reference(positions, d_model) * (np.arange(d_model) % 2 == 0)
        ),
    ),
    (
        "layer_norm_backward",
        "in dx, the factor n appears twice",
        lambda dy, n, s, gamma: normed(
            dy, n, s, gamma, lambda dn: s * (dn - mean(dn) - n * n * mean(dn * n))
        ),
    ),
    (
        "linear_backward",
        "in db, the last of dy is left out of the sum",
        lambda dy, x, W: (dy @ W.T, x.T @ dy, dy[:-1].sum(axis=0)),
    ),
    (
        "tied_backward",
        "dh is there only at the first place along axis 0, and zero elsewhere: is `return` inside the loop?",
        lambda dlogits, h, W: (np.concatenate([(dlogits @ W)[:1], 0 * h[1:]]), dlogits.T @ h),
    ),
    (
        "tied_backward",
        "dW is cut to whole numbers: is it written into an array of integers?",
        lambda dlogits, h, W: (dlogits @ W, np.trunc(dlogits.T @ h)),
    ),
    (
        "attention",
        "in scores, query key^T / sqrt(query.shape[-1]) is computed with //, which drops what follows the decimal point",
        lambda query, key, value, mask: weighted(
            np.where(mask, query @ turned(key) // math.sqrt(query.shape[-1]), -np.inf), value
        ),
    ),
    (
        "numeric_gradient",
        "h is halved",
        lambda f, dy, x, h: EXERCISES["numeric_gradient"].reference(f, dy, x, h / 2),
    ),
    (
        "feed_forward_backward",
        "dx is dh, which is only on the way to it",
        lambda dy, x, W1, b1, W2: (
            dy @ W2.T,
            *EXERCISES["feed_forward_backward"].reference(dy, x, W1, b1, W2)[1:],
        ),
    ),
    (
        "shared_backward",
        "in dE[target], the factor sqrt(D) is missing",
        lambda *given: shared(*given, math.sqrt(given[-1].shape[1]), 1),
    ),
    (
        "shared_backward",
        "dlogits^T h is 1/dsource.shape[0] times what is expected",
        lambda *given: shared(*given, *[math.sqrt(given[-1].shape[1])] * 2, 1 / len(given[0])),
    ),
    (
        "adam_step",
        "in v, the absolute value of g is taken, not its square",
        lambda *given: moments(*given, square=np.abs),
    ),
    (
        "clip",
        "in norm, only the first of dW dW is taken: sum has to run over all of them",
        lambda dW, db, limit: tuple(
            one * min(1, limit / math.sqrt((dW[0] ** 2).sum() + (db**2).sum())) for one in (dW, db)
        ),
    ),
    (
        "schedule",
        "in rates, the mean of steps / warmup and sqrt(warmup / steps) is used where "
        "minimum(steps / warmup, sqrt(warmup / steps)) belongs",
        lambda steps, d_model, warmup: (
            (steps / warmup + np.sqrt(warmup / steps)) / 2 / math.sqrt(d_model * warmup)
        ),
    ),
    (
        "corpus_bleu",
        "in bleu, 4 is used where len(precisions) belongs",
        lambda matches, totals, lengths, references: bleu(
            precisions(matches, totals), references.sum() / lengths.sum(), 1 / 4
        ),
    ),
    (
        "corpus_bleu",
        "in sum(references) / sum(lengths), "
        "the mean of the ratios of references and lengths is taken, not the ratio of their sums",
        lambda matches, totals, lengths, references: bleu(
            precisions(matches, totals), (references / lengths).mean()
        ),
    ),
    (
        "cross_entropy_backward",
        "in dlogits, the brackets are missing: of p - np.eye(p.shape[-1], dtype=p.dtype)[ids], only p is "
        "multiplied by dloss",
        lambda dloss, p, ids: (dloss * p - np.eye(p.shape[-1])[ids]) * (ids != 0)[..., None],
    ),
    (
        "memory_backward",
        "in p[1]^T (dy + dy U[1]^T) V[1]^T, V[0] is used where V[1] belongs",
        lambda dy, p, V, U: EXERCISES["memory_backward"].reference(dy, p, V[[0, 0]], U),
    ),
]


TWO = [
    (
        "softmax_backward",
        "the sum of dp p became a mean",
        "in sum(dp p), the factor p is missing",
        lambda dp, p: p * (dp - mean(dp)),
    ),
    (
        "layer_norm_backward",
        "in dx, the factor s is missing",
        "in dx, the term - mean is missing",
        lambda dy, n, s, gamma: normed(dy, n, s, gamma, lambda dn: dn - n * mean(dn * n)),
    ),
    (
        "layer_norm_backward",
        "the variance term, n mean(dn n), is added",
        "in dbeta, the sum of dy became a mean",
        lambda dy, n, s, gamma: (
            *normed(dy, n, s, gamma, lambda dn: s * (dn - mean(dn) + n * mean(dn * n)))[:2],
            dy.mean(tuple(range(dy.ndim - 1))),
        ),
    ),
    (
        "attention_backward",
        "dquery has the wrong sign",
        "dvalue is divided by sqrt(d_k)",
        lambda dy, query, key, value, p: tuple(
            gradient * factor
            for gradient, factor in zip(
                EXERCISES["attention_backward"].reference(dy, query, key, value, p),
                (-1, 1, 1 / math.sqrt(query.shape[-1])),
            )
        ),
    ),
]
