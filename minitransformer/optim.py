"""Adam, the paper's learning-rate schedule, and clipping (section 5.3 of the paper)."""

import math

from minitransformer.backend import module_of


class Adam:
    """Adam (Kingma and Ba, https://arxiv.org/abs/1412.6980, algorithm 1) with the paper's settings.

    It walks the model's flat vectors, so it needs no list of parameters:

        m = beta1 m + (1 - beta1) g          the mean of the gradient
        v = beta2 v + (1 - beta2) g^2        the mean of its square
        w = w - rate * m' / (sqrt(v') + epsilon)

    with m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t), which undo the start from zero.

    After a gradient that is not finite the parameters stay as they were before it: `updates`, on
    the parameters' device, then stays behind `steps`, and whoever trains looks when it suits.
    """

    def __init__(self, model, beta1=0.9, beta2=0.98, epsilon=1e-9):
        self.data, self.grad = model.flat
        xp = module_of(self.data)
        self.m, self.v = xp.zeros_like(self.data), xp.zeros_like(self.data)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.steps = 0      # calls of `step`
        self.updates = 0    # of them, those before a gradient that is not finite

    def step(self, rate):
        """Move every parameter once, by the learning rate `rate`, and set the gradients to zero."""
        xp = module_of(self.grad)
        finite = xp.isfinite(self.grad @ self.grad) & (self.updates == self.steps)
        self.steps += 1
        self.updates = self.updates + finite
        self.m += (1 - self.beta1) * (self.grad - self.m)
        self.v += (1 - self.beta2) * (self.grad * self.grad - self.v)
        mean_scale = 1 / (1 - self.beta1 ** self.steps)
        square_scale = 1 / math.sqrt(1 - self.beta2 ** self.steps)
        change = rate * mean_scale * self.m / (square_scale * xp.sqrt(self.v) + self.epsilon)
        self.data -= xp.where(finite, change, 0)
        self.grad[...] = 0


def schedule(step, d_model, warmup, factor=1.0):
    """The learning rate at `step` = 1, 2, ...: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5).

    It grows linearly for `warmup` steps to factor / sqrt(d_model * warmup), then falls as
    1 / sqrt(step) (equation 3 of the paper).
    """
    return factor * d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def cooldown(step, steps, share):
    """1, and in the last `share` of all `steps` a straight line towards 0: a factor for the learning rate.

    What the paper reaches by averaging its last checkpoints (section 6.1), a falling rate does within
    the run: the noise of the last updates dies out (Hägele et al. 2024, https://arxiv.org/abs/2405.18392).
    """
    return min(1.0, (steps + 1 - step) / (share * steps)) if share else 1.0


def clip_gradient_norm(grad, limit):
    """Scale the vector `grad` in place to a Euclidean norm of at most `limit`; returns the norm it had.

    The norm is an array of no dimension and stays on its device.
    """
    xp = module_of(grad)
    norm = xp.sqrt(grad @ grad)
    grad *= limit / xp.maximum(norm, limit)
    return norm
