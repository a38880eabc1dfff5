"""Adam and the paper's learning-rate schedule (section 5.3), and other schedules."""

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

    def step(self, learning_rate, clip=None, workers=None):
        """Move every parameter once and set the gradients to zero.

        The gradient is scaled to a norm of at most `clip` before (None, as in the paper: it is not). `workers` share the
        work (parallel.Threads); None: the gradient is the model's own.
        """
        square = workers.sum_gradients() if workers else self.grad @ self.grad
        finite = module_of(self.grad).isfinite(square) & (self.updates == self.steps)
        self.steps += 1
        self.updates = self.updates + finite
        scale = 1.0 if clip is None else clip_factor(square, clip)

        def move(piece):
            adam_update(self.data[piece], self.grad[piece], self.m[piece], self.v[piece], self.steps, learning_rate,
                        scale, self.beta1, self.beta2, self.epsilon, finite)
            self.grad[piece] = 0

        workers.each_piece(move) if workers else move(slice(None))


def clip_factor(square, limit):
    """What a gradient of the norm sqrt(`square`) is multiplied by, to a norm of at most `limit`.

    NaN where `square` is not finite: a factor of 0 would hide that from Adam.
    """
    xp = module_of(square)
    return xp.where(xp.isfinite(square), limit / xp.maximum(xp.sqrt(square), limit), xp.nan)


def schedule(step, d_model, warmup, factor=1.0):
    """The learning rate at `step` = 1, 2, ...: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5).

    It grows linearly for `warmup` steps to factor / sqrt(d_model * warmup), then falls as
    1 / sqrt(step) (equation 3 of the paper).
    """
    return factor * d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def inverse_sqrt(step, warmup, peak):
    """The shape of the paper's schedule with its highest learning rate given: `peak`, reached at step `warmup`."""
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def constant(step, warmup, peak):
    """`peak`, after a straight line to it in the first `warmup` steps."""
    return peak * min(step / warmup, 1.0)


def cooldown(step, steps, share):
    """1, and in the last `share` of all `steps` a straight line towards 0: a factor for the learning rate.

    What the paper reaches by averaging its last checkpoints (section 6.1), a falling learning rate does within
    the run: the noise of the last updates dies out (Hägele et al. 2024, https://arxiv.org/abs/2405.18392).
    """
    return min(1.0, (steps + 1 - step) / (share * steps)) if share else 1.0
