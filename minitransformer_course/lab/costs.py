"""What a layer costs and how far it sees: pictures of the chapter about self-attention."""

import numpy as np


def show_steps(panels, found) -> None:
    """Draw bars, one panel for each entry of {title: {step: multiplications}}."""
    for axes, (title, products) in zip(panels, found.items()):
        axes.bar(list(products), list(products.values()), width=0.9, color="0.4")
        axes.set(xlabel="step", yscale="log", title=title)
    panels[0].set_ylabel("multiplications in the step")


def show_costs(axes, n, d, counts) -> None:
    """Draw multiplications over the length n, {layer: one number for each n}, with marks at n = d
    and 2 d.
    """
    for (name, count), colour, style in zip(
        counts.items(),
        ("black", *2 * ["tab:red"], "tab:brown", "tab:cyan", "black"),
        ("-", "-", "--", "-", "-", ":"),
    ):
        axes.loglog(n, count / (n * d * d), color=colour, linestyle=style, label=name)
    for place, label in ((d, "n = d"), (2 * d, "n = 2 d")):
        axes.axvline(place, color="0.8", linewidth=1, zorder=0)
        axes.text(
            place,
            axes.get_ylim()[1],
            label,
            ha="right" if place == d else "left",
            va="bottom",
            fontsize=9,
        )
    axes.set_yticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
    axes.set_xticks(n[::2], [f"{length:,}" for length in n[::2]])
    axes.set(
        xlabel=f"length n of the sequence, at d = {d}",
        ylabel="multiplications for each\nposition, in units of d²",
    )
    axes.legend(fontsize=9)


def show_stack(axes, masks, title) -> None:
    """Draw what the last position sees through a stack of layers; masks: (T, T) of each, the first
    layer first.
    """
    length = len(masks[0])
    reached, top = {length - 1}, len(masks)
    for height in range(top, -1, -1):
        axes.plot(range(length), [height] * length, "o", color="0.85", markersize=4, zorder=1)
        axes.plot(
            sorted(reached), [height] * len(reached), "o", color="tab:blue", markersize=5, zorder=3
        )
        if height:
            below = {t: np.flatnonzero(masks[height - 1][t]) for t in reached}
            for t, seen in below.items():
                for u in seen:
                    axes.plot(
                        [t, u], [height, height - 1], color="tab:blue", linewidth=0.8, zorder=2
                    )
            reached = {int(u) for seen in below.values() for u in seen}
    axes.set_yticks(range(top + 1), ["input", *(f"layer {i}" for i in range(1, top + 1))])
    axes.set(xlabel="position", title=f"{title}: the last position sees {len(reached)}")
