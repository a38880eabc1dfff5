"""What a layer costs and how far it sees, and Table 3 in miniature: numbers and pictures of the chapter about self-attention."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import make_batch
from minitransformer_course.lab.example import CONFIG, drawkcab
from minitransformer_course.lab.training import reverse, words

# The BLEU score of each seed, from experiments/table_3.json: the rows that were trained more than once.
TABLE_3 = {
    "base": (31.7, 31.9, 31.7), "heads 1": (32.0, 31.5), "heads 2": (31.6, 31.8), "heads 8": (31.5, 31.1),
    "heads 16": (30.7, 30.8), "layers 1": (29.0, 29.7), "layers 4": (33.3, 33.4), "d_ff 1024": (32.6, 31.8),
    "dropout 0.0": (33.2, 32.0), "dropout 0.2": (30.0, 29.9), "smoothing 0.0": (31.9, 31.9),
    "learned positions": (30.5, 30.2), "pre-norm": (30.5, 31.6), "unscaled attention": (22.1, 22.4),
    "restricted attention": (31.9, 31.9),
}


def loss(seed, **change) -> float:
    """The loss of a letter near the end of a short training run of the running example, with one thing changed."""
    _model, losses = reverse(120, seed=seed, config=replace(CONFIG, **change), learning_rate=lambda step: 0.006 * min(1, step / 20))
    return float(losses[-20:].mean())


def sees(layer, length, width) -> np.ndarray:
    """(T, T) bool: whether the gradient of output t reaches input u, in row t and column u."""
    y, cache = layer.forward(np.random.default_rng(0).standard_normal((1, length, width)))
    rows = []
    for t in range(length):
        dy = np.zeros_like(y)
        dy[0, t] = 1
        rows.append(layer.backward(dy, cache)[0].any(axis=-1))
    return np.array(rows)


def letters_right(mask, radii) -> np.ndarray:
    """(radii, letters): the share of each letter that the running example writes right if its encoder may look mask(T, radius).

    The letters before are given. In 100 words of eight letters, the first column is the letter that is written first.
    """
    model, _vocabulary = drawkcab()
    layer, batch = model.encoder.layers[0].self_attention, make_batch(words(np.random.default_rng(0), 100, 8))
    attend, shares = layer.attend, []
    for near in (mask(batch.source.shape[1], radius) for radius in radii):
        layer.attend = lambda q, k, v, _padding, rng, near=near: attend(q, k, v, near, rng)
        predicted = model.forward(*batch.inputs)[0].argmax(axis=-1)
        shares.append((predicted == batch.next_target)[:, :8].mean(axis=0))
    return np.array(shares)


def show_steps(panels, found) -> None:
    """Draw bars, one panel for each entry of {title: {step: multiplications}}."""
    for axes, (title, products) in zip(panels, found.items()):
        axes.bar(list(products), list(products.values()), width=0.9, color="0.4")
        axes.set(xlabel="step", yscale="log", title=title)
    panels[0].set_ylabel("multiplications in the step")


def show_costs(axes, n, d, counts) -> None:
    """Draw multiplications over the length n, {layer: one number for each n}, with marks at n = d and 2 d."""
    for (name, count), colour, style in zip(counts.items(), ("black", *2 * ["tab:red"], "tab:brown", "tab:cyan", "black"),
                                            ("-", "-", "--", "-", "-", ":")):
        axes.loglog(n, count / (n * d * d), color=colour, linestyle=style, label=name)
    for place, label in ((d, "n = d"), (2 * d, "n = 2 d")):
        axes.axvline(place, color="0.8", linewidth=1, zorder=0)
        axes.text(place, axes.get_ylim()[1], label, ha="right" if place == d else "left", va="bottom", fontsize=9)
    axes.set_yticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
    axes.set_xticks(n[::2], [f"{length:,}" for length in n[::2]])
    axes.set(xlabel=f"length n of the sequence, at d = {d}", ylabel="multiplications for each\nposition, in units of d²")
    axes.legend(fontsize=9)


def show_sees(axes, mask, title) -> None:
    """Draw who sees whom: a mask (T, T)."""
    axes.imshow(mask, cmap="Blues", vmin=0, vmax=1.4)
    axes.set(xlabel="position that is seen", ylabel="position that looks", title=title)


def show_stack(axes, masks, title) -> None:
    """Draw what the last position sees through a stack of layers; masks: (T, T) of each, the first layer first."""
    length = len(masks[0])
    reached, top = {length - 1}, len(masks)
    for height in range(top, -1, -1):
        axes.plot(range(length), [height] * length, "o", color="0.85", markersize=4, zorder=1)
        axes.plot(sorted(reached), [height] * len(reached), "o", color="tab:blue", markersize=5, zorder=3)
        if height:
            below = {t: np.flatnonzero(masks[height - 1][t]) for t in reached}
            for t, seen in below.items():
                for u in seen:
                    axes.plot([t, u], [height, height - 1], color="tab:blue", linewidth=0.8, zorder=2)
            reached = {int(u) for seen in below.values() for u in seen}
    axes.set_yticks(range(top + 1), ["input", *(f"layer {i}" for i in range(1, top + 1))])
    axes.set(xlabel="position", title=f"{title}: the last position sees {len(reached)}")


def show_table_3(axes, difference, error) -> None:
    """Draw how far each row of TABLE_3 but the first is from the base, in points of BLEU, and two errors around 0."""
    rows = list(TABLE_3)[1:]
    order = np.argsort(difference)
    axes.axvspan(-2 * error, 2 * error, color="0.85", label="within two errors")
    for place, i in enumerate(order):
        seeds = np.array(TABLE_3[rows[i]]) - np.mean(TABLE_3["base"])
        axes.plot(seeds, [place] * len(seeds), "o", color="0.5", markersize=4, label=None if place else "one seed")
        axes.plot(difference[i], place, "k|", markersize=12, label=None if place else "mean")
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xticks([-10, -5, -2, -1, 0, 1, 2, 4], ["-10", "-5", "-2", "-1", "0", "1", "2", "4"])
    axes.set_yticks(range(len(rows)), [rows[i] for i in order], fontsize=9)
    axes.set(xlabel="BLEU minus that of the base: right is better")
    axes.legend(fontsize=9, loc="upper left")


def show_letters(shares, radii, letters) -> None:
    """Draw letters_right: a row for each radius."""
    figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    image = axes.imshow(100 * shares, cmap="Greys", vmin=0, vmax=100)
    axes.set_xticks(range(len(letters)), letters)
    axes.set_yticks(range(len(radii)), radii)
    axes.set(xlabel="letter that is written, for example", ylabel="radius")
    figure.colorbar(image, label="letters right (%)")
