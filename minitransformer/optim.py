"""Adam and the paper's learning-rate schedule (section 5.3), other schedules, and clipping, which the paper does without."""

from minitransformer.backend import module_of
from minitransformer.functional import adam_update


class Adam:
    """Adam (functional/adam.py) with the paper's settings, on a model's flat vectors.

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
        self.count(self.grad @ self.grad)
        self.move(slice(None), rate)

    def count(self, square):
        """Begin a step whose gradient has the norm sqrt(`square`)."""
        finite = module_of(self.grad).isfinite(square) & (self.updates == self.steps)
        self.steps += 1
        self.updates = self.updates + finite

    def move(self, piece, rate, scale=1.0):
        """After `count`: move one slice of the parameters, their gradient times `scale`, and set it to zero."""
        adam_update(self.data[piece], self.grad[piece], self.m[piece], self.v[piece], self.steps, rate, scale,
                    self.beta1, self.beta2, self.epsilon, self.updates == self.steps)
        self.grad[piece] = 0


def schedule(step, d_model, warmup, factor=1.0):
    """The learning rate at `step` = 1, 2, ...: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5).

    It grows linearly for `warmup` steps to factor / sqrt(d_model * warmup), then falls as
    1 / sqrt(step) (equation 3 of the paper).
    """
    return factor * d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def inverse_sqrt(step, warmup, peak):
    """The shape of the paper's schedule with its highest rate given: `peak`, reached at step `warmup`."""
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def constant(step, warmup, peak):
    """`peak`, after a straight line to it in the first `warmup` steps."""
    return peak * min(step / warmup, 1.0)


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
    square = grad @ grad
    grad *= clip_factor(square, limit)
    return module_of(grad).sqrt(square)


def clip_factor(square, limit):
    """What a gradient of the norm sqrt(`square`) is multiplied by, to a norm of at most `limit`.

    NaN where `square` is not finite: a factor of 0 would hide that from Adam.
    """
    xp = module_of(square)
    return xp.where(xp.isfinite(square), limit / xp.maximum(xp.sqrt(square), limit), xp.nan)
