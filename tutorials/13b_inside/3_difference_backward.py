"""Which way is the right letter?

The last x of a text becomes logits: y = gamma n + beta, where n is the normalised x, and logits =
y W^T. The difference of two logits says how much more the model likes one letter than another.
Derive the gradient of this difference with respect to x.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def difference_backward(n, s, gamma, W, right, wrong):
    """n: (B, D); s: (B, 1), 1 / standard deviation; gamma: (D,); W: (V, D); right, wrong: (B,).
    Returns dx (B, D).
    """
    # your code: the gradient of logit[right] - logit[wrong] for y, then LayerNorm's backward
    dn = (W[right] - W[wrong]) * gamma
    mean = dn.mean(axis=-1, keepdims=True)
    along = (dn * n).mean(axis=-1, keepdims=True)
    return s * (dn - mean - n * along)
    # end of your code


# %% what it is called with
returns = "dx"
section = "One backward for all patches"
stars, minutes = 2, 15


def case(rng, B, D, V):
    return made(rng, B, 6 + D, 2 + V)


@edge("a text whose two letters are the same: nothing to prefer")
def same(rng, B, D, V):
    *arrays, right, wrong = made(rng, B + 1, 6 + D, 2 + V)
    wrong[0] = right[0]
    return *arrays, right, wrong


def made(rng, B, D, V):
    n, s = norm(2 * rng.standard_normal((B, D)))
    gamma, W = 1 + rng.standard_normal(D) / 2, rng.standard_normal((V, D))
    right, steps = rng.integers(V, size=B), rng.integers(1, V, size=B)
    return n, s, gamma, W, right, (right + steps) % V


def norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))    # exact without epsilon
    return centred * s, s


def loss(n, s, gamma, W, right, wrong):
    """beta is left out: it adds the same number to the difference whatever x is."""
    def difference(x):
        logits = (gamma * norm(x)[0]) @ W.T
        rows = np.arange(len(right))
        return (logits[rows, right] - logits[rows, wrong]).sum()
    return difference, [n / s]


def terms(n, s, gamma, W, right, wrong):
    dn = (W[right] - W[wrong]) * gamma
    return {"s dn": s * dn, "- s mean(dn)": 0 * dn - s * dn.mean(axis=-1, keepdims=True),
            "- s n mean(dn n)": -s * n * (dn * n).mean(axis=-1, keepdims=True)}


@invariant("each row of dx must sum to 0, because a constant added to a row of x changes no logit")
def shifted(dx, n, s, gamma, W, right, wrong):
    return dx.sum(axis=-1)


@invariant("each row of dx must be orthogonal to n, because stretching a row of x changes no logit")
def stretched(dx, n, s, gamma, W, right, wrong):
    return (dx * n).sum(axis=-1)


# %% hints
hints = (
    "A logit is y . W[letter]. Which vector is the gradient of one logit with respect to y? And of "
    "the difference of two?",
    "dy = W[right] - W[wrong], and dn = dy gamma. From here on it is the backward of chapter 8, "
    "with three terms, each times s.",
    "dn = (W[right] - ___) * gamma",
)


# %% mistakes
def backward(dn, n, s):
    return s * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))


@mistake("only the right letter's row is there: subtract the row of the wrong one")
def right_alone(n, s, gamma, W, right, wrong):
    return backward(W[right] * gamma, n, s)


@mistake("the two rows are added: the difference of two logits needs a minus")
def rows_added(n, s, gamma, W, right, wrong):
    return backward((W[right] + W[wrong]) * gamma, n, s)


@mistake("the sign is wrong: this direction raises the wrong letter")
def sign(n, s, gamma, W, right, wrong):
    return backward((W[wrong] - W[right]) * gamma, n, s)


@mistake("LayerNorm's backward is missing: this is the gradient with respect to y")
def of_y(n, s, gamma, W, right, wrong):
    return W[right] - W[wrong]


@mistake("this is the gradient with respect to n: LayerNorm's three terms are missing")
def of_n(n, s, gamma, W, right, wrong):
    return (W[right] - W[wrong]) * gamma


@mistake(
    "LayerNorm's mean and variance are treated as constants: two of the three terms are missing"
)
def both_constant(n, s, gamma, W, right, wrong):
    return s * (W[right] - W[wrong]) * gamma


@mistake("gamma is missing: n was multiplied by it")
def gamma_missing(n, s, gamma, W, right, wrong):
    return backward(W[right] - W[wrong], n, s)


@mistake("gamma is multiplied after LayerNorm's backward: it belongs before it")
def gamma_outside(n, s, gamma, W, right, wrong):
    return gamma * backward(W[right] - W[wrong], n, s)


@mistake("s is missing: each of the three terms is multiplied by it")
def s_missing(n, s, gamma, W, right, wrong):
    return backward((W[right] - W[wrong]) * gamma, n, 1)


@mistake("the variance term, n mean(dn n), is missing")
def variance_constant(n, s, gamma, W, right, wrong):
    dn = (W[right] - W[wrong]) * gamma
    return s * (dn - dn.mean(axis=-1, keepdims=True))


@mistake("the mean term, mean(dn), is missing")
def mean_constant(n, s, gamma, W, right, wrong):
    dn = (W[right] - W[wrong]) * gamma
    return s * (dn - n * (dn * n).mean(axis=-1, keepdims=True))


@mistake(
    "this is the gradient of a loss, p minus the target: the difference of two logits has no "
    "softmax"
)
def cross_entropy(n, s, gamma, W, right, wrong):
    logits = (gamma * n) @ W.T
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    p[np.arange(len(right)), right] -= 1
    return backward((p @ W) * gamma, n, s)


# %% other right solutions
@also_right
def with_jacobian(n, s, gamma, W, right, wrong):
    B, D = n.shape
    dx = np.empty_like(n)
    for b in range(B):
        jacobian = s[b] * (np.eye(D) - 1 / D - np.outer(n[b], n[b]) / D)
        dx[b] = jacobian @ (gamma * (W[right[b]] - W[wrong[b]]))
    return dx


@also_right
def by_one_hot(n, s, gamma, W, right, wrong):
    dlogits = np.eye(len(W), dtype=n.dtype)[right] - np.eye(len(W), dtype=n.dtype)[wrong]
    dn = np.einsum("bv,vd,d->bd", dlogits, W, gamma)
    return s * (dn - dn.mean(1, keepdims=True)) - s * n * np.mean(n * dn, axis=1, keepdims=True)
