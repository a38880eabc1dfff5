"""The gradient of the loss

The loss is the sum of -log p[target] over all tokens except padding, and p is the softmax of the logits. You get `dloss`, the
gradient with respect to that sum, which is one number. Return the gradient with respect to the logits, not to p.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def cross_entropy_backward(dloss, p, ids):
    """dloss: a number; p: (B, T, V); ids: (B, T), the tokens to predict, with 0 for padding. Returns dlogits (B, T, V)."""
    # your code: which probabilities should have been larger, which smaller, and by how much?
    q = np.eye(p.shape[-1], dtype=p.dtype)[ids]
    real = (ids != 0)[..., None]
    return (p - q) * real * dloss
    # end of your code


# %% what it is called with
returns = "dlogits"
section = "One row by hand"
stars, minutes = 2, 20


def case(rng, B, T, V):
    p = np.exp(rng.standard_normal((B, T, V + 3)))
    ids, lengths = rng.integers(1, V + 3, (B, T)), rng.integers(1, T + 1, B)
    lengths[rng.integers(B)] = T - 1    # at least one row is padded
    ids *= np.arange(T) < lengths[:, None]
    return float(rng.uniform(0.3, 3)), p / p.sum(axis=-1, keepdims=True), ids


@edge("no padding at all")
def full(rng, B, T, V):
    dloss, p, ids = case(rng, B, T, V)
    return dloss, p, np.maximum(ids, 1)


@edge("padding in front, probabilities near 0 and 1, and a dloss below 0")
def sure(rng, B, T, V):
    dloss, p, ids = case(rng, B, T, V)
    p = p ** 9
    return -dloss, p / p.sum(axis=-1, keepdims=True), ids[:, ::-1].copy()


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def loss(dloss, p, ids):
    """The logits are log p, up to a constant in each row, which a softmax does not notice."""
    picked = np.eye(p.shape[-1])[ids] * (ids != 0)[..., None]
    return lambda x: -dloss * (picked * log_softmax(x)).sum(), [np.log(p)]


def terms(dloss, p, ids):
    real = (ids != 0)[..., None]
    return {"dloss p": dloss * p * real, "- dloss at the target": -dloss * np.eye(p.shape[-1])[ids] * real}


@invariant("each row must sum to 0, because a constant added to a row of logits changes no probability")
def rows(dlogits, dloss, p, ids):
    return dlogits.sum(axis=-1)


@plugs(functional.cross_entropy_backward)
def in_the_model(own):
    def cross_entropy_backward(dloss, cache):
        """Label smoothing mixes the loss of the target with that of all V targets at once."""
        p, s = cache.p, cache.smoothing
        hard = own(dloss, p, cache.targets * cache.real)
        return (1 - s) * hard + s * dloss * cache.real[..., None] * (p - 1 / p.shape[-1]) if s else hard
    return cross_entropy_backward


# %% hints
hints = (
    "If 1 is added to every logit of a row, how does the loss change? So what must a row of dlogits sum to? And a row of padding?",
    "-log p[target] = -x[target] + log(sum(exp(x))). The first term gives -1 at the target, the second gives p everywhere.",
    "return (p - ___) * real * dloss",
)


# %% mistakes
def parts(p, ids):
    return np.eye(p.shape[-1], dtype=p.dtype)[ids], (ids != 0)[..., None]


@mistake("only the target's logit gets a gradient, p - 1: the other logits are in the softmax's sum too, and get p")
def target_only(dloss, p, ids):
    q, real = parts(p, ids)
    return q * (p - 1) * real * dloss


@mistake("the sign is wrong: this step would make the loss larger")
def sign(dloss, p, ids):
    q, real = parts(p, ids)
    return (q - p) * real * dloss


@mistake("this is the gradient with respect to p, -1/p at the target: it still has to pass through the softmax")
def of_the_probabilities(dloss, p, ids):
    q, real = parts(p, ids)
    return -q / p * real * dloss


@mistake("the softmax's backward is applied to p - q: p - q has already passed through the softmax")
def softmax_twice(dloss, p, ids):
    q, real = parts(p, ids)
    return p * ((p - q) - ((p - q) * p).sum(axis=-1, keepdims=True)) * real * dloss


@mistake("padding gets a gradient: a row whose target is 0 has to be 0")
def padding_learns(dloss, p, ids):
    q, _real = parts(p, ids)
    return (p - q) * dloss


@mistake("at padding, the target's 1 is left out but p remains: the entire row has to be 0")
def padding_keeps_p(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - q * real) * dloss


@mistake("dloss is missing")
def without_dloss(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - q) * real


@mistake("it is divided by the number of real tokens: the loss is a sum, and the division is part of dloss")
def mean(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - q) * real * dloss / p.dtype.type(real.sum())


@mistake("it is divided by the number of sentences: the loss is a sum, and the division is part of dloss")
def by_sentences(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - q) * real * dloss / len(p)


@mistake("the 1 is in the wrong column, ids - 1: padding is a token id too, so token id 3 has column 3")
def from_one(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - np.roll(q, -1, axis=-1)) * real * dloss


@mistake("the target's 1 is missing: every logit gets p")
def without_target(dloss, p, ids):
    _q, real = parts(p, ids)
    return p * real * dloss


@mistake("the term p is missing: it comes from the logarithm of the sum, which contains every logit")
def without_p(dloss, p, ids):
    q, real = parts(p, ids)
    return -q * real * dloss


@mistake("this is the gradient of a squared error, 2 (p - q): the loss is a logarithm")
def squared(dloss, p, ids):
    q, real = parts(p, ids)
    return 2 * (p - q) * real * dloss


@mistake("the target gets (1 - p) p, as after a sigmoid: the logarithm of a softmax leaves p - 1 there")
def sigmoid(dloss, p, ids):
    q, real = parts(p, ids)
    return (p - q) * p * (1 - p) * real * dloss


# %% other right solutions
@also_right
def with_indices(g, probabilities, targets):
    d = probabilities * g
    rows, columns = np.indices(targets.shape)
    d[rows, columns, targets] -= g
    d[targets == 0] = 0
    return d


@also_right
def through_the_softmax(dloss, p, ids):
    dp = np.where(np.arange(p.shape[-1]) == ids[..., None], -dloss / p, 0)
    return np.where(ids[..., None] != 0, p * (dp - (dp * p).sum(axis=-1, keepdims=True)), 0)


@also_right
def with_loops(dloss, p, ids):
    dlogits = np.zeros_like(p)
    for b, sentence in enumerate(ids):
        for t, target in enumerate(sentence):
            if target:
                dlogits[b, t] = dloss * p[b, t]
                dlogits[b, t, target] -= dloss
    return dlogits
