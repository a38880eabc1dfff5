"""A click on a number shows which numbers made it, and walks on to them."""

import re

import numpy as np
import pytest

from minitransformer_course import lab, messages
from minitransformer_course.explorer.page import batch_of
from minitransformer_course.explorer.recorded import record
from tests.course.explorer.pages import WHY, of_word

pytestmark = [pytest.mark.slow, pytest.mark.campaign]  # a browser, where there is one


def test_a_number_is_the_sum_of_its_largest_terms_and_the_rest(opened):
    """Of a linear layer: a row of x times a column of W, plus a bias, as NumPy computes it. Both
    are framed.
    """
    browser, (model, vocabulary) = opened(of_word()), lab.drawkcab()
    browser.run(WHY)
    record(model.astype("float64"), batch_of(model, vocabulary, "backward"), 0.1)
    layer = model.decoder.layers[0].cross_attention.query
    x = np.array(
        browser.run(
            "rows(state.numbers.record['decoder.layers.0.self_attention_residual.norm'].y).map(row => [...row])"
        )
    )
    each = [
        sorted([*(x[3] * layer.weight.data[:, j]), layer.bias.data[j]], key=abs, reverse=True)
        for j in range(32)
    ]
    j = next(
        j for j, products in enumerate(each) if max(products[:2]) > 0 > min(products[:2])
    )  # large ones of both signs
    products, text = (
        each[j],
        browser.run(f"at('decoder.layers.0.cross_attention.query', 'y', 3 * 32 + {j})"),
    )
    parts = re.split(r" = | \+ (?:29 smaller ones: )?", text)
    y, *terms, (rest,) = [[float(factor) for factor in part.split(" · ")] for part in parts]
    assert y == [pytest.approx(sum(products), rel=1e-2)] and rest == pytest.approx(
        sum(products[4:]), rel=1e-2
    )
    assert [np.prod(one) for one in terms] == pytest.approx(products[:4], rel=2e-2)
    row, column, bias = browser.run("frames()")
    assert row == pytest.approx([300 / 9, 0, 100 / 9, 100], rel=1e-4)
    assert column == bias == pytest.approx([0, 100 * j / 32, 100, 100 / 32], rel=1e-4)
    assert browser.run(
        "find('why').innerText.includes('row of the value of self_attention_residual.norm')"
    )
    sources = browser.run(
        "[...document.querySelectorAll('.box.source')].map(box => box.getAttribute('aria-label'))"
    )
    assert [label.split(",")[0] for label in sources] == ["LayerNorm"]


def test_a_walk_from_the_loss_to_the_input_and_back(opened):
    """Each number leads to one of its own, in the box that shows it; Back goes the same way."""
    browser = opened(of_word())
    browser.run(WHY + "openBox(places.findIndex(one => one && one.kind === 'loss'))")
    browser.run("find('open').querySelector('.scroll + button').click()")
    assert browser.run("why()").startswith("0.639 = 0.111 · 0.903 · (-log 0.902) k + ")
    seen = [browser.run("find('open').querySelector('h2').textContent")]
    for _ in range(60):
        if not browser.run("factors().length"):
            break
        browser.run(
            "(factors().find(one => !/: weight of/.test(one.ariaLabel)) || factors()[0]).click()"
        )
        seen.append(browser.run("find('open').querySelector('h2').textContent"))
    assert "nothing in the model computes it" in browser.run("why()")
    assert seen[:3] == ["Loss", "Softmax", "Linear, Wᵀ"] and len(seen) > 5
    for title in seen[-2::-1]:
        assert browser.run("document.activeElement.id") == "back"
        browser.run("find('back').click()")
        assert browser.run("find('open').querySelector('h2').textContent") == title
    assert not browser.run("find('back')") and browser.run("why()").startswith("0.639 = ")


def test_a_gradient_stands_in_the_box_that_gets_it(opened):
    """Even if it was put together from heads, or is a sum."""
    browser = opened(of_word())
    for path in "key value query weighted_sum softmax scores".split():
        browser.run(WHY + f"at('decoder.layers.0.cross_attention.{path}', 'dy', 5)")
        assert (
            browser.run("resolved(places[state.open]).path")
            == f"decoder.layers.0.cross_attention.{path}"
        )
        assert "gradient" in browser.run("find('open').querySelector('.readout').textContent")
        assert browser.run("state.figures.length") > 1


@pytest.mark.parametrize(
    "path, what, i, said",
    [
        (
            "decoder.layers.0.cross_attention.softmax",
            "y",
            7,
            r"0\.999 = 1 / \(e\^0 d \+ e\^-6\.86 r \+ .* 5 smaller ones: 1\.1e-34\)",
        ),
        (
            "decoder.layers.0.cross_attention.scores",
            "y",
            7,
            r"[\d.]+ = 0\.354 · -?[\d.]+ · -?[\d.]+ \+ .* 4 smaller ones: .*",
        ),
        (
            "decoder.layers.0.self_attention.softmax",
            "y",
            3,
            "0: no term. Nothing reaches this number: it is masked, .*",
        ),
        (
            "decoder.layers.0.self_attention_residual.add",
            "y",
            3,
            r"-?[\d.]+ = -?[\d.]+ \+ -?[\d.]+",
        ),
        ("decoder.layers.0.feed_forward_residual.norm", "dy", 3, r".* 25 smaller ones: .*"),
        ("decoder.layers.0.cross_attention.key", "dy", 3, r".* = 0\.354 · .* 5 smaller ones: .*"),
        (
            "target_embedding.weight",
            "grad",
            3 * 32,
            ".* A matrix with 3 uses: the terms of all of them add up.",
        ),
        ("target_embedding.weight", "data", 0, "-?[\\d.e-]+: nothing in the model computes it.*"),
    ],
)
def test_each_kind_of_number_has_its_words(opened, path, what, i, said):
    browser = opened(of_word())
    browser.run(WHY + f"at('{path}', '{what}', {i})")
    assert re.fullmatch(
        said,
        browser.run(
            "why() + (find('why').textContent.includes('uses') ? ' ' + find('why').querySelector("
            "'.sum + p').textContent : '')"
        ),
    )


def test_a_shared_matrix_is_shown_wherever_it_is_used(opened):
    """The output's box says which row of its gradient is the largest."""
    browser = opened(of_word())
    for path in ("output", "source_input.embedding", "target_input.embedding"):
        browser.run(f"openBox(places.findIndex(one => one && one.path === '{path}'))")
        assert "target_embedding.weight (29, 32)" in browser.run("panel()")
        norms = browser.run(
            "rows(state.numbers.parameters['target_embedding.weight'].grad).map(row => Math.hypot(...row))"
        )
        assert (
            f"The row of {browser.run(f'tokenOf({int(np.argmax(norms))})')} has the largest gradient"
            in browser.run("panel()")
        )


def test_enter_explains_the_number_under_the_cursor_where_it_is(opened):
    browser = opened(of_word())
    browser.run(
        WHY
        + "press(find('open').querySelector('.pair canvas'), 'ArrowDown', 'ArrowRight', 'Enter')"
    )
    assert browser.run("find('open').querySelector('h2').textContent") == "Cross-attention"
    readout, text = (
        browser.run("find('open').querySelector('.readout').textContent"),
        browser.run("why()"),
    )
    assert float(text.split(" = ")[0]) == pytest.approx(
        float(re.search(r": ([\d.e-]+);", readout)[1]), rel=1e-2
    )
    assert all(
        re.search(": (value|weight) of ", label)
        for label in browser.run("factors().map(one => one.ariaLabel)")
    )


def test_the_terms_tell_a_planted_mistake(opened):
    browser = opened(of_word("abc", "cb"))
    where = "decoder.layers.0.cross_attention_residual.norm"
    browser.run(
        WHY + f"find('where-norm').value = '{where}'; find('mistake-norm').click(); "
        f"goTo(state.numbers.record['{where}'].dx[0], 0)"
    )
    assert "✗ These terms give" in browser.run("find('why').textContent")
    browser.run(f"find('mistake-norm').click(); goTo(state.numbers.record['{where}'].dx[0], 0)")
    assert "✗" not in browser.run("find('why').textContent")


def test_adam_shows_the_step_that_a_gradient_leads_to(opened):
    browser = opened(of_word())
    browser.run(WHY + "openBox(places.findIndex(one => one && one.kind === 'adam'))")
    browser.run(
        "[...find('open').querySelectorAll('td button')].find(one => one.textContent.endsWith('inner.bias')).click()"
    )
    assert "feed_forward.inner.bias" in browser.run("panel()")
    browser.run(
        "press([...find('open').querySelectorAll('.pair canvas[role]')].at(-1), 'ArrowDown', 'Enter')"
    )
    assert re.fullmatch(r"0: no term.*|-?1 = --?[\d.e-]+ · [\d.e+]+|0 = .*", browser.run("why()"))


ENGLISH = re.compile(r"(?<![.\w])(?:token|query|key|row|head|dimension|gradient|norm|shape|of)\b")


def test_in_korean_the_labels_of_the_numbers_are_korean(opened, monkeypatch):
    """Of the boxes, of the heat maps and their numbers, of the terms, and of the way back."""
    monkeypatch.setattr(messages, "_chosen", ["ko"])
    browser = opened(of_word(), "korean.html")
    browser.run(WHY)
    browser.run("at('decoder.layers.0.self_attention.scores', 'y', 3)")
    browser.run("factors()[0].click()")
    labels = browser.run(
        "[...document.querySelectorAll('[aria-label], .factor')].flatMap(one => "
        "[one.getAttribute('aria-label'), one.title]).filter(Boolean)"
    )
    texts = [*labels, browser.run("panel()"), browser.run("find('why').innerText")]
    assert any("쿼리" in text for text in texts) and any("행 9개(토큰)" in text for text in texts)
    names = map(re.escape, browser.run("DATA.map.boxes.map(box => box.name)"))  # as in figure 1
    path_or_name = re.compile(rf"\w+(?:\.\w+)+|{'|'.join(filter(None, names))}")
    for text in texts:
        assert not ENGLISH.search(path_or_name.sub("", text)), text
