"""Figure 1 of the paper as a table: the boxes of a configuration and the lines between them, in inches.

A column is a list of groups, from the bottom up. A group is a list of rows (kind, name, shape of what leaves it); where it ends
in an "add", or in one and its LayerNorm, it is a sub-layer in its residual connection.
"""

from typing import NamedTuple

from minitransformer.errors import InputError
from minitransformer.layers.config import StackConfig
from minitransformer.models import ClassifierConfig, TransformerConfig

WIDTH = 7.0
LEFT, MIDDLE, RIGHT = 1.31, 3.46, 5.83    # x of the middle of each column: encoder, decoder, the inside of attention
QUERY, KEY, VALUE, GRADIENT, PLAIN = "tab:blue", "tab:orange", "tab:green", "tab:purple", "#8c959f"
ACTIVATION = {"relu": "ReLU", "gelu": "GELU"}


class Box(NamedTuple):
    kind: str
    name: str
    shape: str
    x: float        # of its middle
    y: float
    width: float = 1.6
    height: float = 0.38

    @property
    def top(self) -> float:
        return self.y + self.height / 2

    @property
    def bottom(self) -> float:
        return self.y - self.height / 2


class Line(NamedTuple):
    points: list          # (x, y) of its corners; the last has an arrow's head
    colour: str = PLAIN
    style: str = "-"
    head: bool = True


def layout(config) -> tuple[list[Box], list[Line]]:
    """The boxes of a configuration, panels first, and its lines. Raises InputError for a model that is no Transformer."""
    if not isinstance(config, StackConfig):
        raise InputError(f"a {config.kind} model is no Transformer, and this is a map of the Transformer")
    both, classifier = isinstance(config, TransformerConfig), isinstance(config, ClassifierConfig)
    query, key = ("T_q", "T_k") if both else ("T", "T")
    table = "W" if not both or config.share_embeddings else "U"
    if classifier:
        head = [[("pooling", f"Pooling ({config.pooling})", "(B, d_model)")], [("output", "Linear", "(B, C)")],
                [("softmax", "Softmax", "(B, C)")]]
    else:
        head = [[("output", f"Linear, {table}ᵀ" if not both or config.share_output else "Linear", f"(B, {query}, V)")],
                [("softmax", "Softmax", f"(B, {query}, V)")]]
    layers = _layers(config, query, "Self-attention" if classifier else "Masked self-attention", both)
    inputs = _inputs(config, query, "Outputs, shifted right" if both else "Inputs", table)
    stack = "encoder" if classifier else "decoder"
    boxes, lines = _column(config, [*inputs, *layers, *head, [("probabilities", "Probabilities", "")]], MIDDLE, 1, stack)
    if both:
        groups = [*_inputs(config, key, "Inputs", "W"), *_layers(config, key, "Self-attention")]
        encoder, more = _column(config, groups, LEFT, -1, "encoder")
        boxes, lines = encoder + boxes, lines + more + _memory(encoder[-1].top, _find(boxes, "cross_attention"))
    if config.attention == "scaled":
        inside, more = _attention(query, key, config)
        boxes, lines = boxes + inside, lines + more + _zoom(_find(boxes, "self_attention", -1), inside[0])
    uses, more = _uses(_find(boxes, "output"), _find(boxes, "probabilities"), None if classifier else _find(boxes, "tokens", -1))
    return boxes + uses, lines + more


def _find(boxes, kind, which=0) -> Box:
    return [box for box in boxes if box.kind == kind][which]


def _inputs(config, length, tokens, table) -> list:
    dropout = [("dropout", "Dropout", "")] if config.input_dropout else []
    return [[("tokens", tokens, f"(B, {length})")], [("embedding", f"Embedding, {table}", f"(B, {length}, d_model)")],
            [("plus", "+", f"({length}, d_model)")], *([dropout] if dropout else [])]


def _layers(config, length, attention, cross=False) -> list:
    """The sub-layers of a layer, and the norm at the end of a pre-norm stack."""
    shape = f"(B, {length}, d_model)"
    norm, groups = [("layer_norm", "LayerNorm", shape)], []
    for kind, name in (("self_attention", attention), *([("cross_attention", "Cross-attention")] if cross else []),
                       ("feed_forward", f"Feed-forward ({ACTIVATION[config.activation]})")):
        inside = [(kind, name, shape), *([("dropout", "Dropout", "")] if config.dropout else []), ("add", "+", "")]
        groups.append(norm + inside if config.pre_norm else inside + norm)
    return [*groups, norm] if config.pre_norm else groups


def _column(config, groups, x, side, stack) -> tuple[list[Box], list[Line]]:
    """The boxes of a column from the bottom up, with a panel behind its layers; `side` of the residual lines: -1 is left."""
    boxes, lines, layers, positions = [], [], [], None
    for group in groups:
        residual = any(kind == "add" for kind, *_ in group)
        branch = boxes[-1].top + 0.08 if boxes else 0
        for i, (kind, name, shape) in enumerate(group):
            below = boxes[-1].top if boxes else 0
            attached = kind == "dropout" and boxes[-1].kind != "plus"
            gap = 0 if attached else 0.13 + 0.1 * (kind == "self_attention")
            if i == 0 and layers and not residual and branch < layers[-1] + 0.1:
                gap += 0.2    # for the panel's name
            elif i == 0 and residual:
                gap += 0.11
            round = kind in ("plus", "add")
            height = 0.2 if round or kind in ("dropout", "probabilities") else 0.38
            box = Box(kind, name, "" if round else shape, x, below + gap + height / 2, 0.2 if round else 1.6, height)
            if kind == "self_attention":
                split = box.bottom - 0.12
                lines.append(Line([(x, below), (x, split)], head=False))
                lines += [Line([(x, split), (x + across, split), (x + across, box.bottom)], colour)
                          for colour, across in ((QUERY, -0.5), (KEY, 0), (VALUE, 0.5))]
            elif gap and boxes:
                lines.append(Line([(x, below), (x, box.bottom)], QUERY if kind == "cross_attention" else PLAIN))
            if kind == "add":
                lines.append(Line([(x, branch), (x + side * 0.92, branch), (x + side * 0.92, box.y), (x + side * 0.1, box.y)]))
            if kind == "plus":
                name = "Positions ∿" if config.positions == "sinusoidal" else "Positions"
                positions = Box("positions", name, shape, x + side * 0.69, box.y, 0.98)
                lines.append(Line([(positions.x, box.y), (x + side * 0.1, box.y)]))
            boxes.append(box)
        if residual:
            layers += [branch, boxes[-1].top]
    panel = Box(stack, f"{stack.capitalize()}, N ×", "", x + side * 0.1, (layers[0] + layers[-1]) / 2, 2, layers[-1] - layers[0] + 0.16)
    return [panel, positions, *boxes], lines


def _memory(top, cross) -> list[Line]:
    """The encoder's output, which is key and value of the cross-attention."""
    between, up = (LEFT + MIDDLE) / 2, top + 0.4
    return [Line([(LEFT + d, top), (LEFT + d, up + d), (between + d, up + d), (between + d, cross.y + d),
                  (cross.x - cross.width / 2, cross.y + d)], colour) for colour, d in ((KEY, -0.06), (VALUE, 0.06))]


def _zoom(box, panel) -> list[Line]:
    return [Line([(box.x + box.width / 2, one), (panel.x - panel.width / 2, other)], style=":", head=False)
            for one, other in ((box.top, panel.top), (box.bottom, panel.bottom))]


def _attention(query, key, config) -> tuple[list[Box], list[Line]]:
    """The inside of multi-head attention."""
    scores, x = f"(B, H, {query}, {key})", RIGHT - 0.345
    boxes = [Box("scores", "Scores q kᵀ/√d_k", scores, x, 2.74, 1.33), Box("mask", "Mask", scores, x, 3.25, 1.33),
             Box("softmax", "Softmax", scores, x, 3.76, 1.33),
             *([Box("dropout", "Dropout", "", x, 4.05, 1.33, 0.2)] if config.attention_dropout else []),
             Box("weighted_sum", "Weighted sum of v", f"(B, H, {query}, d_v)", RIGHT - 0.14, 4.42, 1.74),
             Box("merge", "Merge heads", f"(B, {query}, H d_v)", RIGHT, 5.08, 2.02),
             Box("linear", "Linear", f"(B, {query}, d_model)", RIGHT, 5.59, 2.02)]
    lines = [Line([(one.x, one.top), (one.x, other.bottom)]) for one, other in zip(boxes, boxes[1:]) if other.kind != "dropout"]
    for x, name, length, width, colour, end in ((RIGHT - 0.69, "query", query, "d_k", QUERY, boxes[0]), (RIGHT, "key", key, "d_k", KEY, boxes[0]),
                                                (RIGHT + 0.69, "value", key, "d_v", VALUE, _find(boxes, "weighted_sum"))):
        new = [Box("role", name, "", x, 0.72, 0.64, 0.2), Box("linear", "Linear", f"(B, {length},\nH {width})", x, 1.24, 0.64, 0.56),
               Box("split", "Split", f"(B, H,\n{length}, {width})", x, 1.95, 0.64, 0.56)]
        lines += [Line([(x, one.top), (x, other.bottom)], colour) for one, other in zip(new, [*new[1:], end])]
        boxes += new
    panels = [Box("multi_head", "Multi-head attention", "", RIGHT, 3.2, 2.26, 5.3),
              *(Box("attention", name, "", RIGHT + d, 3.58 + d, 2.06, 2.26) for d, name in ((0.06, ""), (0.03, ""),
                (0, "Scaled dot-product attention, H ×")))]
    return panels + boxes, lines


def _uses(output, last, tokens) -> tuple[list[Box], list[Line]]:
    """What is done with logits and probabilities: training and, but for a classifier, writing."""
    loss, adam = Box("loss", "Loss", "()", RIGHT, output.top + 0.09), Box("adam", "Adam", "every weight", RIGHT, output.top - 0.52)
    lines = [Line([(MIDDLE, loss.y), (RIGHT - 0.8, loss.y)]), Line([(RIGHT, loss.bottom), (RIGHT, adam.top)], GRADIENT)]
    if tokens is None:
        return [loss, adam], lines
    decoding, edge = Box("decoding", "Decoding", "next token: (B,)", RIGHT, last.y), WIDTH - 0.03
    return [loss, adam, decoding], [*lines, Line([(MIDDLE + 0.55, last.y), (RIGHT - 0.8, last.y)]), Line(
        [(RIGHT + 0.8, last.y), (edge, last.y), (edge, tokens.y), (MIDDLE + 0.85, tokens.y)], style="--")]
