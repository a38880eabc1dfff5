"""Figure 1 of the paper, painted: what is in it is the table in boxes.py."""

from typing import TYPE_CHECKING

from minitransformer.errors import InputError, choices
from minitransformer.layers.attention import head_sizes
from minitransformer.models import ClassifierConfig, TransformerConfig
from minitransformer.pictures.boxes import KEY, LEFT, PLAIN, QUERY, VALUE, WIDTH, layout

if TYPE_CHECKING:
    from minitransformer.pictures.figure import Figure

PARTS = {    # {part: (what it is called, the kinds of its boxes)}, in the order in which the book explains them
    "linear": ("linear layer", ("linear", "output")),
    "embedding": ("embedding", ("embedding",)),
    "positions": ("positional encoding", ("positions",)),
    "softmax": ("softmax", ("softmax",)),
    "attention": ("scaled dot-product attention", ("attention", "scores", "weighted_sum")),
    "masks": ("masks", ("mask",)),
    "heads": ("multi-head attention", ("self_attention", "cross_attention", "multi_head", "split", "merge")),
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
INK, QUIET, PAPER, PANEL, OWN, HERE = "#1f2328", "#57606a", "#ffffff", "#f2f4f7", "#ffdf80", "#b5123e"
WEIGHTS = {(True, True): "W: one matrix, used three times", (True, False): "W: one matrix for both embeddings",
           (False, True): "U: one matrix, used twice", (False, False): "no matrix is shared"}    # by what is shared
PANELS = ("encoder", "decoder", "multi_head", "attention")
BARE = ("tokens", "probabilities", "role")    # text without a frame


def architecture(config=None, here=(), own=()) -> "Figure":
    """The map of a configuration as a figure; the arguments are those of `draw`."""
    from minitransformer.pictures.figure import Figure

    figure = Figure(WIDTH, 1, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    draw(axes, config, here, own)
    figure.set_size_inches(WIDTH, axes.get_ylim()[1])
    return figure


def draw(axes, config=None, here=(), own=()) -> None:
    """The map of a configuration (default: the paper's base model) on axes 7 inches wide.

    here, own: names in PARTS: "you are here", and what the reader has written already. Raises InputError for a part that does not
    exist or that the model lacks, and for a model that is no Transformer.
    """
    from matplotlib.patches import FancyBboxPatch

    config = config or TransformerConfig.named("base", PAPERS_VOCABULARY)
    boxes, lines = layout(config)
    outlined, filled = _kinds(here, boxes), _kinds(own)
    height = max(box.top for box in boxes) + 0.12
    axes.set(xlim=(0, WIDTH), ylim=(0, height), aspect="equal")
    axes.axis("off")
    for box in boxes:
        panel, marked = box.kind in PANELS, box.kind in outlined
        if box.kind not in BARE:
            axes.add_patch(FancyBboxPatch(
                (box.x - box.width / 2, box.bottom), box.width, box.height, zorder=1 if panel else 3,
                boxstyle=f"round,pad=0,rounding_size={0.1 if panel or box.name == '+' else 0.04}",
                facecolor=OWN if box.kind in filled else PANEL if panel else PAPER,
                edgecolor=HERE if marked else PLAIN, linewidth=2.5 if marked else 0.8))
        _write(axes, box)
    for line in lines:
        axes.plot(*zip(*line.points), color=line.colour, linestyle=line.style, linewidth=1.2, zorder=2)
        if line.head:
            axes.annotate("", line.points[-1], line.points[-2], zorder=2,
                          arrowprops=dict(arrowstyle="-|>", color=line.colour, linewidth=0, shrinkA=0, shrinkB=0))
    _legend(axes, height - 0.3, _notes(config), [(HERE, PAPER, "you are here")] * bool(here) + [(PLAIN, OWN, "yours already")] * bool(own))


def _kinds(parts, boxes=None) -> set[str]:
    """The kinds of the boxes of some parts; with `boxes`, each part must have one of them."""
    for part in parts:
        if part not in PARTS:
            raise InputError(f"unknown part {part!r}; {choices(part, PARTS)}")
        if boxes and not any(box.kind in PARTS[part][1] for box in boxes):
            raise InputError(f"{part}: this model has none")
    return {kind for part in parts for kind in PARTS[part][1]}


def _write(axes, box) -> None:
    """The name of a box and, below it, its shape; the name of a panel above it, on the side of its residual lines."""
    def text(x, y, words, **how) -> None:
        axes.text(x, y, words, **{"fontsize": 9, "color": INK, "ha": "center", "zorder": 4, **how})

    if box.kind == "attention":
        text(box.x + box.width / 2 - 0.11, box.y, box.name, rotation=90, va="center")
    elif box.kind in PANELS:
        side = 1 if box.kind == "decoder" else -1
        text(box.x + side * box.width / 2, box.top + 0.05, box.name, ha="right" if side > 0 else "left")
    elif box.shape:
        text(box.x, box.top - 0.045, box.name, va="top")
        text(box.x, box.bottom + 0.045, box.shape, va="bottom", color=QUIET, linespacing=1)
    else:
        text(box.x, box.y, box.name, va="center_baseline")


def _legend(axes, y, notes, swatches) -> None:
    """The title and the meanings of letters and colours, from y downwards."""
    from matplotlib.patches import Rectangle

    left = LEFT - 1.1
    for i, note in enumerate(notes):
        axes.text(left, y - 0.06 * bool(i) - 0.2 * i, note, fontsize=9 if i else 14, color=INK)
    for i, (edge, fill, meaning) in enumerate(swatches):
        below = y - 0.2 * (len(notes) + i) - 0.2
        axes.add_patch(Rectangle((left, below - 0.02), 0.28, 0.14, facecolor=fill, edgecolor=edge, linewidth=2.5 if edge == HERE else 0.8))
        axes.text(left + 0.38, below, meaning, fontsize=9, color=INK)


def _notes(config) -> list[str]:
    """What the letters mean."""
    d_k, d_v = head_sizes(config.d_model, config.num_heads, config.d_k, config.d_v)
    both, heads = isinstance(config, TransformerConfig), f"d_k = d_v = {d_k}" if d_k == d_v else f"d_k = {d_k}, d_v = {d_v}"
    notes = [f"d_model = {config.d_model:,}", f"d_ff = {config.d_ff:,}", f"H = {config.num_heads} heads, {heads}",
             f"N = {config.num_layers} layers{' in each stack' if both else ''}"]
    if isinstance(config, ClassifierConfig):
        notes += [f"C = {config.num_classes:,} classes"]
    else:
        notes += [f"V = {config.target_vocab if both else config.vocab_size:,} tokens"]
    if config.dropout:
        notes += [f"dropout {config.dropout:g}"]
    if both:
        notes += [WEIGHTS[config.share_embeddings, config.share_output]]
    return ["The Transformer", *notes]
