"""One step of Adam

m is the running mean of the gradient, and v that of its square. Both started at 0, so each is too small by a factor that depends on
t and on its beta. A weight moves by the learning rate times the mean, divided by epsilon plus the root of the mean square.
"""

import numpy as np

from minitransformer import functional
from minitransformer_course.judge import also_right, edge, invariant, mistake, plugs


# %% reference
def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    """w, g, m, v: (P,), m and v from the step before; t: 1 at the first step. Returns the new w, m and v, each (P,)."""
    # your code: two running means, what they lack because of the start at 0, and the step
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    mean = m / (1 - beta1 ** t)
    square = v / (1 - beta2 ** t)
    w = w - learning_rate * mean / (np.sqrt(square) + epsilon)
    return w, m, v
    # end of your code


# %% what it is called with
returns = "w m v"
section = "One number by hand"
stars, minutes = 2, 20


def case(rng, P):
    w, g, m = rng.standard_normal((3, P + 2))
    settings = rng.uniform((0.1, 0.6, 0.8, 0.05), (0.5, 0.75, 0.95, 0.3))    # epsilon is large: it has to be in its place
    return w, g, m, rng.uniform(0.2, 2, P + 2), int(rng.integers(3, 9)), *map(float, settings)


@edge("the first step, t = 1, with m = v = 0")
def first(rng, P):
    w, g, m, v, _t, *settings = case(rng, P)
    return w, g, 0 * m, 0 * v, 1, *settings


@invariant("m must lie between the old m and g, and v between the old v and g squared")
def means(answer, w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    _w, new_m, new_v = answer
    return np.concatenate([new_m - np.clip(new_m, np.minimum(m, g), np.maximum(m, g)),
                           new_v - np.clip(new_v, np.minimum(v, g * g), np.maximum(v, g * g))])


@invariant("at the first step the two means are g and its square: a weight moves by learning_rate |g| / (|g| + epsilon)")
def at_first(answer, w, g, m, v, t, learning_rate, beta1, beta2, epsilon):
    return (np.abs(answer[0] - w) - learning_rate * np.abs(g) / (np.abs(g) + epsilon)) * (t == 1)


@plugs(functional.adam_update)
def in_the_model(own):
    def adam_update(data, grad, m, v, step, learning_rate, scale, beta1, beta2, epsilon, finite):
        if finite:
            data[...], m[...], v[...] = own(data, scale * grad, m, v, step, learning_rate, beta1, beta2, epsilon)
        grad[...] = 0
    return adam_update


# %% hints
hints = (
    "The gradient is always 3, and beta1 = 0.9. What is m after one step, and after two? Which factor turns each of them into 3?",
    "After t equal gradients g, m is (1 - beta1^t) g, and v is (1 - beta2^t) g^2. Divide, but return m and v uncorrected.",
    "mean = m / ___",
)


# %% mistakes
def made(w, g, m, v, t, rate, b1, b2, eps, ours=lambda t, b: 1 - b ** t, others=None, step=None):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    mean, square = m / ours(t, b1), v / (others or ours)(t, b2)
    return w - rate * (mean / (np.sqrt(square) + eps) if step is None else step(mean, square, eps)), m, v


@mistake("epsilon is inside the root: it has to be added to the root of the mean square")
def epsilon_inside(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, step=lambda mean, square, eps: mean / np.sqrt(square + eps))


@mistake("epsilon is added before v is corrected, as in TensorFlow: here it is added to the corrected root")
def epsilon_before(w, g, m, v, t, rate, b1, b2, eps):
    return made(w, g, m, v, t, rate, b1, b2, eps / np.sqrt(1 - b2 ** t))


@mistake("epsilon is missing: a weight whose gradient was always 0 would become NaN")
def no_epsilon(w, g, m, v, t, rate, b1, b2, eps):
    return made(w, g, m, v, t, rate, b1, b2, 0.0)


@mistake("the brackets are missing: epsilon is added to the new weight, not to the root")
def brackets(w, g, m, v, t, rate, b1, b2, eps):
    w, m, v = made(w, g, m, v, t, rate, b1, b2, 0.0)
    return w + eps, m, v


@mistake("nothing is corrected: m and v are too small, because they started at 0")
def uncorrected(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, ours=lambda t, b: 1)


@mistake("the power t is forgotten: 1 - beta is right only at the first step")
def no_power(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, ours=lambda t, b: 1 - b)


@mistake("the power is in the wrong place: (1 - beta)^t, not 1 - beta^t")
def power_outside(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, ours=lambda t, b: (1 - b) ** t)


@mistake("v is divided by 1 - beta2^2: the 2 is part of the name beta2, and the power is t")
def squared_beta(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, others=lambda t, b: 1 - b ** 2)


@mistake("the steps count from 2: the power is t + 1 and has to be t")
def one_late(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, ours=lambda t, b: 1 - b ** (t + 1))


@mistake("only v is corrected: m started at 0 too")
def only_v(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, ours=lambda t, b: 1, others=lambda t, b: 1 - b ** t)


@mistake("only m is corrected: v started at 0 too")
def only_m(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, others=lambda t, b: 1)


@mistake("m needs beta1, v beta2: the two corrections are swapped")
def corrections_swapped(w, g, m, v, t, rate, b1, b2, eps):
    return made(w, g, m, v, t, rate, b1, b2, eps, ours=lambda t, b: 1 - (b1 + b2 - b) ** t)


@mistake("the corrected m and v are returned: the next step would correct them again")
def corrected_kept(w, g, m, v, t, rate, b1, b2, eps):
    w, m, v = made(w, g, m, v, t, rate, b1, b2, eps)
    return w, m / (1 - b1 ** t), v / (1 - b2 ** t)


@mistake("the root is missing: the mean is divided by the mean square itself")
def no_root(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, step=lambda mean, square, eps: mean / (square + eps))


@mistake("the step goes up: the weight has to move against the mean gradient")
def upwards(w, g, m, v, t, rate, *settings):
    return made(w, g, m, v, t, -rate, *settings)


@mistake("the step uses the gradient, not its running mean: that is RMSProp")
def rmsprop(w, g, m, v, t, *settings):
    return made(w, g, m, v, t, *settings, step=lambda mean, square, eps: g / (np.sqrt(square) + eps))


@mistake("the betas are swapped: beta1 belongs to m, beta2 to v")
def swapped(w, g, m, v, t, rate, b1, b2, eps):
    return made(w, g, m, v, t, rate, b2, b1, eps)


@mistake("v is a running mean of g, not of its square")
def unsquared(w, g, m, v, t, rate, b1, b2, eps):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g
    return w - rate * m / (1 - b1 ** t) / (np.sqrt(np.abs(v) / (1 - b2 ** t)) + eps), m, v


@mistake("v is a running mean of m squared: it has to be that of g squared")
def of_the_mean(w, g, m, v, t, rate, b1, b2, eps):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * m * m
    return w - rate * m / (1 - b1 ** t) / (np.sqrt(v / (1 - b2 ** t)) + eps), m, v


@mistake("m adds all of g, not 1 - beta1 of it: that makes it a sum, as in SGD with momentum")
def momentum(w, g, m, v, t, rate, b1, b2, eps):
    m, v = b1 * m + g, b2 * v + (1 - b2) * g * g
    return w - rate * m / (1 - b1 ** t) / (np.sqrt(v / (1 - b2 ** t)) + eps), m, v


@mistake("the weights of the mean are swapped: beta belongs to the old mean, 1 - beta to the new gradient")
def weights_swapped(w, g, m, v, t, rate, b1, b2, eps):
    m, v = (1 - b1) * m + b1 * g, (1 - b2) * v + b2 * g * g
    return w - rate * m / (1 - b1 ** t) / (np.sqrt(v / (1 - b2 ** t)) + eps), m, v


@mistake("the step uses the old m and v: update them first")
def old_means(w, g, m, v, t, rate, b1, b2, eps):
    _w, new_m, new_v = made(w, g, m, v, t, rate, b1, b2, eps)
    return w - rate * m / (1 - b1 ** t) / (np.sqrt(v / (1 - b2 ** t)) + eps), new_m, new_v


# %% other right solutions
@also_right
def in_the_papers_efficient_order(w, g, m, v, t, rate, b1, b2, eps):
    m, v = m + (1 - b1) * (g - m), v + (1 - b2) * (g ** 2 - v)
    root = (1 - b2 ** t) ** 0.5
    return w - rate * root / (1 - b1 ** t) * m / (np.sqrt(v) + eps * root), m, v


@also_right
def with_loops(weights, gradients, means, squares, t, rate, beta1, beta2, epsilon):
    w, m, v = (np.empty_like(weights) for _ in range(3))
    for i, g in enumerate(gradients):
        m[i] = beta1 * means[i] + (1 - beta1) * g
        v[i] = beta2 * squares[i] + (1 - beta2) * g ** 2
        w[i] = weights[i] - rate * (m[i] / (1 - beta1 ** t)) / ((v[i] / (1 - beta2 ** t)) ** 0.5 + epsilon)
    return w, m, v
