"""Figure 1 of the paper, painted from a configuration: each box with its name and the shape of what
leaves it.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from minitransformer.errors import InputError, choices, counted
from minitransformer.layers.attention import head_sizes
from minitransformer.layers.config import ModelConfig
from minitransformer.models import ClassifierConfig, TransformerConfig
from minitransformer.pictures.boxes import LEFT, MIDDLE, PLAIN, RIGHT, WIDTH, Box, Map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from minitransformer.pictures.figure import Figure

# {part: (what it is called, the kinds of its boxes)}, in the order in which the book explains them
PARTS = {
    "linear": ("linear layer", ("linear", "output")),
    "embedding": ("embedding", ("embedding",)),
    "positions": ("positional encoding", ("positions",)),
    "softmax": ("softmax", ("softmax",)),
    "attention": ("scaled dot-product attention", ("attention", "scores", "weighted_sum")),
    "masks": ("masks", ("mask",)),
    "heads": (
        "multi-head attention",
        ("self_attention", "cross_attention", "multi_head", "split", "merge"),
    ),
    "residual": ("residual connection", ("add",)),
    "layer_norm": ("layer normalisation", ("layer_norm",)),
    "feed_forward": ("feed-forward network", ("feed_forward",)),
    "dropout": ("dropout", ("dropout",)),
    "encoder": ("encoder layer", ("encoder",)),
    "decoder": ("decoder layer", ("decoder",)),
    "loss": ("loss", ("loss",)),
    "adam": ("Adam", ("adam",)),
    "decoding": ("decoding", ("decoding",)),
}
PAPERS_VOCABULARY = 37_000
INK, QUIET, PAPER, PANEL = "#1f2328", "#57606a", "#ffffff", "#f2f4f7"
OWN, WRONG, HERE = "#ffdf80", "#f4a3a3", "#b5123e"
TINTS = {
    "embedding": "#fbe4e6",
    "positions": "#fbe4e6",
    "self_attention": "#fdebd3",
    "cross_attention": "#fdebd3",
    "scores": "#fdebd3",
    "weighted_sum": "#fdebd3",
    "feed_forward": "#d9ecf7",
    "layer_norm": "#f6f5cf",
    "linear": "#e6e3f4",
    "output": "#e6e3f4",
    "softmax": "#d8eedd",
}
PANELS = ("encoder", "decoder", "multi_head", "attention")
BARE = ("tokens", "probabilities", "label")  # text without a frame


def architecture(
    config: ModelConfig | None = None,
    here: Collection[str] = (),
    own: Collection[str] = (),
    wrong: Collection[str] = (),
    frame: str = "you are here",
) -> "Figure":
    """The map of a configuration as a figure; the arguments are those of `draw`."""
    from minitransformer.pictures.figure import Figure

    figure = Figure(WIDTH, 1, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    draw(axes, config, here, own, wrong, frame)
    figure.set_size_inches(WIDTH, axes.get_ylim()[1])
    return figure


def draw(
    axes: "Axes",
    config: ModelConfig | None = None,
    here: Collection[str] = (),
    own: Collection[str] = (),
    wrong: Collection[str] = (),
    frame: str = "you are here",
    shape: Callable[[Box], str] = lambda box: box.shape,
) -> None:
    """The map of a configuration (default: the paper's base model) on axes that are 7 inches wide.

    here: names in PARTS, where the reader is; own: what the reader has written; wrong: what is
    written but not right yet. frame: what the frame around `here` means. shape(box): what is below
    a box's name. If any is given, all else is neutral. Raises InputError for a part that does not
    exist, for one in `here` that the model lacks, and for a model that is not a Transformer.
    """
    from matplotlib.patches import FancyBboxPatch

    config = config or TransformerConfig.named("base", PAPERS_VOCABULARY)
    found, neutral = Map(config), bool(here or own or wrong)
    outlined, filled = (
        _kinds(here, found.boxes),
        {**dict.fromkeys(_kinds(own), OWN), **dict.fromkeys(_kinds(wrong), WRONG)},
    )
    axes.set(xlim=(0, WIDTH), ylim=(0, found.height), aspect="equal")
    axes.axis("off")

    def rectangle(
        left: float,
        bottom: float,
        width: float,
        height: float,
        fill: str,
        marked: bool,
        rounding: float = 0.04,
        zorder: int = 3,
    ) -> None:
        axes.add_patch(
            FancyBboxPatch(
                (left, bottom),
                width,
                height,
                f"round,pad=0,rounding_size={rounding}",
                facecolor=fill,
                edgecolor=HERE if marked else PLAIN,
                linewidth=2.5 if marked else 0.8,
                zorder=zorder,
            )
        )

    for box in found.boxes:
        panel = box.kind in PANELS
        fill = filled.get(
            box.kind, PANEL if panel else PAPER if neutral else TINTS.get(box.kind, PAPER)
        )
        if box.kind not in BARE:
            rectangle(
                box.x - box.width / 2,
                box.bottom,
                box.width,
                box.height,
                fill,
                box.kind in outlined,
                0.1 if panel or box.name == "+" else 0.04,
                1 if panel else 3,
            )
        _write(axes, box._replace(shape=shape(box)))
    for line in found.lines:
        axes.plot(
            *zip(*line.points), color=line.colour, linestyle=line.style, linewidth=1.2, zorder=2
        )
        axes.annotate(
            "",
            line.points[-1],
            line.points[-2],
            zorder=2,
            arrowprops=dict(
                arrowstyle=line.end, color=line.colour, linewidth=0, shrinkA=0, shrinkB=0
            ),
        )
    left, y, notes = LEFT - 1.1, found.title, _notes(config)
    axes.text(left, y, type(config).__name__.removesuffix("Config"), fontsize=14, color=INK)
    for i, note in enumerate(notes, 1):
        axes.text(left, y - 0.06 - 0.2 * i, note, fontsize=9, color=INK)
    meanings = (
        [(PAPER, True, frame)] * bool(here)
        + [(OWN, False, "yours already")] * bool(own)
        + [(WRONG, False, "yours, not right yet")] * bool(wrong)
    )
    for i, (fill, marked, meaning) in enumerate(meanings, len(notes) + 1):
        rectangle(left, y - 0.16 - 0.2 * i, 0.28, 0.14, fill, marked)
        axes.text(left + 0.38, y - 0.14 - 0.2 * i, meaning, fontsize=9, color=INK)


def _kinds(parts: Collection[str], boxes: Collection[Box] | None = None) -> set[str]:
    """The kinds of the boxes of some parts; with `boxes`, each part must have one of them."""
    for part in parts:
        if part not in PARTS:
            raise InputError(f"unknown part {part!r}; {choices(str(part), PARTS)}")
        if boxes and not any(box.kind in PARTS[part][1] for box in boxes):
            raise InputError(f"{part}: this model has none")
    return {kind for part in parts for kind in PARTS[part][1]}


def _write(axes: "Axes", box: Box) -> None:
    """The name of a box and, below it, its shape; the name of a panel beside or above it."""
    how: dict[str, Any] = {"fontsize": 9, "color": INK, "ha": "center", "zorder": 4}
    right = MIDDLE < box.x < RIGHT  # where the lines of the residual connection are, too
    if box.kind == "attention":
        axes.text(box.x + box.width / 2 - 0.12, box.y, box.name, rotation=90, va="center", **how)
    elif box.kind in PANELS:
        axes.text(
            box.x + (right - 0.5) * box.width,
            box.top + 0.05,
            box.name,
            **{**how, "ha": "right" if right else "left"},
        )
    elif box.shape:
        axes.text(box.x, box.top - 0.045, box.name, va="top", **how)
        axes.text(
            box.x,
            box.bottom + 0.045,
            box.shape,
            va="bottom",
            linespacing=1.15,
            **{**how, "color": QUIET},
        )
    else:
        axes.text(box.x, box.y, box.name, va="center_baseline", **how)


def _notes(config: Any) -> list[str]:
    """What the letters mean."""
    d_k, d_v = head_sizes(config.d_model, config.num_heads, config.d_k, config.d_v)
    vocabulary = config.target_vocab if isinstance(config, TransformerConfig) else config.vocab_size
    return [
        f"d_model = {config.d_model:,}",
        f"d_ff = {config.d_ff:,}",
        f"H = {counted(config.num_heads, 'head')}",
        f"d_k = {d_k:,}, d_v = {d_v:,}",
        f"N = {counted(config.num_layers, 'layer')}",
        f"V = {counted(vocabulary, 'token')}",
        f"C = {config.num_classes:,} classes"
        if isinstance(config, ClassifierConfig)
        else "same letter, same matrix",
    ]
