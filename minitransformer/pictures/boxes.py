"""Figure 1 of the paper as a table: the boxes of a configuration and the lines between them, in
inches.
"""

from itertools import pairwise
from typing import NamedTuple

from minitransformer.errors import InputError
from minitransformer.layers.config import ModelConfig, StackConfig
from minitransformer.layers.layer_norm import NORMS
from minitransformer.layers.positions import POSITIONS
from minitransformer.models import ClassifierConfig, TransformerConfig

WIDTH = 7.0
# x of the middle of each column: the encoder, the decoder, the inside of attention
LEFT, MIDDLE, RIGHT = 1.31, 3.46, 5.8
PLAIN, QUERY, KEY, VALUE, GRADIENT = "#8c959f", "tab:blue", "tab:orange", "tab:green", "tab:purple"


Group = list[tuple[str, str, str]]  # rows (kind, name, shape), the lowest first


class Box(NamedTuple):
    kind: str
    name: str
    shape: str  # the shape of what leaves it
    x: float  # its middle
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
    points: list[tuple[float, float]]  # of its corners
    colour: str = PLAIN
    style: str = "-"
    end: str = "-|>"  # an arrow's head, or "-"


class Map:
    """The boxes and lines of a configuration. Raises InputError for a model that is not a
    Transformer.

    A column grows from the bottom up, in groups of rows (kind, name, shape). A group with an "add"
    is a sub-layer in its residual.
    """

    def __init__(self, config: ModelConfig):
        if not isinstance(config, StackConfig):
            raise InputError(
                f"a {config.kind} model is not a Transformer, and this is the map of one"
            )
        self.boxes: list[Box] = []
        self.lines: list[Line] = []
        self.config = config
        if isinstance(config, TransformerConfig):
            self._column(
                "encoder",
                LEFT,
                -1,
                self._inputs("Inputs", "T_k", "W"),
                *self._layers("T_k", "Self-attention"),
            )
            memory, table = self.boxes[-1], "W" if config.share_embeddings else "U"
            self._column(
                "decoder",
                MIDDLE,
                1,
                self._inputs("Outputs, shifted right", "T_q", table),
                *self._layers("T_q", "Masked self-attention", "Cross-attention"),
                _logits(f"Linear, {table}ᵀ" if config.share_output else "Linear", "(B, T_q, V)"),
            )
            self._memory(memory, self.find("cross_attention"))
        elif isinstance(config, ClassifierConfig):
            self._column(
                "encoder",
                MIDDLE,
                1,
                self._inputs("Inputs", "T", "W"),
                *self._layers("T", "Self-attention"),
                [
                    ("pooling", f"Pooling ({config.pooling})", "(B, d_model)"),
                    *_logits("Linear", "(B, C)"),
                ],
            )
        else:
            self._column(
                "decoder",
                MIDDLE,
                1,
                self._inputs("Inputs", "T", "W"),
                *self._layers("T", "Masked self-attention"),
                _logits(
                    "Linear, Wᵀ" if getattr(config, "share_output", True) else "Linear", "(B, T, V)"
                ),
            )
        both = isinstance(config, TransformerConfig)
        if config.attention == "scaled":
            around, *lengths = (
                ("cross_attention", "T_q", "T_k") if both else ("self_attention", "T", "T")
            )
            self._inside(self.find(around), *lengths)
        self._uses(
            RIGHT if both else LEFT,
            self.find("output"),
            self.find("probabilities"),
            self.find("tokens"),
        )
        self.height = max(box.top for box in self.boxes) + 0.12
        self.title = self.height - 0.3 if both else self.find("adam").bottom - 0.6

    def find(self, kind: str) -> Box:
        """The last box of a kind."""
        return [box for box in self.boxes if box.kind == kind][-1]

    def _inputs(self, tokens: str, length: str, table: str) -> list:
        dropout = [("dropout", "Dropout", "")] if self.config.input_dropout else []
        added = [
            (
                "plus",
                "Positions ∿" if self.config.positions == "sinusoidal" else "Positions",
                f"({length}, d_model)",
            )
        ]
        inside = POSITIONS[
            self.config.positions
        ].attention  # then attention knows them, and nothing is added
        return [
            ("tokens", tokens, f"(B, {length})"),
            ("embedding", f"Embedding, {table}", f"(B, {length}, d_model)"),
            *([] if inside else added),
            *dropout,
        ]

    def _layers(self, length: str, *attentions: str) -> list:
        """The sub-layers, and the norm with which a pre-norm stack ends."""
        shape, pre_norm = f"(B, {length}, d_model)", self.config.pre_norm
        activation = self.config.activation.upper().replace("RELU", "ReLU").replace("SWI", "Swi")
        norm = [("layer_norm", NORMS[self.config.norm].__name__, shape)]
        dropout = [("dropout", "Dropout", "")] if self.config.dropout else []
        names = [
            *zip(("self_attention", "cross_attention"), attentions),
            ("feed_forward", f"Feed-forward ({activation})"),
        ]
        groups = [[(kind, name, shape), *dropout, ("add", "", "")] for kind, name in names]
        return [
            *(norm + group if pre_norm else group + norm for group in groups),
            *([norm] if pre_norm else []),
        ]

    def _column(self, stack: str, x: float, side: int, *groups: Group) -> None:
        """A stack of layers on its panel, and what is below and above; `side` of its residual
        lines: -1 is left.
        """
        y, ends = 0.1 - 0.26, []
        for group in groups:
            residual, branch = ("add", "", "") in group, y + 0.08
            for i, (kind, name, shape) in enumerate(group):
                circle = kind in ("plus", "add")
                width, height = (
                    (0.2, 0.2)
                    if circle
                    else (1.6, 0.2 if kind in ("dropout", "probabilities") else 0.38)
                )
                gap = _gap(kind, group[i - 1][0] if i else None)
                box = Box(
                    kind,
                    "+" if circle else name,
                    "" if circle else shape,
                    x,
                    y + gap + height / 2,
                    width,
                    height,
                )
                if kind == "self_attention":
                    self._line([(x, self.boxes[-1].top), (x, box.bottom - 0.11)], end="-")
                    for colour, across in ((QUERY, -0.5), (KEY, 0), (VALUE, 0.5)):
                        self._line(
                            [
                                (x, box.bottom - 0.11),
                                (x + across, box.bottom - 0.11),
                                (x + across, box.bottom),
                            ],
                            colour,
                        )
                elif gap and y > 0:
                    self._line(
                        [(x, self.boxes[-1].top), (x, box.bottom)],
                        QUERY if kind == "cross_attention" else PLAIN,
                    )
                if kind == "add":
                    self._line(
                        [
                            (x, branch),
                            (x + side * 0.92, branch),
                            (x + side * 0.92, box.y),
                            (x + side * 0.1, box.y),
                        ]
                    )
                if kind == "plus":
                    self.boxes.append(Box("positions", name, shape, x + side * 0.69, box.y, 1.02))
                    self._line([(x + side * 0.69, box.y), (x + side * 0.1, box.y)])
                self.boxes.append(box)
                y = box.top + 0.09 * (kind == "plus")  # the positions beside it are as high
            ends += [branch, y] if residual else []
        panel = (ends[0] + ends[-1]) / 2, 2, ends[-1] - ends[0] + 0.14
        self.boxes.insert(0, Box(stack, f"{stack.capitalize()}, N ×", "", x + side * 0.1, *panel))  # noqa: RUF001 - it is a times sign

    def _memory(self, memory: Box, cross: Box) -> None:
        """The encoder's output provides the keys and values of cross-attention."""
        between, up = (LEFT + MIDDLE) / 2, memory.top + 0.4
        self.boxes.append(Box("label", "memory", "", LEFT + 0.65, up + 0.17))
        for colour, d in ((KEY, -0.06), (VALUE, 0.06)):
            self._line(
                [
                    (LEFT + d, memory.top),
                    (LEFT + d, up + d),
                    (between + d, up + d),
                    (between + d, cross.y + d),
                    (MIDDLE - 0.8, cross.y + d),
                ],
                colour,
            )

    def _inside(self, around: Box, query: str, key: str) -> None:
        """The inside of multi-head attention."""
        scores, d, x = f"(B, H, {query}, {key})", 0.66, RIGHT - 0.33
        panel = Box("multi_head", "Multi-head attention", "", RIGHT, 3.2, 2.2, 5.3)
        heads = [
            Box("attention", "", "", RIGHT + shift, 3.58 + shift, 2.06, 2.26)
            for shift in (0.06, 0.03, 0)
        ]
        self.boxes[:0] = [panel, *heads[:2], heads[2]._replace(name="Scaled dot-product, H heads")]
        for corner, other in ((around.top, panel.top), (around.bottom, panel.bottom)):
            self._line([(MIDDLE + 0.8, corner), (RIGHT - 1.1, other)], style=":", end="-")
        dropout = (
            [Box("dropout", "Dropout", "", x, 4.05, 1.28, 0.2)]
            if self.config.attention_dropout
            else []
        )
        first = Box("scores", "Scores q kᵀ/√d_k", scores, x, 2.74, 1.28)
        total = Box(
            "weighted_sum", "Weighted sum of v", f"(B, H, {query}, d_v)", RIGHT - 0.12, 4.42, 1.7
        )
        rows = [
            first,
            Box("mask", "Mask", scores, x, 3.25, 1.28),
            Box("softmax", "Softmax", scores, x, 3.76, 1.28),
            *dropout,
            total,
            Box("merge", "Merge heads", f"(B, {query}, H d_v)", RIGHT, 5.08, 1.94),
            Box("linear", "Linear", f"(B, {query}, d_model)", RIGHT, 5.59, 1.94),
        ]
        for below, above in pairwise(rows):
            self._line([(below.x, below.top), (below.x, above.bottom)])
        for x, name, length, width, colour, user in (
            (RIGHT - d, "query", query, "d_k", QUERY, first),
            (RIGHT, "key", key, "d_k", KEY, first),
            (RIGHT + d, "value", key, "d_v", VALUE, total),
        ):
            own = [
                Box("label", name, "", x, 0.72, 0.62, 0.2),
                Box("linear", "Linear", f"(B, {length},\nH {width})", x, 1.24, 0.62, 0.56),
                Box("split", "Split", f"(B, H,\n{length}, {width})", x, 1.96, 0.62, 0.56),
            ]
            for below, above in pairwise([*own, user]):
                self._line([(x, below.top), (x, above.bottom)], colour)
            self.boxes += own
        self.boxes += rows

    def _uses(self, x: float, output: Box, last: Box, tokens: Box) -> None:
        """What is done with logits and probabilities, at x: training and, except for a classifier,
        writing.
        """
        side = 1 if x > MIDDLE else -1
        near, far, edge = x - side * 0.8, x + side * 0.8, x + side * 1.17
        loss = Box("loss", "Loss", "one number: ()", x, output.top + 0.1)
        adam = Box("adam", "Adam", "every weight", x, loss.y - 0.65)
        self.boxes += [
            loss,
            adam,
            Box("label", "logits", "", (MIDDLE + x) / 2, loss.y + 0.1),
            Box("label", "gradients", "", x + 0.42, loss.y - 0.33),
        ]
        self._line([(MIDDLE, loss.y), (near, loss.y)])
        self._line([(x, loss.bottom), (x, adam.top)], GRADIENT)
        if not isinstance(self.config, ClassifierConfig):
            self.boxes.append(Box("decoding", "Decoding", "next token: (B,)", x, last.y))
            self._line([(MIDDLE + side * 0.5, last.y), (near, last.y)])
            self._line(
                [(far, last.y), (edge, last.y), (edge, tokens.y), (MIDDLE + side * 0.82, tokens.y)],
                style="--",
            )

    def _line(self, points: list[tuple[float, float]], *how: str, **more: str) -> None:
        self.lines.append(Line(points, *how, **more))


def _gap(kind: str, below: str | None) -> float:
    """The space between a row and the one below it in its group, None if it is the first."""
    if kind == "dropout":
        return 0.05 if below == "plus" else 0.0  # it sits on its sub-layer
    gap = 0.13 if below else 0.26
    if kind == "self_attention":
        gap += 0.1  # for its three arrows
    if kind == "add" and below != "dropout":
        # a layer without dropout is as high, so that what is beside it has the same room
        gap += 0.2
    return gap


def _logits(name: str, shape: str) -> list:
    return [
        ("output", name, shape),
        ("softmax", "Softmax", shape),
        ("probabilities", "Probabilities", ""),
    ]
