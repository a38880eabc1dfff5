"""A gate

Compute h = silu(a) u, number by number, with silu(a) = a sigmoid(a) and sigmoid(a) = 1 / (1 + e^(-a)). Also return what
backward multiplies dh by: the slope of each number of h in its a and in its u. Inputs may be as large as 1,000.
"""

import numpy as np

from minitransformer.functional import dropout_forward
from minitransformer.zoo.modern.gated import GatedFeedForward, GatedFeedForwardCache, SiluCache, silu_forward
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def swiglu(a, u):
    """a, u: (..., d_ff), the two projections of x. Returns h, slope_a and slope_u, all (..., d_ff)."""
    # your code: the gate, what passes through it, and the product rule
    sigmoid = 0.5 + 0.5 * np.tanh(a / 2)
    gate = a * sigmoid
    slope_of_gate = sigmoid * (1 + a * (1 - sigmoid))
    return gate * u, slope_of_gate * u, gate
    # end of your code


# %% what it is called with
returns = "h slope_a slope_u"
section = "A gate in place of ReLU"
stars, minutes = 2, 15


def case(rng, B, T, d_ff):
    return 2 * rng.standard_normal((B, T, d_ff)), 1 + rng.standard_normal((B, T, d_ff))


@edge("a = 0, and a = 1,000 and -1,000, and u = 0")
def far(rng, N):
    a, u = np.append([0, 1000, -1000], rng.standard_normal(N)), 1 + rng.standard_normal(3 + N)
    return a, np.append(u[1:], 0)


@invariant("h is proportional to u: u times its slope must be h")
def linear(answer, a, u):
    return answer[0] - u * answer[2]


@invariant("at a = 0 the sigmoid is 1/2: the slope in a must be u / 2")
def at_zero(answer, a, u):
    return np.where(a == 0, answer[1] - u / 2, 0)


@plugs(GatedFeedForward.forward)
def in_the_model(own):
    def forward(self, x, rng=None):
        a, gate = self.gate.forward(x)
        u, inner = self.inner.forward(x)
        h, _slope_a, slope_u = own(a, u)
        h, dropout = dropout_forward(h, self.dropout, rng)
        y, outer = self.outer.forward(h)
        return y, GatedFeedForwardCache(gate, inner, SiluCache(a, silu_forward(a)[1].sigmoid), slope_u, u, dropout, outer)
    return forward


# %% hints
hints = (
    "If you double u, what happens to h? So what is its slope in u? And what is its slope in a at a = 0, where the sigmoid is 1/2?",
    "With s = sigmoid(a), the slope of s is s (1 - s). By the product rule, that of silu is s + a s (1 - s). Multiply it by u.",
    "slope_of_gate = sigmoid * (1 + ___)",
)


# %% mistakes
def sigmoid_of(a):
    return 0.5 + 0.5 * np.tanh(a / 2)


def slope(a):
    s = sigmoid_of(a)
    return s * (1 + a * (1 - s))


@mistake("the branches are swapped: apply silu to a, and let u pass through the gate")
def swapped(a, u):
    return a * u * sigmoid_of(u), u * sigmoid_of(u), a * slope(u)


@mistake("silu is applied to the product a u: apply it to a alone")
def of_the_product(a, u):
    return a * u * sigmoid_of(a * u), slope(a * u) * u, slope(a * u) * a


@mistake("the gate is sigmoid(a), as in the first gated units: silu(a) is a sigmoid(a)")
def sigmoid_gate(a, u):
    s = sigmoid_of(a)
    return s * u, s * (1 - s) * u, s


@mistake("the gate is ReLU: silu(a) is a sigmoid(a)")
def relu_gate(a, u):
    return np.maximum(a, 0) * u, (a > 0) * u, np.maximum(a, 0)


@mistake("slope_a is only a times the slope of the sigmoid: by the product rule, add the sigmoid itself")
def second_term_alone(a, u):
    s = sigmoid_of(a)
    return a * s * u, a * s * (1 - s) * u, a * s


@mistake("slope_a lacks the term with the slope of the sigmoid: the sigmoid depends on a, too")
def first_term_alone(a, u):
    s = sigmoid_of(a)
    return a * s * u, s * u, a * s


@mistake("slope_a lacks the factor a in one term: the slope of the sigmoid has to be multiplied by a")
def without_a(a, u):
    s = sigmoid_of(a)
    return a * s * u, s * (2 - s) * u, a * s


@mistake("the slope of the sigmoid is taken as s (1 + s): it is s (1 - s)")
def plus(a, u):
    s = sigmoid_of(a)
    return a * s * u, s * (1 + a * (1 + s)) * u, a * s


@mistake("slope_a lacks the factor u: multiply the slope of silu by it")
def without_u(a, u):
    return a * sigmoid_of(a) * u, slope(a), a * sigmoid_of(a)


@mistake("slope_u is h: h is proportional to u, so its slope is the gate alone, without u")
def slope_u_is_h(a, u):
    h = a * sigmoid_of(a) * u
    return h, slope(a) * u, h


@mistake("slope_u is sigmoid(a): u is multiplied by silu(a), which is a sigmoid(a)")
def slope_u_is_sigmoid(a, u):
    return a * sigmoid_of(a) * u, slope(a) * u, sigmoid_of(a)


@mistake("the two slopes are swapped: return the slope in a first")
def slopes_swapped(a, u):
    return a * sigmoid_of(a) * u, a * sigmoid_of(a), slope(a) * u


@mistake("e^a / (1 + e^a) overflows to infinity / infinity at a = 1,000: use 1 / (1 + e^(-a)) or tanh")
def overflows(a, u):
    with np.errstate(all="ignore"):
        s = np.exp(a) / (1 + np.exp(a))
    return a * s * u, s * (1 + a * (1 - s)) * u, a * s


@mistake("slope_a is the slope of the sigmoid: silu(a) is the product a sigmoid(a), so use the product rule")
def slope_of_the_sigmoid(a, u):
    s = sigmoid_of(a)
    return a * s * u, s * (1 - s) * u, a * s


# %% other right solutions
@also_right
def with_exponentials(x, value):
    with np.errstate(over="ignore"):
        s = 1 / (1 + np.exp(-x))
    return x * s * value, value * (s + x * s * (1 - s)), x * s


@also_right
def with_loops(a, u):
    h, slope_a, slope_u = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    for i in np.ndindex(a.shape):
        s = 1 / (1 + np.exp(-np.clip(a[i], -500, 500)))
        h[i], slope_a[i], slope_u[i] = a[i] * s * u[i], (s + a[i] * s * (1 - s)) * u[i], a[i] * s
    return h, slope_a, slope_u
