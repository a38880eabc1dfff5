"""README's picture: what a trained model looks at, and how exact the hand-written gradients are.

    minitransformer train reverse
    python docs/pictures/front_door.py runs/reverse docs/pictures/front_door.png
"""

import sys

from matplotlib.figure import Figure

from minitransformer import Run, gradcheck
from minitransformer.pictures.attention_map import attention_map
from minitransformer.checking.blocks import blocks
from minitransformer.checking.report import BOUNDS

TEXT = "d r a w k c a b"
SHOWN = ("linear", "embedding", "softmax", "attention", "multi-head-attention", "layer-norm", "dropout", "feed-forward",
         "residual", "encoder-layer", "cross-entropy")    # whose every number is checked, by both methods


def draw_attention(axes, run) -> None:
    """One head of the last cross-attention: which letter the decoder looks at while it writes each letter."""
    found = attention_map(run, TEXT, "cross")
    written = [*found.queries[1:], "</s>"]    # a row's query is the letter before the one that it writes
    image = axes.imshow(found.weights[0], cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(found.keys)), found.keys)
    axes.set_yticks(range(len(written)), written)
    axes.set_xlabel("key: the letter it may look at")
    axes.set_ylabel("query: the letter being written")
    axes.set_title("A trained model reverses a word:\nwhere it looks (cross-attention, one head)", fontsize=10)
    axes.figure.colorbar(image, ax=axes, label="attention weight", shrink=0.8)


def draw_errors(axes) -> None:
    """The largest error of each block's gradients, by both numeric methods, and the bound of each method."""
    known = blocks()
    for method, color, marker in (("complex", "tab:purple", "o"), ("central", "0.45", "s")):
        errors = [gradcheck(known[name][0], known[name][1], name=name, methods=[method]).worst for name in SHOWN]
        axes.scatter(errors, range(len(SHOWN)), color=color, marker=marker, zorder=3,
                     label="complex step" if method == "complex" else "central differences")
        axes.axvline(BOUNDS[method], color=color, linestyle="--", label=f"its bound, {BOUNDS[method]:.0e}")
    axes.set_xscale("log")
    axes.set_xlim(1e-17, 1e-5)
    axes.set_yticks(range(len(SHOWN)), SHOWN)
    axes.invert_yaxis()
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel("largest relative error of a gradient")
    axes.set_title("Every gradient is derived by hand:\nhow far it is from two numeric ones", fontsize=10)
    axes.legend(loc="upper center", bbox_to_anchor=(0.35, -0.16), ncols=2, fontsize=9, frameon=False)


def draw(folder, path) -> None:
    """The picture of a run of the task reverse, into the file `path`."""
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_attention(left, Run.load(folder))
    draw_errors(right)
    for axes in (left, right):
        axes.tick_params(labelsize=9)
    figure.savefig(path, dpi=200)


if __name__ == "__main__":
    draw(*sys.argv[1:])
