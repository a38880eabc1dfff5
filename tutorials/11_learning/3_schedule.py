"""The paper's learning rate

For the first `warmup` steps the learning rate rises in proportion to the step. After that, it falls in proportion to 1 over the
root of the step. The two parts meet at step `warmup`, at the peak, which is 1 over the root of (d_model times warmup).
"""

import math

import numpy as np

from minitransformer_course.judge import also_right, edge, invariant, mistake


# %% reference
def schedule(steps, d_model, warmup):
    """steps: (N,), whole numbers from 1 up, in any order; d_model, warmup: whole numbers. Returns rates (N,)."""
    # your code: two curves through the same point; which of them counts on which side of it?
    peak = 1 / math.sqrt(d_model * warmup)
    rise = steps / warmup
    fall = np.sqrt(warmup / steps)
    return peak * np.minimum(rise, fall)
    # end of your code


# %% what it is called with
returns = "rates"
section = "Warm-up"
stars, minutes = 2, 15


def case(rng, N, d, w):
    warmup = 5 + w
    return np.concatenate([rng.permutation(warmup - 1)[:2] + 1, rng.permutation(20 * warmup)[:N] + warmup + 1]), 16 * d, warmup


@edge("at the first step, at the peak, and one step before and after the peak")
def around(rng, d, w):
    return np.array([1, 99 + w, 100 + w, 101 + w]), 16 * d, 100 + w


@edge("the paper's settings: d_model 512, 4,000 steps of warm-up, up to step 100,000")
def papers(rng, N):
    return np.append(rng.integers(1, 100_000, N), 100_000), 512, 4000


@invariant("no learning rate may be above the peak, 1 over the root of (d_model times warmup)")
def at_most_the_peak(rates, steps, d_model, warmup):
    return np.maximum(rates - (d_model * warmup) ** -0.5, 0)


# %% hints
hints = (
    "What fraction of the peak do you expect at half the warm-up? And at four times the warm-up, where the root has doubled?",
    "On the way up: the peak times steps / warmup. On the way down: the peak times the root of warmup / steps. Take the smaller.",
    "fall = np.sqrt(___)",
)


# %% mistakes
def made(steps, d_model, warmup, rise=lambda s, w: s / w, fall=lambda s, w: np.sqrt(w / s), choose=np.minimum):
    return (d_model * warmup) ** -0.5 * choose(rise(steps, warmup), fall(steps, warmup))


@mistake("the larger of the two curves is taken: it starts at the top and ends up rising for ever")
def larger(steps, d_model, warmup):
    return made(steps, d_model, warmup, choose=np.maximum)


@mistake("there is no warm-up: on its own, the falling curve is largest at step 1")
def no_warmup(steps, d_model, warmup):
    return made(steps, d_model, warmup, rise=lambda s, w: np.inf)


@mistake("there is no decay: after the warm-up it stays at the peak")
def no_decay(steps, d_model, warmup):
    return made(steps, d_model, warmup, fall=lambda s, w: 1.0)


@mistake("the steps count from 0: the first learning rate is 0, and the first update does nothing")
def from_zero(steps, d_model, warmup):
    return made(np.maximum(steps - 1, 1e-9) * (steps > 1), d_model, warmup,
                fall=lambda s, w: np.sqrt(w / np.maximum(s, 1e-9)))


@mistake("the steps count from 2: step t gets the learning rate of step t + 1")
def one_early(steps, d_model, warmup):
    return made(steps + 1, d_model, warmup)


@mistake("it falls as 1 over the step, not as 1 over the root of the step")
def falls_faster(steps, d_model, warmup):
    return made(steps, d_model, warmup, fall=lambda s, w: w / s)


@mistake("it rises with the root of the step: the warm-up is a straight line")
def root_rise(steps, d_model, warmup):
    return made(steps, d_model, warmup, rise=lambda s, w: np.sqrt(s / w))


@mistake("after the warm-up the falling curve starts again at step 1: it has to use the same step")
def begins_anew(steps, d_model, warmup):
    return made(steps, d_model, warmup, fall=lambda s, w: 1 / np.sqrt(np.maximum(s - w, 1)))


@mistake("d_model is missing: a wider model gets a smaller learning rate")
def no_width(steps, d_model, warmup):
    return made(steps, 1, warmup)


@mistake("the learning rate is divided by d_model itself, not by its root")
def width_itself(steps, d_model, warmup):
    return made(steps, d_model * d_model, warmup)


@mistake("it is multiplied by the root of d_model, not divided by it: a wider model gets a smaller learning rate")
def width_upside_down(steps, d_model, warmup):
    return d_model * made(steps, d_model, warmup)


@mistake("the peak is 1: the curves have the right shape, but 1 over the root of (d_model times warmup) is missing")
def no_peak(steps, d_model, warmup):
    return np.minimum(steps / warmup, np.sqrt(warmup / steps))


@mistake("the peak lacks the warm-up: it is only 1 over the root of d_model")
def peak_without_warmup(steps, d_model, warmup):
    return math.sqrt(warmup) * made(steps, d_model, warmup)


@mistake("the exponent of warmup is -0.5, not -1.5: the warm-up ends far too early")
def exponent(steps, d_model, warmup):
    return d_model ** -0.5 * np.minimum(steps ** -0.5, steps * warmup ** -0.5)


@mistake("it falls as the peak over the root of the step, far below the peak at step warmup: the two parts must meet there")
def falls_from_the_peak(steps, d_model, warmup):
    return made(steps, d_model, warmup, fall=lambda s, w: 1 / np.sqrt(s))


@mistake("it rises as steps / warmup over the root of d_model, and crosses the other part before step warmup")
def rises_past_the_peak(steps, d_model, warmup):
    return made(steps, d_model, warmup, rise=lambda s, w: s / np.sqrt(w))


@mistake("this is integer division, //: the learning rate is 0 until the warm-up is over")
def whole_numbers(steps, d_model, warmup):
    return made(steps, d_model, warmup, rise=lambda s, w: s // w)


@mistake("it falls on a straight line to 0: it has to fall as 1 over the root of the step")
def straight_fall(steps, d_model, warmup):
    return made(steps, d_model, warmup, fall=lambda s, w: np.maximum(0, 1 - (s - w) / (20.0 * w)))


# %% other right solutions
@also_right
def as_the_paper_prints_it(steps, width, warmup):
    return width ** -0.5 * np.minimum(steps ** -0.5, steps * warmup ** -1.5)


@also_right
def with_where(t, d_model, w):
    rates = np.where(t < w, t / w, np.sqrt(w / t))
    return rates / math.sqrt(d_model) / math.sqrt(w)


@also_right
def with_loops(steps, d_model, warmup):
    rates = np.empty(len(steps))
    for i, step in enumerate(steps):
        rates[i] = (d_model * warmup) ** -0.5 * (step / warmup if step <= warmup else (warmup / step) ** 0.5)
    return rates
