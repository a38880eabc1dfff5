"""LayerNorm: dx = s (dn - mean(dn) - n mean(dn n)) with dn = dy gamma; dgamma = sum(dy n), dbeta = sum(dy) over all rows."""

from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms


def mean(array, axis=-1) -> Array:
    return array.mean(axis=axis, keepdims=True)


def summed(array) -> Array:
    return array.sum(axis=tuple(range(array.ndim - 1)))


def layer_norm(dx=None, dgamma=None, dbeta=None) -> Callable:
    """A backward with some of its gradients replaced: dx(dn, n, s, gamma, dy), dgamma(dy, cache), dbeta(dy, cache)."""
    def wrong(dy, cache) -> tuple[Array, Array, Array]:
        dn, n, s = dy * cache.gamma, cache.normed, cache.inverse
        return (dx(dn, n, s, cache.gamma, dy) if dx else full(dn, n, s),
                dgamma(dy, cache) if dgamma else summed(dy * n), dbeta(dy, cache) if dbeta else summed(dy))
    return wrong


def full(dn, n, s) -> Array:
    return s * (dn - mean(dn) - n * mean(dn * n))


def unbiased(n) -> int:
    return n.shape[-1] - 1


MEAN, VARIANCE = "the term mean(dn)", "the term n mean(dn * n)"
for sentence, dx in (
        (f"{VARIANCE} lacks n inside the mean: n mean(dn) in place of it",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n * mean(dn))),
        ("gamma is applied twice in dx: inside the two means and outside",
         lambda dn, n, s, gamma, dy: gamma * full(dn, n, s)),
        ("dy is divided by gamma, not multiplied", lambda dn, n, s, gamma, dy: full(dy / gamma, n, s)),
        ("dx is multiplied by the standard deviation, not divided: the inverse is inverted",
         lambda dn, n, s, gamma, dy: full(dn, n, s) / s ** 2),
        (f"{VARIANCE} has one factor 1 / standard deviation (inverse) too many",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - s * n * mean(dn * n))),
        (f"{VARIANCE} contains the variance, which does not belong there: x - mean replaces the normed n twice",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n / s * mean(dn * n / s))),
        (f"{VARIANCE} uses x - mean in place of the normed n, outside the mean",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n / s * mean(dn * n))),
        ("both means are divided by D - 1, not by D",
         lambda dn, n, s, gamma, dy: s * (dn - n.shape[-1] / unbiased(n) * (mean(dn) + n * mean(dn * n)))),
        (f"{VARIANCE} (of the variance) is divided by D - 1, not by D (the unbiased variance)",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n.shape[-1] / unbiased(n) * n * mean(dn * n))),
        (f"{MEAN} is divided by D - 1, not by D",
         lambda dn, n, s, gamma, dy: s * (dn - n.shape[-1] / unbiased(n) * mean(dn) - n * mean(dn * n))),
        ("the means are taken over the wrong axis: over the batch (the first axis), not over the last axis (features)",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn, 0) - n * mean(dn * n, 0))),
        (f"{MEAN} is taken over the wrong axis: the batch (the first axis), not the last axis",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn, 0) - n * mean(dn * n))),
        (f"{MEAN} is taken over the wrong axis: the positions (the second last), not the last axis",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn, -2) - n * mean(dn * n))),
        (f"{VARIANCE} is taken over the wrong axis: the batch (the first axis), not the last axis",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n * mean(dn * n, 0))),
        (f"{VARIANCE} is taken over the wrong axis: the positions (the second last), not the last axis",
         lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - n * mean(dn * n, -2))),
        ("the means are taken over all axes, not only over the last axis (features)",
         lambda dn, n, s, gamma, dy: s * (dn - dn.mean() - n * (dn * n).mean())),
        ("the LayerNorm is skipped in dx: dx = dy", lambda dn, n, s, gamma, dy: dy),
        ("only gamma is applied in dx: dx = dy gamma, without the standard deviation and the two mean terms",
         lambda dn, n, s, gamma, dy: dn)):
    mistake("layer_norm", sentence)(layer_norm(dx))

for sentence, dgamma in (
        ("dgamma uses x - mean, before the division by the standard deviation, in place of the normed n",
         lambda dy, c: summed(dy * c.normed / c.inverse)),
        ("dgamma is multiplied by 1 / standard deviation, which belongs to dx only",
         lambda dy, c: summed(dy * c.normed * c.inverse)),
        ("dgamma is summed over the batch only, and averaged over the positions",
         lambda dy, c: (dy * c.normed).sum(axis=0).mean(axis=0) if dy.ndim == 3 else summed(dy * c.normed))):
    mistake("layer_norm", sentence)(layer_norm(dgamma=dgamma))
mistake("layer_norm", "dbeta is multiplied by gamma: dn is summed in place of dy")(
    layer_norm(dbeta=lambda dy, c: summed(dy * c.gamma)))
mistake("layer_norm", "dbeta is multiplied by the normed n: sum(dy n) is dgamma's formula")(
    layer_norm(dbeta=lambda dy, c: summed(dy * c.normed)))
mistake("layer_norm", "dbeta is multiplied by 1 / standard deviation, which belongs to dx only")(
    layer_norm(dbeta=lambda dy, c: summed(dy * c.inverse)))
mistake("layer_norm", "dbeta is the sum of dx, not the sum of dy: the wrong array is summed")(
    layer_norm(dbeta=lambda dy, c: summed(full(dy * c.gamma, c.normed, c.inverse))))
mistake("layer_norm", "dgamma and dbeta are swapped: returned in the wrong order")(
    layer_norm(dgamma=lambda dy, c: summed(dy), dbeta=lambda dy, c: summed(dy * c.normed)))


@mistake("layer_norm", "dgamma uses the input x in place of the normed n")
def dgamma_of_x(dy, cache, x) -> tuple[Array, Array, Array]:
    return layer_norm(dgamma=lambda dy, c: summed(dy * x))(dy, cache)


@mistake("layer_norm", "n mean(dn * n) uses the input x in place of the normed n")
def x_for_normed(dy, cache, x) -> tuple[Array, Array, Array]:
    return layer_norm(lambda dn, n, s, gamma, dy: s * (dn - mean(dn) - x * mean(dn * x)))(dy, cache)


@mistake("layer_norm",
         "the standard deviation in dx lacks epsilon, or has a different epsilon from the forward: 1 / sqrt(variance)")
def epsilon_forgotten(dy, cache, x) -> tuple[Array, Array, Array]:
    centred = x - mean(x)
    s = 1 / np.sqrt(mean(centred * centred))
    n = centred * s
    return layer_norm(lambda dn, n_, s_, gamma, dy: full(dn, n, s))(dy, cache)


@terms("layer_norm")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    normed, s, dn = cache.normed, cache.inverse, dy * cache.gamma
    return {"x": {"dn": s * dn, "- mean(dn) (of the mean)": -s * mean(dn),
                  "- n mean(dn * n) (of the variance, the standard deviation)": -s * normed * mean(dn * normed)}}


@mistake("layer_norm",
         "the normed x is divided by its own standard deviation once more: backward is that of a LayerNorm without "
         "epsilon, "
                       "1 / sqrt(variance)")
def epsilon_free(dy, cache) -> tuple[Array, Array, Array]:
    deviation = cache.normed.std(axis=-1, keepdims=True)
    n, s = cache.normed / deviation, cache.inverse / deviation
    return full(dy * cache.gamma, n, s), summed(dy * n), summed(dy)
