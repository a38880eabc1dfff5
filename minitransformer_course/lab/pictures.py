"""Pictures of the chapters, each drawn from numbers that the page has computed."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from minitransformer.functional import softmax_forward
from minitransformer.data.special import EOS
from minitransformer.pictures import architecture
from minitransformer_course.lab.example import LETTERS


def show_model(config=None, **how) -> None:
    """Draw the map of a configuration, as `architecture.draw` does, on a figure of its size."""
    figure = plt.figure()
    axes = figure.add_axes((0, 0, 1, 1))
    architecture.draw(axes, config=config, **how)
    figure.set_size_inches(architecture.WIDTH, axes.get_ylim()[1])  # one unit is an inch


def show_map(axes, found, head=0) -> Any:
    """Draw one head of what `attention_of` returns: a row for each query, a column for each key.
    Returns the image.
    """
    image = axes.imshow(found.weights[head], cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(found.keys)), found.keys)
    axes.set_yticks(range(len(found.queries)), found.predicted or found.queries)
    axes.set(
        xlabel="key: the letter it may look at",
        ylabel="query: the letter being written"
        if found.predicted
        else "query: the letter that looks",
    )
    axes.set_title(f"head {head}", fontsize=10)
    return image


def show_mask(axes, mask, tokens) -> None:
    """Draw a mask (T, T) whose rows and columns are these tokens."""
    image = axes.imshow(mask, cmap=plt.get_cmap("Blues", 2), vmin=0, vmax=1)
    axes.set(xlabel="key: the tokens it may look at", ylabel="query: the position that asks")
    axes.set_xticks(range(len(tokens)), tokens)
    axes.set_yticks(range(len(tokens)), tokens)
    axes.figure.colorbar(image, ticks=[0.25, 0.75]).set_ticklabels(["False", "True:\nmay attend"])


def show_split(three, x) -> None:
    """Draw x (T, 2 d) on three axes: as stored, reshaped directly to (2, T, d), and as two heads
    need it, in blue and yellow.
    """
    length, width = x.shape
    size = width // 2
    owner = np.broadcast_to(np.arange(width) // size, x.shape)
    for axes, title, split in zip(
        three,
        ("x", "x, reshaped straight", "what each head needs"),
        (
            lambda array: array[None],
            lambda array: array.reshape(2, length, size),
            lambda array: array.reshape(length, 2, size).swapaxes(0, 1),
        ),
    ):
        for block, (numbers, colours) in enumerate(zip(split(x), split(owner))):
            for (i, k), number in np.ndenumerate(numbers):
                place = k, block * (length + 0.4) + i
                axes.add_patch(
                    plt.Rectangle(
                        place,
                        1,
                        1,
                        facecolor=("lightskyblue", "khaki")[colours[i, k]],
                        edgecolor="white",
                    )
                )
                axes.text(place[0] + 0.5, place[1] + 0.5, f"{number:02}", ha="center", va="center")
            if title != "x":
                axes.text(
                    -0.2,
                    block * (length + 0.4) + length / 2,
                    f"head {block}",
                    ha="right",
                    va="center",
                )
        axes.text(1 if title != "x" else 2, -0.3, title, ha="center", fontsize=12)
        axes.set(xlim=(-1.4, 4.2), ylim=(2 * (length + 0.4), -1), aspect="equal")
        axes.axis("off")


def show_uses(parts) -> None:
    """Draw the norm of each row of the shared matrix's gradient, from each of its three uses:
    parts, three of shape (V, D).
    """
    figure, axes = plt.subplots(figsize=(9, 2.2), layout="constrained")
    image = axes.imshow(np.linalg.norm(parts, axis=-1), cmap="Purples", norm=LogNorm(1e-4))
    axes.set_xticks(range(LETTERS.size), LETTERS.listed, rotation=90)
    axes.set_yticks(range(3), ("source", "target", "logits"))
    axes.set(xlabel="row of the matrix", ylabel="its use", facecolor="lightyellow")
    figure.colorbar(image, label="norm of\nthe gradient")


def show_counts(names, counts) -> None:
    """Draw where the parameters of models are: counts {box: one number for each model}."""
    figure, axes = plt.subplots(figsize=(9, 2.4), layout="constrained")
    total, left = sum(counts.values()), 0
    for (box, count), shade in zip(counts.items(), ("0.85", "0.65", "0.4", "0.1")):
        axes.barh(names, 100 * count / total, left=left, color=shade, label=box)
        left = left + 100 * count / total
    axes.set(xlabel="share of the parameters (%)", xlim=(0, 100))
    axes.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=4)


def show_norm(both, x, n, dx) -> None:
    """Draw LayerNorm of rows of three numbers on two 3-D axes: x on the way to n, and, seen along
    (1, 1, 1), dx from n.

    x, n, dx: (N, 3).
    """
    angles = np.linspace(0, 2 * np.pi, 100)
    circle = (
        np.outer(np.cos(angles), (1, -1, 0)) / 2**0.5
        + np.outer(np.sin(angles), (1, 1, -2)) / 6**0.5
    )
    both[0].scatter(*x.T, color="silver", label="rows x")
    both[0].quiver(*x.T, *(n - x).T, color="silver", linewidth=1, arrow_length_ratio=0.1)
    both[0].plot(*np.outer((1, 1, 1), (-3, 3)), ":", color="black", label="along (1, 1, 1)")
    both[0].view_init(elev=12, azim=-35)
    both[1].quiver(*n.T, *dx.T, color="tab:purple", label="dx, drawn from n")
    both[1].view_init(elev=np.degrees(np.arctan(2**-0.5)), azim=45)
    for axes, title, reach in zip(
        both, ("LayerNorm moves each row onto the circle", "seen along (1, 1, 1)"), (3, 2)
    ):
        axes.plot(*3**0.5 * circle.T, color="gray", linewidth=1)
        axes.scatter(*n.T, color="black", label="rows n")
        axes.set(
            title=title,
            xlim=(-reach, reach),
            ylim=(-reach, reach),
            zlim=(-reach, reach),
            xlabel="first number",
            ylabel="second number",
            zlabel="third number",
        )
        axes.set_box_aspect((1, 1, 1), zoom=0.85)
        axes.locator_params(nbins=4)
        axes.legend(loc="upper left")


def show_orders(both) -> None:
    """Draw a sub-layer f in its residual with a LayerNorm, post-norm and pre-norm, and the
    gradient's direct path, on two axes.
    """
    orders = (
        (
            "post-norm: y = LayerNorm(x + f(x))",
            {"f": (1.5, 1.4), "+": (0, 2.1), "LayerNorm": (0, 3)},
        ),
        (
            "pre-norm: y = x + f(LayerNorm(x))",
            {"LayerNorm": (1.5, 1.2), "f": (1.5, 2.1), "+": (0, 3)},
        ),
    )
    for axes, (title, boxes) in zip(both, orders):
        top = boxes["+"][1]
        axes.annotate(
            "",
            (0, 0.2),
            (0, 4),
            arrowprops={"arrowstyle": "->", "color": "tab:purple", "linewidth": 5, "alpha": 0.5},
        )
        axes.plot([0, 0], [0, 4], color="black")
        axes.plot([0, 1.5, 1.5, 0], [0.6, 0.6, top, top], color="black")
        for name, (x, y) in {"x": (0, 0), **boxes, "y": (0, 4)}.items():
            axes.text(
                x,
                y,
                name,
                ha="center",
                va="center",
                bbox={"boxstyle": "round", "facecolor": "white"},
            )
        axes.text(
            -0.2, 1.4, "the gradient's\ndirect path", ha="right", va="center", color="tab:purple"
        )
        axes.set(title=title, xlim=(-1.6, 2.3), ylim=(-0.4, 4.4))
        axes.axis("off")


def show_graph(axes, inputs, values, gradients) -> None:
    """Draw a computation from left to right: on each node its value in black, its name, and its
    gradient in purple below.

    inputs: {node: [the nodes that it is computed from]}, the last one computed last; values,
    gradients: {node: number}.
    """
    columns: list[list[str]] = [
        [list(inputs)[-1]]
    ]  # from right to left; a node is to the left of all that need it
    while made := [one for name in columns[-1] for one in inputs.get(name, [])]:
        columns = [*([one for one in column if one not in made] for column in columns), made]
    places = {
        name: (-1.7 * column, 0.85 * (len(names) - 1) / 2 - 0.85 * row)
        for column, names in enumerate(columns)
        for row, name in enumerate(names)
    }
    for name, (x, y) in places.items():
        axes.text(
            x,
            y,
            f"${name}$",
            ha="center",
            va="center",
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"},
        )
        axes.text(x, y + 0.22, f"{values[name]:g}", ha="center", va="center")
        axes.text(x, y - 0.24, f"{gradients[name]:g}", ha="center", va="center", color="tab:purple")
        for one in inputs.get(name, []):
            axes.annotate(
                "",
                (x, y),
                places[one],
                arrowprops={
                    "arrowstyle": "->",
                    "color": "0.5",
                    "shrinkA": 14,
                    "shrinkB": 20,
                    "connectionstyle": f"arc3,rad={-0.3 * (x - places[one][0] > 2)}",
                },
            )  # around the nodes of a column between
    height = 0.45 * max(map(len, columns))
    axes.set(xlim=(-1.7 * len(columns) + 1, 0.5), ylim=(-height, height))
    axes.axis("off")


def show_lookup(axes, tokens, ids, vocabulary) -> None:
    """Draw the table of an embedding, and arrows from the tokens below to the rows above that their
    gradients are added to.

    ids: for each token the number of its row; vocabulary: what the rows belong to.
    """
    rows = np.arange(len(vocabulary)) + (len(tokens) - len(vocabulary)) / 2
    frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"}
    for x, name in zip(rows, vocabulary):
        axes.text(x, 1, f"row of\n{name}", ha="center", va="center", bbox=frame)
    for place, (token, x) in enumerate(zip(tokens, rows[ids])):
        axes.text(place, 0, token, ha="center", va="center", bbox=frame | {"facecolor": "0.93"})
        axes.annotate(
            "",
            (x, 1),
            (place, 0),
            arrowprops={"arrowstyle": "->", "color": "tab:purple", "shrinkA": 12, "shrinkB": 22},
        )
        axes.text(
            place + 0.2 * (x - place),
            0.2,
            "dy",
            ha="center",
            va="center",
            color="tab:purple",
            bbox={"color": "white", "pad": 1},
        )
    axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(-0.25, 1.3))
    axes.axis("off")


def show_scores(axes, scores, queries, keys) -> Any:
    """Draw scores that have not been through a softmax, red if they are positive and blue if
    negative. Returns the image.

    scores: (T_q, T_k); queries, keys: the letters of the rows and of the columns.
    """
    largest = abs(scores).max()
    image = axes.imshow(scores, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axes.set_xticks(range(len(keys)), keys)
    axes.set_yticks(range(len(queries)), queries)
    axes.set_xlabel("key: the letter it may look at", color="tab:orange")
    axes.set_ylabel("query: the letter that looks", color="tab:blue")
    axes.figure.colorbar(image, ax=axes, label="score: query times key")
    return image


def smoothed(numbers, width) -> np.ndarray:
    """Each number is the mean of `width` ones."""
    return np.convolve(numbers, np.ones(width) / width, mode="valid")


def show_curves(axes, x, curves, xlabel, ylabel) -> None:
    """Draw {what it is: one number for each x}."""
    for (name, numbers), style in zip(curves.items(), ("k-", "r--", "b:")):
        axes.plot(x, numbers, style, label=name)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.legend()


def show_losses(axes, curves, level=None, of="token") -> None:
    """Draw training losses {what they are: one for each step}; level: (number, name) of a dotted
    line; of: what has a loss.
    """
    for (name, losses), colour, style in zip(
        curves.items(), ("black", "tab:red", "tab:brown"), ("-", "--", "-.")
    ):
        axes.plot(range(1, len(losses) + 1), losses, style, color=colour, label=name)
    if level:
        axes.axhline(level[0], color="0.5", linestyle=":", label=level[1])
    axes.set(xlabel="training step", ylabel=f"loss for each {of}")
    axes.legend()


def show_tree(axes, tried, finished, title) -> None:
    """Draw every hypothesis of a beam search on its way from left to right: `tried` is [(path,
    log-probability)].

    A path is a tuple of words. Those that survived have a thick frame; those in `finished` are
    green.
    """
    lived = {path[:-1] for path, _total in tried}
    leaves = [path for path, _total in tried if path not in lived]
    leaves.sort(
        key=lambda path: [
            [one for one, _total in tried].index(path[:n]) for n in range(2, len(path) + 1)
        ]
    )
    height: dict[tuple, Any] = {path: -i for i, path in enumerate(leaves)}
    for path in sorted(lived, key=len, reverse=True):
        height[path] = np.mean([y for child, y in height.items() if child[:-1] == path])
    for path, total in [(("<s>",), 0.0), *tried]:
        x, y = len(path) - 1, height[path]
        if x:
            axes.plot([x - 1, x], [height[path[:-1]], y], color="silver", zorder=0)
        axes.text(
            x,
            y,
            f"{path[-1]} {np.exp(total):.2f}",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "round",
                "facecolor": "lightgreen" if path in finished else "white",
                "linewidth": 2.5 if path in lived or path in finished else 0.5,
            },
        )
    axes.set(
        xlim=(-0.4, max(map(len, height)) - 0.6),
        ylim=(0.6 - len(leaves), 0.6),
        xticks=range(max(map(len, height))),
        yticks=(),
        xlabel="tokens written",
        title=title,
    )
    axes.spines[["left", "right", "top"]].set_visible(False)


def show_steps(logits, letters=LETTERS) -> None:
    """Draw a row for each step of writing: the probability of each token, from its logits (T, V)."""
    p = softmax_forward(logits)[0][:, EOS:]
    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    image = axes.imshow(p, cmap="Blues", vmin=0, vmax=1)
    axes.set(
        yticks=range(len(p)),
        yticklabels=range(1, len(p) + 1),
        xlabel="token that may come next",
        ylabel="step of the loop",
    )
    axes.set_xticks(range(p.shape[1]), letters.listed[EOS:])
    figure.colorbar(image, label="probability")
