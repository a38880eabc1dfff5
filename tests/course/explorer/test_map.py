"""The map: each box stands for its layer, all of it is in view, and it can be read without a mouse,
sight or colours.
"""

import re

import numpy as np
import pytest

from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.models import Transformer, TransformerConfig
from minitransformer_course.explorer import page as explorer
from tests.course.explorer.pages import (
    DECODER,
    ENCODER,
    MAP,
    language_model,
    of_word,
    overlaps,
    page_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.campaign]  # a browser, where there is one


def test_what_is_masked_is_said_to_be(opened):
    """A triangle of the decoder's self-attention, whose gradients are 0; nothing in
    cross-attention, unless there is padding.
    """
    browser = opened(of_word("abc"))
    browser.run("""var masked = () => {
        openBox(places.findIndex(one => one && one.kind === "mask"));
        const [{ value, grad }] = arraysOf(resolved(places[state.open]), state.numbers), at = [...value.data.keys()];
        return at.filter(i => value.data[i] === -Infinity && grad.data[i] === 0);
    }""")
    assert browser.run("masked()") == [] and "nothing is hidden" in browser.run("panel()")
    browser.run(
        "find('inside').value = 'decoder.layers.*.self_attention'; find('inside').onchange()"
    )
    assert browser.run("masked()") == [
        16 * head + 4 * t + k for head in range(4) for t in range(4) for k in range(t + 1, 4)
    ]
    assert "nothing is hidden" not in browser.run("panel()")
    browser.run("press(find('open').querySelector('.pair canvas'), 'ArrowRight', 'ArrowRight')")
    assert browser.run("find('open').querySelector('.readout').textContent").endswith(
        "key c: masked; gradient of scores 0"
    )


def test_each_box_stands_for_its_layer(opened):
    """From the bottom up, in each column of the map; of the attention that is chosen, the inside."""
    browser = opened(of_word())
    found = browser.run("places.filter(one => one).map(one => [one.kind, resolved(one).path])")
    layers = {path for _kind, path in found if path}
    assert layers >= {
        leaf
        for leaf in (*DECODER, *ENCODER)
        if not re.search("outer|inner|activation|self_attention[.]", leaf)
    }
    assert [path.rpartition(".")[2] for kind, path in found if kind == "split"] == [
        "query",
        "key",
        "value",
    ]
    browser.run(
        "find('inside').value = 'encoder.layers.*.self_attention'; find('inside').onchange()"
    )
    inside = browser.run("places.filter(one => one).map(one => resolved(one).path)")
    assert {leaf for leaf in ENCODER if ".self_attention." in leaf} <= {*inside}


def test_a_reader_without_a_mouse_or_without_sight(opened):
    """Every box is a button with a name, Enter opens it, arrow keys walk through its numbers, and
    each is read out.
    """
    browser = opened(of_word())
    labels = browser.run(
        "boxes().map(box => [box.getAttribute('role'), box.tabIndex, box.getAttribute('aria-label')])"
    )
    assert len(labels) == 40
    assert all(
        role == "button" and index == 0 and re.search(r"[A-Za-z]{3}", label)
        for role, index, label in labels
    )
    browser.run(
        "press(boxes().find(box => box.getAttribute('aria-label').startsWith('Feed-forward')), 'Enter')"
    )
    assert browser.run("find('open').querySelector('h2').textContent").startswith("Feed-forward")
    browser.run(
        "press(find('open').querySelector('.pair canvas'), 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', "
        "'ArrowDown', 'ArrowLeft', 'ArrowUp')"
    )
    read = browser.run("find('open').querySelector('.readout').textContent")
    assert re.fullmatch(r"y, token a, dimension 1: -?[\d.e-]+; gradient of y -?[\d.e-]+", read)
    assert browser.run(
        "[...document.querySelectorAll('input, select')].every(one => one.closest('label') || one.ariaLabel)"
    )


@pytest.mark.parametrize(
    "width, scheme", [(1366, "light"), (390, "dark"), (1366, "dark"), (390, "light")]
)
def test_the_page_fits_the_screen(opened, width, scheme):
    browser = opened(of_word(), screen=(width, 844, scheme))
    for kind in "cross_attention feed_forward softmax adam loss".split():
        browser.run(f"openBox(places.findLastIndex(one => one && one.kind === '{kind}')); 0")
        assert browser.run("document.documentElement.scrollWidth") <= width
        top, bottom, room = browser.run("""(({top, bottom}) => [top, bottom,
            innerWidth < 600 ? find('side').getBoundingClientRect().top : innerHeight])(
            document.querySelector('.box.open').getBoundingClientRect())""")
        assert top >= 0 and bottom <= room  # the open box stays in view
    light = "(colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 765)"
    ground, ink = (
        browser.run(f"{light}(getComputedStyle(document.body).{what})")
        for what in ("backgroundColor", "color")
    )
    assert (ground > 0.9 and ink < 0.2) if scheme == "light" else (ground < 0.2 and ink > 0.8)
    assert browser.run(f"palette('values', 1)(0)[0] {'>' if scheme == 'light' else '<'} 128")


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("kind", ["post-norm", "pre-norm", "language model"])
def test_the_whole_map_is_in_view_and_nothing_covers_anything(opened, kind, width, height):
    """No box, no name: names have at least 11 pixels, stay in their boxes, and no picture is under
    them.
    """
    sizes = dict(source_vocab=6, target_vocab=6, num_layers=2, d_model=8, num_heads=2, d_ff=8)
    model, vocabulary = (
        Transformer(TransformerConfig(**sizes, pre_norm=True, attention_dropout=0.1)),
        SymbolVocabulary("abc"),
    )
    page = (
        of_word()
        if kind == "post-norm"
        else language_model("abc", "abcab")[0]
        if kind == "language model"
        else page_of(model, vocabulary, "abc", "cb", smoothing=0.1)
    )
    for scheme in ("light", "dark"):
        browser = opened(page, screen=(width, height, scheme))
        for shown in ("values", "gradients"):
            browser.run(f"find('{shown}').click()")
            found = browser.run(MAP)
            assert found["view"] == [width, height]
            for left, top, right, bottom in [
                *found["boxes"],
                *found["panels"],
                *found["zoom"],
                found["breaks"],
            ]:
                assert left >= 0 and top >= 0 and right <= width and bottom <= height
            for i, one in enumerate(found["boxes"]):
                assert not [
                    other
                    for other in [*found["boxes"][:i], found["breaks"], *found["zoom"]]
                    if overlaps(one, other)
                ], one
            for (text, *place, size), owner in zip(found["texts"], found["owners"]):
                assert size >= 11 and not [
                    picture for picture in found["pictures"] if overlaps(place, picture)
                ], text
                if owner >= 0:  # a name in a box; others, such as "memory", stand in the open
                    left, top, right, bottom = found["boxes"][owner]
                    assert (
                        left <= place[0]
                        and place[2] <= right
                        and top - 2 <= place[1]
                        and place[3] <= bottom + 2
                    ), text
                else:
                    assert not [
                        one for one in [*found["boxes"], found["breaks"]] if overlaps(place, one)
                    ], text
                    assert place[0] >= 0 and place[2] <= width, text


ARROWS = """[...figure.querySelectorAll(".line")].map(line => {
    const {markerStart, markerEnd, opacity} = getComputedStyle(line);
    const points = line.getAttribute("points").split(" ").map(point => point.split(",").map(Number));
    const near = ([x, y]) => [...figure.querySelectorAll(".box:not(.panel)")].filter(one => one.querySelector("rect")).find(one => {
        const {x: left, y: top, width, height} = one.querySelector("rect").getBBox();
        return x > left - 4 && x < left + width + 4 && y > top - 4 && y < top + height + 4;
    });
    const name = point => near(point) ? near(point).querySelector("text").textContent.split(" ")[0] : "";
    return [name(points[0]), name(points.at(-1)), markerStart !== "none", markerEnd !== "none", Number(opacity)];
})"""


def test_arrows_say_where_values_and_gradients_go(opened):
    """A gradient goes against the arrows of the values, but from the loss to Adam; decoding, token
    ids and sinusoids have none.
    """
    browser = opened(of_word())
    for start, end, back, on, _ in browser.run(ARROWS):
        assert not back and (on or end in ("", "Masked", "Self-attention") or not start)
    browser.run("find('gradients').click()")
    seen = set()
    for start, end, back, on, opacity in browser.run(ARROWS):
        without = start in ("Decoding", "Positions") or end in (
            "Decoding",
            "Embedding,",
            "Outputs,",
        )
        if (start, end) == ("Loss", "Adam"):
            assert on and not back and opacity == 1
        elif without or (start, end) in (("Linear,", "Softmax"), ("Softmax", "")):
            assert not on and not back and opacity < 0.5, (start, end)
        elif start and end:
            assert back and not on and opacity == 1, (start, end)
        seen.add((start, end))
    assert {
        ("Linear,", "Loss"),
        ("Loss", "Adam"),
        ("Linear,", "Softmax"),
        ("Decoding", "Outputs,"),
        ("Inputs", "Embedding,"),
        ("Positions", "+"),
        ("Embedding,", "+"),
        ("Scores", "Mask"),
        ("Mask", "Softmax"),
    } <= seen


def test_an_address_opens_a_box_with_the_whole_map_in_view(opened):
    browser = opened(of_word())
    browser.run("localStorage.clear()")  # a first visit, but not for the tour
    address = browser.run("location.href")
    browser.open("about:blank")
    browser.open(address + "#box-feed_forward")
    assert browser.run(
        "new Promise(done => setTimeout(() => done([scrollY, document.querySelector('.box.open').id]), 300))"
    ) == [0, "box-feed_forward"]
    assert not browser.run("find('tour').checkVisibility()")


def test_a_title_stands_once(opened):
    browser = opened(of_word())
    assert browser.run("document.body.innerText").count("drawkcab") == 1
    browser = opened(explorer.Page("<!DOCTYPE html>" + of_word()._repr_html_()))
    assert (
        browser.run(
            "getComputedStyle(document.querySelector('iframe').contentDocument.querySelector('h1')).display"
        )
        == "none"
    )


def test_the_map_can_be_enlarged(opened):
    browser = opened(of_word())
    whole = "[figure.getBoundingClientRect().width, find('drawn').scrollWidth - find('drawn').clientWidth]"
    width, hidden = browser.run(whole)
    browser.run("find('zoom').children[0].click()")
    assert browser.run(whole)[0] > 1.3 * width and browser.run(whole)[1] > 0 >= hidden
    assert not browser.run("find('break').checkVisibility()")
    browser.run("find('zoom').children[1].click()")
    assert browser.run(whole) == [width, hidden] and browser.run("find('break').checkVisibility()")


# What protanopes, deuteranopes and tritanopes see of linear RGB (Machado, Oliveira and Fernandes
# 2009, severity 1.0).
COLOUR_BLIND = {
    "none": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_blind_readers_can_tell_the_colours_of_a_scale_apart(opened, scheme):
    browser = opened(of_word("a"), screen=(1366, 844, scheme))
    for kind in ("values", "gradients"):
        colours = np.array(browser.run(f"[-1, 0, 1].map(palette('{kind}', 1))")) / 255
        for matrix in COLOUR_BLIND.values():
            seen = np.clip(colours**2.2 @ np.transpose(matrix), 0, 1) ** (1 / 2.2)
            distances = [np.abs(seen[a] - seen[b]).max() for a, b in ((0, 1), (0, 2), (1, 2))]
            assert min(distances) > 0.15, (kind, distances)
