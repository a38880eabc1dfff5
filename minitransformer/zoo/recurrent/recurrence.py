"""A step applied through time, and its backward: backpropagation through time (Werbos 1990, https://doi.org/10.1109/5.58337)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of
from minitransformer.checks import check_cache_of
from minitransformer.dispatch import replaceable


class ThroughTimeCache(NamedTuple):
    step_backward: Callable
    steps: list          # the step's own cache at each position
    mask: Array | None   # (T, B) bool: where a token is real


@replaceable
def through_time_forward(step: tuple[Callable, Callable], z: Array, state: Array, *weights: Array,
                         mask: Array | None = None) -> tuple[Array, ThroughTimeCache]:
    """states_t = step(z_t, states_{t-1}, weights): every state (T, B, S).

    step: a pair of functions, step_forward(z (B, G), state (B, S), *weights) -> state (B, S), cache and its backward; z: (T, B,
    G), what the step reads, time first, so that the numbers of a step lie together; state: (B, S), the one before the
    first step; mask: None or (T, B) bool, True where a token is real. Where it is not, the state stays as it was.
    """
    step_forward, step_backward = step
    xp, states, steps = module_of(z), [], []
    for t in range(len(z)):
        with np.errstate(under="ignore"):    # of closed gates
            after, cache = step_forward(z[t], state, *weights)
        state = after if mask is None else xp.where(mask[t][:, None], after, state)
        states.append(state)
        steps.append(cache)
    return xp.stack(states), ThroughTimeCache(step_backward, steps, mask)


@replaceable
def through_time_backward(dstates: Array, cache: ThroughTimeCache) -> tuple[Array, ...]:
    """Returns dz (T, B, G), the gradient of the state before the first step (B, S), and one for each weight.

    A state is used by the next step and outside the layer: its gradient is the sum of both. Every step has the same
    weights: their gradients are sums over all steps.
    """
    check_cache_of("through_time_backward", cache, ThroughTimeCache)
    xp = module_of(dstates)
    dstate, dweights, dz = xp.zeros_like(dstates[0]), [], []
    for t in reversed(range(len(dstates))):
        dstate = dstate + dstates[t]
        real = None if cache.mask is None else cache.mask[t][:, None]
        dafter = dstate if real is None else dstate * real
        dz_t, dbefore, *dstep = cache.step_backward(dafter, cache.steps[t])
        dstate = dbefore if real is None else dbefore + dstate * ~real
        dweights = [total + one for total, one in zip(dweights, dstep)] if dweights else dstep
        dz.append(dz_t)
    return xp.stack(dz[::-1]), dstate, *dweights
