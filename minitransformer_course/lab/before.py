"""Pictures and a measurement for the page before the first chapter: how a recurrent network reads,
and what it loses.
"""

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.zoo.baselines import RNN

SOURCE, TARGET = ("the", "animal", "was", "tired"), ("das", "Tier", "war", "müde")
HEIGHT = 1.1  # from a row of the picture to the next


def show_reading(axes, attention=False) -> None:
    """Draw how a recurrent network translates: through one context vector, or with all states to
    look back at.
    """
    states, after = (
        [*map(float, range(len(SOURCE)))],
        [len(SOURCE) + 0.6 + i for i in range(len(TARGET))],
    )
    for x, word in zip(states, SOURCE):
        _arrow(axes, (x, 0), (x, HEIGHT))
        axes.text(
            x, 0, word, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none"}
        )
        last = not attention and x == states[-1]
        _node(
            axes,
            x,
            HEIGHT,
            f"$h_{x + 1:.0f}$",
            "tab:red" if last else "tab:green" if attention else "0.6",
        )
    for i, (x, word) in enumerate(zip(after, TARGET)):
        _arrow(axes, (x, HEIGHT), (x, 2 * HEIGHT))
        axes.text(
            x,
            2 * HEIGHT,
            word,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none"},
        )
        _node(axes, x, HEIGHT, f"$s_{i + 1}$", "tab:blue" if attention and i == 1 else "0.6")
    for before, next_one in zip([*states, *after], [*states[1:], *after]):
        _arrow(axes, (before, HEIGHT), (next_one, HEIGHT))
    if attention:
        for x, width in zip(states, (0.5, 3, 0.5, 0.8)):
            _arrow(axes, (x, HEIGHT), (after[1], HEIGHT), "tab:green", width, "arc3,rad=-0.18")
    else:
        axes.text(states[-1], 1.6 * HEIGHT, "the context vector", ha="center", color="tab:red")
    axes.set(xlim=(-0.6, after[-1] + 0.6), ylim=(-0.4, 2 * HEIGHT + 0.7))
    axes.set_title(
        "with attention: all states are kept"
        if attention
        else "without: one vector for the sentence",
        fontsize=11,
    )
    axes.axis("off")


def _node(axes, x, y, name, colour) -> None:
    axes.text(
        x,
        y,
        name,
        ha="center",
        va="center",
        zorder=3,
        bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": colour, "linewidth": 2},
    )


def _arrow(axes, start, end, colour="0.5", width=1.0, bend="arc3") -> None:
    axes.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "->",
            "color": colour,
            "linewidth": width,
            "shrinkA": 15,
            "shrinkB": 15,
            "connectionstyle": bend,
        },
    )


def what_is_left(lengths, size=32) -> list[float]:
    """How far the last state of an untrained RNN moves if the first word of a sentence is another:
    one number for each length.
    """
    rng, found = np.random.default_rng(0), []
    rnn = RNN(size, size, rng)
    for length in lengths:
        sentence = rng.standard_normal((100, length, size))
        other = sentence.copy()
        other[:, 0] = rng.standard_normal((100, size))
        (_y, last), (_y, moved) = (rnn.forward(x)[0] for x in (sentence, other))
        found.append(
            float(np.linalg.norm(last - moved, axis=1).mean() / np.linalg.norm(last, axis=1).mean())
        )
    return found


def show_left(lengths, left) -> None:
    """Draw what `what_is_left` found."""
    _figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    axes.loglog(lengths, left, "ko-")
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
    axes.set(xlabel="words in the sentence", ylabel="change of the last state")
