"""ReLU: dx = dy where x > 0. GELU: dx = dy ((1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2)."""

import math
from collections.abc import Callable

import numpy as np

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake
from minitransformer.diagnosis.terms import terms
from minitransformer.functional.activations import CUBIC, SLOPE

for sentence, wrong in (
        ("the ReLU mask is missing: dx = dy, even where x is negative (the activation is skipped)",
         lambda dy, cache: dy),
        ("the ReLU mask is inverted: the gradient passes where x is negative, not where it is positive",
         lambda dy, cache: dy * ~cache.positive),
        ("the ReLU mask is taken from the upstream gradient dy (where dy > 0), not from x",
         lambda dy, cache: dy * (dy > 0)),
        ("the ReLU mask is taken from the upstream gradient dy as well: guided backpropagation, dy > 0 and x > 0",
         lambda dy, cache: dy * (dy > 0) * cache.positive),
        ("the ReLU mask of the first sentence is used for the whole batch", lambda dy, cache: dy * cache.positive[:1]),
        ("the ReLU mask of the first position is used for all positions",
         lambda dy, cache: dy * cache.positive[..., :1, :]),
        ("dy is missing: the ReLU's derivative itself is returned", lambda dy, cache: 1.0 * cache.positive),
        ("the gradient is 1 or -1 by the sign of x: the derivative of abs, not of ReLU",
         lambda dy, cache: dy * np.where(cache.positive, 1, -1)),
        ("a negative x lets 0.01 dy through: the derivative of a leaky ReLU, not of ReLU",
         lambda dy, cache: dy * np.where(cache.positive, 1, 0.01)),
        ("a negative x lets 0.1 dy through: the derivative of a leaky ReLU, not of ReLU",
         lambda dy, cache: dy * np.where(cache.positive, 1, 0.1)),
        ("dy is multiplied by the ReLU's output (x where positive), not by its derivative (1 where positive)",
         lambda dy, cache, x: dy * x * cache.positive),
        ("dy is multiplied by the input x, not by the derivative (1 where positive)", lambda dy, cache, x: dy * x)):
    mistake("relu", sentence)(wrong)


def gelu(first=1.0, second=1.0, inner=None, square=None) -> Callable:
    """The derivative of GELU with its parts replaced."""
    def wrong(dy, cache) -> Array:
        x, t = cache
        u_prime = SLOPE * (1 + 3 * CUBIC * x * x) if inner is None else inner(x)
        sech = 1 - t * t if square is None else square(t)
        return dy * (first * 0.5 * (1 + t) + second * 0.5 * x * sech * u_prime)
    return wrong


def cdf(x) -> Array:
    return 0.5 * (1 + np.array([math.erf(one / math.sqrt(2)) for one in x.ravel()]).reshape(x.shape))


def density(x) -> Array:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def logistic(x) -> Array:
    return 1 / (1 + np.exp(-x))


for sentence, wrong in (
        ("the product rule is forgotten: the term with the derivative of tanh is missing, dx = dy (1 + tanh u) / 2",
         gelu(second=0)),
        ("the product rule is forgotten: the term (1 + tanh u) / 2 is missing", gelu(first=0)),
        ("the inner derivative u' is missing (chain rule)", gelu(inner=lambda x: 1.0)),
        ("the inner derivative u' lacks its cubic term: u' = sqrt(2/pi), without 3 * 0.044715 x^2",
         gelu(inner=lambda x: SLOPE)),
        ("the inner derivative u' lacks the factor 3 of its cubic term",
         gelu(inner=lambda x: SLOPE * (1 + CUBIC * x * x))),
        ("the inner derivative u' has the factor 2, not 3, in its cubic term",
         gelu(inner=lambda x: SLOPE * (1 + 2 * CUBIC * x * x))),
        ("the inner derivative u' lacks the factor sqrt(2/pi)", gelu(inner=lambda x: 1 + 3 * CUBIC * x * x)),
        ("the inner derivative u' has x in place of x^2 in its cubic term",
         gelu(inner=lambda x: SLOPE * (1 + 3 * CUBIC * x))),
        ("the inner derivative u' has x^3 in place of x^2 in its cubic term",
         gelu(inner=lambda x: SLOPE * (1 + 3 * CUBIC * x ** 3))),
        ("the inner derivative u' was replaced by u itself", gelu(inner=lambda x: SLOPE * (x + CUBIC * x * x * x))),
        ("the derivative of tanh is 1 - tanh^2, not 1 - tanh: the square is missing", gelu(square=lambda t: 1 - t)),
        ("the derivative of tanh is 1 - tanh^2, not 1 + tanh^2: wrong sign", gelu(square=lambda t: 1 + t * t)),
        ("the derivative of tanh is 1 - tanh^2, not tanh^2", gelu(square=lambda t: t * t)),
        ("the derivative of tanh (1 - tanh^2) is missing", gelu(square=lambda t: 1.0)),
        ("the factor 1/2 is missing in the term with the derivative of tanh", gelu(second=2)),
        ("the factor 1/2 is missing in the term 1 + tanh u", gelu(first=2)),
        ("the term with the derivative of tanh has the wrong sign (subtracted)", gelu(second=-1)),
        ("the factor x is missing in the term with the derivative of tanh",
         lambda dy, c: dy * (0.5 * (1 + c.tanh) + 0.5 * (1 - c.tanh ** 2) * SLOPE * (1 + 3 * CUBIC * c.x * c.x))),
        ("the derivative is that of ReLU: dy where x > 0 (a step)", lambda dy, c: dy * (c.x > 0)),
        ("the derivative is that of the exact GELU (erf), but the forward uses the tanh form",
         lambda dy, c: dy * (cdf(c.x) + c.x * density(c.x))),
        ("the derivative is that of the sigmoid form x sigmoid(1.702 x), but the forward uses the tanh form",
         lambda dy, c: dy * logistic(1.702 * c.x) * (1 + 1.702 * c.x * (1 - logistic(1.702 * c.x)))),
        ("the derivative is that of swish (SiLU), not of GELU",
         lambda dy, c: dy * logistic(c.x) * (1 + c.x * (1 - logistic(c.x)))),
        ("the GELU is skipped in backward: dx = dy", lambda dy, c: dy),
        ("tanh is taken of x, not of u", lambda dy, c: gelu()(dy, c._replace(tanh=np.tanh(c.x))))):
    mistake("gelu", sentence)(wrong)


@terms("gelu")
def parts(dy, cache) -> dict[str, dict[str, Array]]:
    x, t = cache
    chain = dy * 0.5 * x * (1 - t * t) * SLOPE
    return {"x": {"(1 + tanh u) / 2": dy * 0.5 * (1 + t), "x (1 - tanh^2 u) sqrt(2/pi) / 2 of the inner derivative "
                                                          "u'": chain,
                  "3 * 0.044715 x^2 (cubic) of the inner derivative u'": chain * 3 * CUBIC * x * x}}
