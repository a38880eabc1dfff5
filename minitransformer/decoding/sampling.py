"""Outputs drawn at random, from the model's complete distribution or from its most likely part."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitransformer.backend import Array, Generator, module_of, to_device, to_host
from minitransformer.checks import check_integer, check_kind, check_rng, check_shape, is_number
from minitransformer.decoding.continuations import log_normaliser
from minitransformer.decoding.continuations import top_k as largest
from minitransformer.decoding.hypothesis import (
    Hypothesis,
    check_numbers,
    check_words,
    compact_rows,
    length_limits,
)
from minitransformer.errors import InputError, counted
from minitransformer.data.special import BOS, EOS, PAD, SPECIAL
from minitransformer.decoding.state import Decodable


def sample(
    model: Decodable,
    source: Array,
    rngs: Sequence[Generator],
    count: int = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_length: int = 0,
    max_length: int | None = None,
) -> list[list[Hypothesis]]:
    """`count` Hypotheses for each sentence of source (B, T_k) ids, drawn token by token, the most
    likely first.

    Each token is drawn from softmax(logits / temperature), restricted to the `top_k` most likely
    tokens (0: all) and to the fewest whose total probability reaches `top_p` (Holtzman et al. 2020,
    https://arxiv.org/abs/1904.09751). `rngs`: a NumPy generator for each sentence, so that the
    draws do not depend on the batch; each draw spawns its own from it. The reported
    log-probabilities are the model's own.

    Raises InputError for invalid settings, and for a model whose logits are not finite.
    """
    check_integer("the number of samples", count)
    check_sampling(temperature, top_k, top_p)
    check_shape("source", source, "B", "T_k")
    check_kind(isinstance(rngs, (list, tuple)), "rngs", rngs, "a list of generators")
    for rng in rngs:
        check_rng(rng)
    if len(rngs) != len(source):
        raise InputError(
            f"rngs is {counted(len(rngs), 'generator')}, expected one for each of "
            f"{counted(len(source), 'sentence')}, such as np.random.default_rng(0).spawn({len(source)})"
        )
    source = np.repeat(source, count, axis=0)  # each sample has its own row
    rngs = [own for rng in rngs for own in rng.spawn(count)]
    state = model.start(source)
    least, most = length_limits(state, min_length, max_length)
    ids = state.first  # (R, 1 + length)
    sums = np.zeros(len(source))
    found: list[Any] = [None] * len(source)
    alive = np.arange(len(source))
    while len(alive):
        logits = state.output.forward(state.advance(ids[:, -1:]))[0][:, 0]  # (R, V)
        check_words(logits.shape[1] - len(SPECIAL), least[alive])
        normaliser = log_normaliser(logits)
        _forbid(logits, ids.shape[1] - 1, least[alive], most[alive])
        draws = np.array([rngs[i].random() for i in alive])
        next_ids, values = draw(logits, draws, temperature, top_k, top_p)
        next_ids, values = to_host(next_ids), to_host(values - normaliser)
        check_numbers(np.isfinite(values))
        sums += values
        ended = next_ids == EOS
        for row in np.flatnonzero(ended):
            found[alive[row]] = Hypothesis(
                ids[row, 1:].tolist(), float(sums[row]), float(sums[row])
            )
        ids = np.concatenate([ids, next_ids[:, None]], axis=1)
        if ended.any():
            rows = compact_rows(ended)
            state.keep(rows)
            alive, ids, sums = alive[rows], ids[rows], sums[rows]
    return [
        sorted(found[i : i + count], key=lambda h: -h.score) for i in range(0, len(found), count)
    ]


def check_sampling(temperature: float, top_k: int, top_p: float) -> None:
    """Raise InputError for invalid settings."""
    if not is_number(temperature, 1e-3) or temperature > 1e3:
        likeliest = "; for the likeliest token, draw from one: --top-k 1, in Python top_k=1"
        raise InputError(
            f"temperature is {temperature!r}, expected a number from 0.001 to 1000"
            f"{likeliest if temperature == 0 else ''}"
        )
    check_integer("top_k", top_k, 0)
    if not is_number(top_p, 0) or not 0 < top_p <= 1:
        raise InputError(f"top_p is {top_p!r}, expected a number above 0, at most 1")


@np.errstate(under="ignore")
def draw(
    logits: Array, draws: Array, temperature: float, top_k: int, top_p: float
) -> tuple[Array, Array]:
    """(ids, their logits), each (R,): logits (R, V), draws (R,) uniform in [0, 1)."""
    xp = module_of(logits)
    ids, values = largest(logits.copy(), min(top_k or logits.shape[1], logits.shape[1]))
    p = xp.exp((values - values[:, :1]) / temperature)
    p = p / p.sum(axis=1, keepdims=True)
    before = xp.cumsum(p, axis=1) - p  # the probability of all more likely tokens
    p = p * (before < top_p)
    reached = xp.cumsum(p, axis=1)
    drawn = (reached <= to_device(draws, xp)[:, None] * reached[:, -1:]).sum(axis=1, keepdims=True)
    return xp.take_along_axis(ids, drawn, axis=1)[:, 0], xp.take_along_axis(values, drawn, axis=1)[
        :, 0
    ]


def _forbid(logits: Array, length: int, least: Array, most: Array) -> None:
    """Set the logits of tokens that may not come next to -inf: padding, BOS, EOS before `least`
    tokens, all but EOS after `most`.

    logits: (R, V), changed in place; `length`: the number of tokens so far; least, most: (R,).
    """
    logits[:, PAD] = logits[:, BOS] = -np.inf
    xp = module_of(logits)
    logits[to_device(np.flatnonzero(length < least), xp), EOS] = -np.inf
    logits[
        to_device(np.flatnonzero(length >= most), xp), EOS + 1 :
    ] = -np.inf  # EOS has the largest id of the special ones
