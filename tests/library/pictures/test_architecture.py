"""The map, figure 1: it says what the model of its configuration computes, and can be read."""

import math
import re
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from minitransformer.functional import sinusoids
from minitransformer.layers.attention import SelfAttention
from minitransformer.models import (
    Classifier,
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
)
from minitransformer.pictures.architecture import HERE, OWN, PARTS, architecture
from minitransformer.pictures.boxes import LEFT, Map
from tests import campaign_but

SIZES = {
    "B": 2,
    "T_q": 3,
    "T_k": 5,
    "T": 4,
    "H": 7,
    "d_k": 8,
    "d_v": 9,
    "d_model": 10,
    "N": 1,
    "d_ff": 11,
    "V": 13,
    "C": 6,
}
SMALL = dict(num_layers=1, d_model=10, num_heads=7, d_k=8, d_v=9, d_ff=11)
SHARED = dict(source_vocab=13, target_vocab=13, **SMALL)
CONFIGS = {
    "base": TransformerConfig.named("base", 37_000),
    "shared": TransformerConfig(**SHARED),
    "pre-norm": TransformerConfig(**SHARED, pre_norm=True),
    "apart": TransformerConfig(
        **SMALL, source_vocab=12, target_vocab=13, share_embeddings=False, positions="learned"
    ),
    "output apart": TransformerConfig(**SHARED, share_output=False, activation="gelu"),
    "no dropout": TransformerConfig(**SHARED, dropout=0.0),
    "pre-norm, no dropout": TransformerConfig(**SHARED, dropout=0.0, pre_norm=True),
    "dropout": TransformerConfig(**SHARED, attention_dropout=0.1, feed_forward_dropout=0.1),
    "additive": TransformerConfig(**SHARED, attention="additive"),
    "large": TransformerConfig.named(
        "big", 1_000_000, d_model=65_536, num_heads=4096, d_ff=262_144, d_k=1024, d_v=2048
    ),
    "language model": LanguageModelConfig(vocab_size=13, **SMALL, dropout=0.0),
    "pre-norm language model": LanguageModelConfig(vocab_size=13, **SMALL, pre_norm=True),
    "language model of later blocks": LanguageModelConfig(
        vocab_size=13,
        **{**SMALL, "d_v": None},
        pre_norm=True,
        norm="rms",
        positions="rotary",
        attention="grouped",
        activation="swiglu",
        share_output=False,
    ),
    "classifier": ClassifierConfig(vocab_size=13, num_classes=6, **SMALL, dropout=0.0),
    "pre-norm classifier": ClassifierConfig(
        vocab_size=13, num_classes=6, **SMALL, pre_norm=True, pooling="first"
    ),
}


@cache
def drawn(name):
    return architecture(CONFIGS[name], here=("layer_norm",), own=("feed_forward",))


def texts(figure):
    return [text for text in figure.axes[0].texts if text.get_text()]


def shapes(figure):
    """{name of a box: the shapes that boxes of this name say}; the shape of a box is written after
    its name.
    """
    found = {}
    for name, shape in pairwise(texts(figure)):
        if shape.get_text().startswith("("):
            found.setdefault(name.get_text(), set()).add(shape.get_text().replace("\n", " "))
    return found


def in_numbers_of(figure):
    """The same with numbers: (2, 3, 56) for (B, T_q, H d_k)."""
    return {
        name: {
            tuple(
                math.prod(SIZES[letter] for letter in part.split())
                for part in shape[1:-1].split(", ")
            )
            for shape in found
        }
        for name, found in shapes(figure).items()
    }


@pytest.mark.parametrize(
    "name",
    campaign_but(CONFIGS, "base", "apart", "large", "language model of later blocks", "classifier"),
)
def test_every_configuration_is_drawn_and_can_be_read(name):
    """At least 9 points high; no text meets another or crosses the edge of a box, and all of it is
    in the picture.
    """
    figure = drawn(name)
    renderer = FigureCanvasAgg(figure).get_renderer()
    found = [(text.get_text(), text.get_window_extent(renderer)) for text in texts(figure)]
    assert min(text.get_fontsize() for text in texts(figure)) >= 9 and len(found) > 25
    for (one, extent), (other, further) in combinations(found, 2):
        assert not extent.overlaps(further), (one, other)
    edges = [patch.get_window_extent(renderer) for patch in figure.axes[0].patches]
    for text, extent in found:
        assert figure.bbox.containsx(extent.x0) and figure.bbox.containsx(extent.x1), text
        assert figure.bbox.containsy(extent.y0) and figure.bbox.containsy(extent.y1), text
        for edge in edges:
            inside = (
                edge.x0 < extent.x0 < extent.x1 < edge.x1
                and edge.y0 < extent.y0 < extent.y1 < edge.y1
            )
            assert inside or not edge.overlaps(extent), text


def inside(attention, x, memory):
    """{name: shapes} of the steps of multi-head attention."""
    q, k, v = (
        attention.query.forward(x)[0],
        attention.key.forward(memory)[0],
        attention.value.forward(memory)[0],
    )
    split = [attention.split(one) for one in (q, k, v)]
    heads, cache = attention.attend(*split, None, None)
    merged = attention.merge(heads)
    scores = {cache.softmax.p.shape}
    return {
        "Linear": {q.shape, k.shape, v.shape, attention.output.forward(merged)[0].shape},
        "Split": {one.shape for one in split},
        "Scores q kᵀ/√d_k": scores,
        "Mask": scores,
        "Softmax": scores,
        "Weighted sum of v": {heads.shape},
        "Merge heads": {merged.shape},
    }


def around(layer, input, ids, *memory):
    """{name: shapes} of the rows of a column."""
    x = input.forward(ids)[0]
    attended = layer.self_attention.forward(x)[0]
    found = {
        "Embedding, W": {input.embedding.forward(ids)[0].shape},
        "Positions ∿": {sinusoids(*x.shape[1:]).shape},
        "Self-attention": {attended.shape},
        "LayerNorm": {layer.self_attention_residual.norm.forward(attended)[0].shape},
        "Feed-forward (ReLU)": {layer.feed_forward.forward(x)[0].shape},
    }
    if memory:
        found["Cross-attention"] = {layer.cross_attention.forward(x, *memory)[0].shape}
    return {**found, "Masked self-attention": found["Self-attention"]}, x


def merged(*tables):
    return {
        name: set().union(*(table.get(name, ()) for table in tables))
        for table in tables
        for name in table
    }


def ids(length):
    return np.arange(3, 3 + 2 * length).reshape(2, length) % 10 + 3


def test_the_shapes_are_those_of_the_transformer():
    source, target = ids(5), ids(3)
    model = Transformer(CONFIGS["shared"])
    encoder, _ = around(model.encoder.layers[0], model.source_input, source)
    decoder, x = around(
        model.decoder.layers[0], model.target_input, target, memory := model.encode(source)[0]
    )
    logits = {model.forward(source, target)[0].shape}
    expected = merged(
        encoder,
        decoder,
        inside(model.decoder.layers[0].cross_attention, x, memory),
        {
            "Inputs": {source.shape},
            "Outputs, shifted right": {target.shape},
            "Linear, Wᵀ": logits,
            "Softmax": logits,
        },
    )
    expected["Self-attention"], expected["Masked self-attention"] = (
        encoder["Self-attention"],
        decoder["Self-attention"],
    )
    assert in_numbers_of(drawn("shared")) == expected


def test_the_shapes_are_those_of_the_language_model():
    tokens, model = ids(4), LanguageModel(CONFIGS["language model"])
    column, x = around(model.stack.layers[0], model.input, tokens)
    logits = {model.forward(tokens)[0].shape}
    expected = merged(
        column,
        inside(model.stack.layers[0].self_attention, x, x),
        {"Inputs": {tokens.shape}, "Linear, Wᵀ": logits, "Softmax": logits},
    )
    del expected["Self-attention"]
    assert in_numbers_of(drawn("language model")) == expected


def test_the_shapes_are_those_of_the_classifier():
    tokens, model = ids(4), Classifier(CONFIGS["classifier"])
    column, x = around(model.encoder.layers[0], model.input, tokens)
    logits = {model.forward(tokens)[0].shape}
    pooled = {model.pooling.forward(x, tokens > 0)[0].shape}
    expected = merged(
        column,
        inside(model.encoder.layers[0].self_attention, x, x),
        {"Inputs": {tokens.shape}, "Pooling (mean)": pooled, "Linear": logits, "Softmax": logits},
    )
    del expected["Masked self-attention"]
    assert in_numbers_of(drawn("classifier")) == expected


def rows(config, x):
    """The kinds of the boxes of a column, from the bottom up."""
    return [box.kind for box in sorted(Map(config).boxes, key=lambda box: box.y) if box.x == x]


@pytest.mark.parametrize(
    "name, kind", [("base", "cross_attention"), ("language model", "self_attention")]
)
def test_the_panel_opens_from_the_attention_whose_shapes_it_shows(name, kind):
    found = Map(CONFIGS[name])
    box = found.find(kind)
    assert {line.points[0] for line in found.lines if line.style == ":"} == {
        (box.x + box.width / 2, box.top),
        (box.x + box.width / 2, box.bottom),
    }


def test_pre_norm_normalises_before_each_sub_layer_and_at_the_end():
    post, pre = (rows(CONFIGS[name], LEFT) for name in ("shared", "pre-norm"))
    sublayers = ["self_attention", "dropout", "add"], ["feed_forward", "dropout", "add"]
    inputs = ["tokens", "embedding", "plus", "dropout"]
    assert post == [*inputs, *sublayers[0], "layer_norm", *sublayers[1], "layer_norm"]
    assert pre == [*inputs, "layer_norm", *sublayers[0], "layer_norm", *sublayers[1], "layer_norm"]
    assert "dropout" not in rows(CONFIGS["no dropout"], LEFT)


@pytest.mark.parametrize(
    "name, words",
    [
        ("shared", ["Embedding, W", "Embedding, W", "Linear, Wᵀ"]),
        ("output apart", ["Embedding, W", "Embedding, W", "Linear"]),
        ("apart", ["Embedding, W", "Embedding, U", "Linear, Uᵀ"]),
    ],
)
def test_a_letter_stands_for_one_matrix(name, words):
    model = Transformer(CONFIGS[name])
    named = zip(
        words, (model.source_embedding.weight, model.target_embedding.weight, model.output.weight)
    )
    shared = {}
    for word, weight in named:
        shared.setdefault(word[11:12] or word[8:9] or word, set()).add(id(weight))
    assert sorted(words) == sorted(
        box.name for box in Map(CONFIGS[name]).boxes if box.kind in ("embedding", "output")
    )
    assert all(len(weights) == 1 for weights in shared.values()) and len(
        set().union(*shared.values())
    ) == len(shared)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_letters_have_the_numbers_of_the_configuration(name):
    config = CONFIGS[name]
    given = dict(
        re.findall(r"(\w+) = ([\d,]+)", " ".join(text.get_text() for text in texts(drawn(name))))
    )
    attention = (
        SelfAttention(
            config.d_model, config.num_heads, np.random.default_rng(0), config.d_k, config.d_v
        )
        if (config.d_model < 1000)
        else None
    )
    vocabulary = config.target_vocab if isinstance(config, TransformerConfig) else config.vocab_size
    expected = {
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "H": config.num_heads,
        "N": config.num_layers,
        "V": vocabulary,
    }
    if attention:
        expected |= {
            f"d_{letter}": getattr(attention, word).weight.shape[1] // config.num_heads
            for letter, word in (("k", "key"), ("v", "value"))
        }
    if isinstance(config, ClassifierConfig):
        expected["C"] = config.num_classes
    found = {letter: int(number.replace(",", "")) for letter, number in given.items()}
    assert {letter: found[letter] for letter in expected} == expected


def colours(figure):
    """For each box and swatch: whether it is outlined, and whether it is filled as one's own."""
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    return [to_hex(patch.get_edgecolor()) == HERE for patch in patches], [
        to_hex(patch.get_facecolor()) == OWN for patch in patches
    ]


@pytest.mark.parametrize("part", campaign_but(PARTS, "loss", "embedding", "masks"))
def test_every_part_can_be_marked(part):
    """As many boxes as the table says, and one of the legend, are outlined and filled."""
    figure = architecture(here=[part], own=[part])
    count = sum(box.kind in PARTS[part][1] for box in Map(CONFIGS["base"]).boxes)
    outlined, filled = colours(figure)
    assert sum(outlined) == sum(filled) == count + 1 > 1
    assert [one and other for one, other in zip(outlined, filled)].count(True) == count
    assert {text.get_text() for text in texts(figure)} >= {"you are here", "yours already"}


def test_every_box_belongs_to_one_part():
    kinds = [kind for _, kinds in PARTS.values() for kind in kinds]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {box.kind for box in Map(CONFIGS["base"]).boxes} - {
        "tokens",
        "plus",
        "probabilities",
        "label",
    }


def test_without_marks_the_map_has_colours_of_its_own():
    plain, marked = (
        {to_hex(patch.get_facecolor()) for patch in architecture(here=here).axes[0].patches}
        for here in ((), ["loss"])
    )
    assert len(plain) > 6 and len(marked) == 2 and OWN not in plain


def test_what_a_model_lacks_may_be_ones_own():
    assert architecture(CONFIGS["classifier"], own=["decoding", "linear"])
