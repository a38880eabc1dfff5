"""Where the time of a training step goes: by kind of block, forward and backward, products and the rest."""

import time
from collections import defaultdict

import numpy as np
from threadpoolctl import threadpool_limits

from minitransformer.backend import generator, keep_freed_memory
from minitransformer.benchmarking import matmul
from minitransformer.benchmarking.cases import CLIP, RATE, SMOOTHING
from minitransformer.layers import Linear, Transformer
from minitransformer.layers.attention import MultiHeadAttention
from minitransformer.layers.watch import watch
from minitransformer.optim import Adam, clip_gradient_norm

LOSS, UPDATE = "logits and loss", "clipping, Adam"


def profile(case, rounds):
    """Rows of a table, for one thread: {"block", "forward", "backward", "products"}, in seconds of a step.

    A block's time is its own, without the blocks inside. `products` is how long its matrix products
    take at the machine's best rate; what is left of forward + backward is everything else. The loss
    makes its backward's products in the forward (fast/cpu/linear_cross_entropy.py).
    """
    with threadpool_limits(1, user_api="blas"):
        rate = matmul.OPERATIONS / _seconds(matmul.make_step(case, 1), 3)
        keep_freed_memory()
        model, batch = Transformer(case.config()), case.batch()
        adam, clock = Adam(model), Clock(model)
        for number in range(rounds + 1):
            if number == 1:
                clock.seconds.clear()    # the first step warms up
                clock.operations.clear()
            _step(model, adam, batch, generator(np, 0, number), clock)
    clock.operations[LOSS] += rounds * 6 * batch.target.size * model.output.weight.data.size
    return [{"block": block, **{name: clock.seconds[block, name] / rounds for name in ("forward", "backward")},
             "products": clock.operations[block] / rate / rounds}
            for block in sorted({block for block, _ in clock.seconds}, key=clock.total, reverse=True)]


class Clock:
    """Adds up what is spent in each block, but for the time in blocks that it calls."""

    def __init__(self, model):
        self.seconds = defaultdict(float)       # by (block, direction)
        self.operations = defaultdict(float)    # of matrix products, by block
        self._layers = model.sublayers()
        self._inner = [0.0]                     # seconds in the calls made so far by each call under way

    def around(self, path, direction, method, *arguments, **options):
        layer = self._layers[path]
        result = self.measure(type(layer).__name__, direction, method, *arguments, **options)
        cache = result[1] if direction == "forward" else arguments[1]
        self.operations[type(layer).__name__] += _operations(layer, cache) * (1 if direction == "forward" else 2)
        return result

    def measure(self, block, direction, method, *arguments, **options):
        self._inner.append(0.0)
        start = time.perf_counter()
        result = method(*arguments, **options)
        elapsed = time.perf_counter() - start
        self.seconds[block, direction] += elapsed - self._inner.pop()
        self._inner[-1] += elapsed
        return result

    def total(self, block):
        return self.seconds[block, "forward"] + self.seconds[block, "backward"]


def _step(model, adam, batch, rng, clock):
    """training_step, with the clock in between."""
    with watch(model, clock.around):
        y, cache = model.hidden(batch.source, batch.target, rng)
        _, loss_cache = clock.measure(LOSS, "forward", model.output.loss_forward, y, batch.next_target, SMOOTHING)
        dy = clock.measure(LOSS, "backward", model.output.loss_backward, 1 / batch.tokens, loss_cache)
        model.hidden_backward(dy, cache)
    clock.measure(UPDATE, "backward", clip_gradient_norm, adam.grad, CLIP)
    clock.measure(UPDATE, "backward", adam.step, RATE)


def _operations(layer, cache):
    """Floating-point operations of a layer's own matrix products in the forward pass."""
    if isinstance(layer, Linear):
        return 2 * cache.x.size * layer.weight.shape[1]
    if isinstance(layer, MultiHeadAttention):
        return 2 * cache.attention.weights.size * (cache.attention.key.shape[-1] + cache.attention.value.shape[-1])
    return 0


def _seconds(step, rounds):
    """The shortest of some runs."""
    def once():
        start = time.perf_counter()
        step()
        return time.perf_counter() - start

    return min(once() for _ in range(rounds))
