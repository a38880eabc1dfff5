"""A reader's key-value cache, timed, and one that forgets whose past it keeps."""

import string
import time
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import beam_search
from minitransformer.decoding.cached import CachedStack
from minitransformer.functional import attention_forward
from minitransformer.data.special import EOS
from minitransformer_course.lab.example import drawkcab


def race(cached, x, weights) -> None:
    """Causal attention over x (T, d), all positions again for each output, against cached(t): print
    and draw differences and times.

    The fastest of eight consecutive positions counts, because the machine has other work, too.
    """

    def again(t) -> np.ndarray:
        query, key, value = (x[: t + 1] @ w for w in weights)
        return attention_forward(query, key, value, np.tri(t + 1, dtype=bool))[0][-1]

    outputs, seconds = [], []
    for step in (again, cached):
        ends, made = [time.perf_counter()], []
        for t in range(len(x)):
            made.append(step(t))
            ends.append(time.perf_counter())
        outputs.append(np.array(made))
        seconds.append(np.diff(ends).reshape(-1, 8).min(axis=1))
    print(
        f"largest difference {np.abs(outputs[0] - outputs[1]).max():.0e}, "
        f"{seconds[0].sum() / seconds[1].sum():.0f} times as fast with the cache"
    )
    figure, (grid, times) = plt.subplots(
        1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 2)
    )
    grid.imshow(np.tri(8) + np.eye(8), cmap="Greys", vmax=2.5)
    grid.set(
        xlabel="position that is computed",
        ylabel="step of the loop",
        title="dark: new, grey: again",
        xticks=(),
        yticks=(),
    )
    for row, style, name in zip(seconds, ("-", "--"), ("all positions again", "with the cache")):
        times.plot(range(0, len(x), 8), 1e6 * row, style, color="black", label=name)
    times.set(xlabel="position being written", ylabel="microseconds for one token")
    times.legend()


def with_a_broken_cache(length) -> str:
    """What a beam search on 100 random words of that many letters finds if the cache is never
    reordered.
    """
    advance = CachedStack.advance

    def broken(state, ids, parents=None) -> Any:
        places = (
            np.minimum(np.arange(ids.shape[1]), state._past.shape[1] - 1)
            if state._past is not None
            else 0
        )
        return advance(state, ids, None if parents is None else np.broadcast_to(places, ids.shape))

    model, vocabulary = drawkcab()
    draw = np.random.default_rng(length)
    words = ["".join(draw.choice([*string.ascii_lowercase], length)) for _word in range(100)]
    source = np.array([[*vocabulary.encode(word), EOS] for word in words])
    right = beam_search(model, source, 4)
    with mock.patch.object(CachedStack, "advance", broken):
        wrong = beam_search(model, source, 4)
    exact = [vocabulary.decode(found[0].ids) == word[::-1] for found, word in zip(wrong, words)]
    differ = [[one.ids for one in a] != [one.ids for one in b] for a, b in zip(right, wrong)]
    return f"{length} letters: {np.mean(exact):.0%} of the words are right, {np.mean(differ):.0%} of the beams differ"
