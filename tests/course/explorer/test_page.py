"""The page, as a reader uses it: the numbers follow the text, each can be nudged, and planted
mistakes turn the right boxes red.
"""

import re

import numpy as np
import pytest

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.models import Transformer, TransformerConfig
from minitransformer_course import lab
from minitransformer_course.explorer import page as explorer
from minitransformer_course.explorer.page import batch_of
from minitransformer_course.explorer.recorded import record
from tests.course.explorer.pages import (
    DECODER,
    ENCODER,
    data_of,
    language_model,
    loss_of,
    of_word,
    page_of,
    shown,
)

pytestmark = [pytest.mark.slow, pytest.mark.campaign]  # a browser, where there is one


def test_the_numbers_follow_the_text(opened):
    browser = opened(of_word())
    assert browser.run("find('target').value") == "drawkcab" and shown(browser) == pytest.approx(
        loss_of("backward"), rel=1e-5
    )
    browser.run("find('source').value = 'hello'; find('write').click()")
    assert browser.run("find('target').value") == "olleh" and shown(browser) == pytest.approx(
        loss_of("hello"), rel=1e-5
    )
    browser.run("type('target', 'ole')")
    assert shown(browser) == pytest.approx(loss_of("hello", "ole"), rel=1e-5)
    rows = browser.run(
        "[...document.querySelectorAll('.box[role]')].map(box => box.getAttribute('aria-label'))"
    )
    assert any(
        re.search(r"LayerNorm, decoder\.layers\.0\.\S+, shape \(4, 32\), norm \d", row)
        for row in rows
    )


def test_the_model_writes_as_it_does_elsewhere(opened):
    """Neither padding nor BOS, however likely they are, and 50 tokens more than its source if
    nothing ends it.
    """
    vocabulary = SymbolVocabulary("ab")
    model = Transformer(
        TransformerConfig(
            source_vocab=5,
            target_vocab=5,
            num_layers=1,
            d_model=4,
            num_heads=1,
            d_ff=4,
            share_output=False,
        )
    )
    norm = model.decoder.layers[0].feed_forward_residual.norm
    norm.gamma.data[...], norm.beta.data[...], model.output.weight.data[...] = (
        0,
        1,
        np.array([[5], [4], [1], [2], [3]]),
    )
    browser = opened(page_of(model, vocabulary, "ab", "a"))
    browser.run("find('write').click()")
    assert (
        browser.run("state.batch.target")
        == batch_of(model, vocabulary, "ab").target[0].tolist()
        == [1, *52 * [4]]
    )


@pytest.mark.parametrize(
    "text, said",
    [("a1b", "“a1b” is not a token"), ("", "too short"), ("x" * 61, "61 tokens are too many")],
)
def test_a_text_that_cannot_be_read_is_named_and_the_numbers_stay(opened, text, said):
    browser = opened(of_word())
    before = shown(browser)
    browser.run(f"type('source', {text!r})")
    assert said in browser.run("find('said').textContent") and shown(browser) == before
    browser.run("type('source', 'ab')")
    assert browser.run("find('said').textContent") == "" and shown(browser) != before
    if text:  # as a target it may be empty
        before = shown(browser)
        browser.run(f"type('target', {text!r})")
        assert said in browser.run("find('said').textContent") and shown(browser) == before


def test_the_slope_of_each_number_is_its_gradient(opened):
    """In every box, of every kind of array: two more losses, and the gradient beside them."""
    browser = opened(of_word("abc", "cb"))
    nudged = browser.run("boxes().flatMap(box => { press(box, 'Enter'); return nudgeAll(); })")
    checked = [text for text in nudged if "✓ they differ by" in text]
    assert len(checked) > 60 and not [text for text in nudged if "✗" in text]
    assert len(checked) == len([text for text in nudged if "Nudge it in the box" not in text])


def test_padding_changes_no_number_and_has_no_gradient(opened):
    browser = opened(of_word("abc"))
    numbers = "[state.numbers.loss, ...Object.values(state.numbers.parameters).flatMap(one => [...one.grad.data])]"
    before = browser.run(numbers)
    browser.run("find('padding').value = 2; find('padding').onchange()")
    assert np.allclose(before, browser.run(numbers), rtol=0, atol=1e-14)
    dy = np.array(
        browser.run("rows(state.numbers.record['source_input.embedding'].dy).map(row => [...row])")
    )
    assert dy.shape == (6, 32) and not dy[4:].any() and dy[:4].all()


PLANTED = {  # {mistake: (where, the layers that get their gradient later but not from there)}
    "scale": ("decoder.layers.0.cross_attention.scores", []),
    "mask": ("decoder.layers.0.self_attention.softmax", ENCODER),
    "norm": ("encoder.layers.0.self_attention_residual.norm", []),
    "residual": (
        "encoder.layers.0.feed_forward_residual.add",
        [leaf for leaf in ENCODER if ".feed_forward." in leaf],
    ),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_wrong_from_there_downwards_only(opened, mistake):
    """And the loss stays as it is. What is wrong turns red, and says so."""
    where, elsewhere = PLANTED[mistake]
    browser = opened(of_word("abc", "cb"))
    before, order = shown(browser), ["output", *DECODER, *ENCODER]
    browser.run(f"find('where-{mistake}').value = '{where}'; find('mistake-{mistake}').click()")
    wrong = browser.run(
        "Object.entries(state.wrong.layers).filter(([, one]) => one.dx || one.dy).map(([path]) => path)"
    )
    assert {*order[order.index(where) :]} - {*elsewhere} == {*order} & {*wrong}
    assert shown(browser) == before
    red = browser.run("red()")
    assert all(label.endswith("wrong gradient") for label in red)
    named = {path for label in red for path in order if f", {path}, " in label}
    assert named and named <= {*wrong} and any("embedding" in label for label in red)
    assert not [
        label
        for label in red
        if label.startswith(("Loss", "Linear, W", "Softmax, output", "Inputs", "Decoding"))
    ]
    assert f"✗ {len(red)} boxes" in browser.run("find('red').textContent")
    browser.run(f"find('mistake-{mistake}').click()")
    assert not browser.run("red()") and browser.run("find('red').textContent") == ""


def test_a_tied_gradient_counted_once_is_wrong_in_the_embeddings_alone(opened):
    browser = opened(of_word("abc", "cb"))
    browser.run("find('mistake-tied').click()")
    red = browser.run("red()")
    assert [label.partition(",")[0] for label in red] == ["Embedding", "Embedding", "Adam"]
    assert browser.run(
        "Object.keys(state.wrong.weights).filter(name => state.wrong.weights[name])"
    ) == ["target_embedding.weight"]
    browser.run("openBox(places.findIndex(one => one && one.path === 'source_input.embedding'))")
    assert "✗ that is not the slope" in browser.run(
        "nudgeAll()[2]"
    )  # of W; y and its gradient are the first two


def test_a_nudge_finds_a_planted_mistake(opened):
    browser = opened(of_word("abc", "cb"))
    browser.run("openBox(places.findIndex(one => one && one.path === 'target_input.embedding'))")
    assert all("✓ they differ by" in text for text in browser.run("nudgeAll()"))
    browser.run(
        "find('where-norm').value = 'decoder.layers.0.cross_attention_residual.norm'; find('mistake-norm').click()"
    )
    assert any("✗ that is not the slope" in text for text in browser.run("nudgeAll()"))


def test_covered_gradients_wait_for_a_prediction(opened):
    browser = opened(of_word())
    assert "gradient of p" in browser.run("panel()")
    browser.run("find('cover').click(); find('gradients').click()")
    text = browser.run("panel()")
    assert (
        "gradient of" not in text
        and "dvalue" not in text
        and "‖?‖" in browser.run("figure.textContent")
    )
    assert browser.run("document.querySelectorAll('.picture[href]').length") == 0
    browser.run("press(find('open').querySelector('.pair canvas'), 'ArrowDown')")
    assert "gradient" not in browser.run("find('open').querySelector('.readout').textContent")
    assert "The backward says" not in browser.run("nudgeAll()[0]") and "slope" in browser.run(
        "nudgeAll()[0]"
    )
    browser.run("find('open').querySelector('button').click()")
    assert "gradient of p" in browser.run("panel()") and "dvalue" in browser.run("panel()")
    assert browser.run("document.querySelectorAll('.picture[href]').length") == 1


def test_a_tour_of_eight_steps_begins_by_itself_but_once(opened):
    """Each of its sentences is about the reader's text; arrow keys and buttons move it, Escape ends
    it, and what a reader does stops it from moving by itself.
    """
    browser = opened(of_word("abc", "cba"))
    assert not browser.run("find('tour').checkVisibility()")
    browser.run("localStorage.clear()")
    browser = opened(of_word("abc", "cba"))
    assert browser.run("find('tour').checkVisibility() && find('told').textContent").startswith(
        "Your text, “abc”, goes in as 4 "
    )
    told, titles = [], []
    for step in range(8):
        assert browser.run("find('which').textContent") == f"{step + 1} of 8"
        told.append(browser.run("find('told').textContent"))
        titles.append(browser.run("find('open').querySelector('h2').textContent"))
        if step == 0:
            browser.run("press(document.body, 'ArrowRight', 'ArrowLeft', 'ArrowRight')")
        elif step < 7:
            browser.run("find('tour').querySelectorAll('button')[1].click()")
    assert titles == [
        "Inputs",
        "Embedding, W",
        "Self-attention",
        "Cross-attention",
        "Softmax",
        "Loss",
        "Cross-attention",
        "Adam",
    ]
    assert not [one for one in told if "[" in one or "undefined" in one] and len({*told}) == 8
    p = re.search(r"“c” gets ([\d.]+)\.", told[4])[1]
    assert float(p) == pytest.approx(
        float(
            browser.run(
                "rows(probabilities(state.numbers.record.output.y))[0][tokensBelow("
                "29).indexOf('c')]"
            )
        ),
        rel=0.05,
    )
    assert "“c”, the model looks most at “c”" in told[3] and browser.run(
        "find('gradients').checked"
    )
    browser.run("type('source', 'ab'); find('tour').querySelectorAll('button')[0].click()")
    assert browser.run("find('which').textContent") == "7 of 8"
    browser.run("press(document.body, 'Escape')")
    assert not browser.run("find('tour').checkVisibility()")
    assert not opened(of_word("abc", "cba")).run("find('tour').checkVisibility()")
    browser.run("find('begin').click()")
    assert browser.run("find('tour').checkVisibility()")


def test_the_tour_moves_by_itself_until_a_reader_does_something(opened):
    browser = opened(of_word("abc", "cba"))
    hurry = "new Promise(done => setTimeout(() => done(find('which').textContent), 250))"
    browser.run(
        "var later = setTimeout; setTimeout = (f, ms) => later(f, ms === REST ? 20 : ms); find('begin').click()"
    )
    assert (
        browser.run("new Promise(done => later(() => done(find('which').textContent), 3000))")
        == "8 of 8"
    )
    browser.run("find('begin').click(); dispatchEvent(new PointerEvent('pointerdown'))")
    assert browser.run(hurry) == "1 of 8"
    browser.page.emulate_media(reduced_motion="reduce")
    browser.open(browser.run("location.href"))
    browser.run("find('begin').click()")
    assert (
        browser.run("find('which').textContent") == "1 of 8" and browser.run("tour.timer") is None
    )
    browser.page.emulate_media(reduced_motion="null")


def test_a_language_models_tour_has_eight_steps_too(opened):
    browser = opened(language_model("abc", "abcab")[0])
    told = browser.run("STEPS.map((_, step) => { goStep(step); return find('told').textContent; })")
    assert len(told) == 8 and not [one for one in told if "[" in one or "undefined" in one]


def test_the_time_slider_shows_other_weights(opened):
    model, vocabulary = lab.drawkcab()
    new = Transformer(lab.CONFIG, seed=3)
    browser = opened(
        of_word(weights={"step 0": data_of(new), "trained": data_of(model)}, left_out=[100, 2000])
    )
    trained = shown(browser)
    assert "no room for the snapshots of step 100, 2,000." in browser.run("document.body.innerText")
    assert browser.run("find('step').textContent") == "trained (2 left out)"
    browser.run("find('time').value = 0; find('time').oninput()")
    expected = record(new.astype("float64"), batch_of(model, vocabulary, "backward"), 0.1)[0]
    assert browser.run("find('step').textContent") == "step 0 (2 left out)" and shown(
        browser
    ) == pytest.approx(expected, rel=1e-5)
    assert trained < 1 < shown(browser)


def test_a_larger_models_page_holds_recorded_numbers_and_says_so(opened, monkeypatch):
    live = opened(of_word()).run("boxes().map(box => box.getAttribute('aria-label'))")
    monkeypatch.setattr(explorer, "LIVE", 0)
    browser = opened(of_word())
    assert browser.run("boxes().map(box => box.getAttribute('aria-label'))") == live
    assert "recorded numbers of this one text" in browser.run("document.body.innerText")
    assert not browser.run(
        "[find('ask').querySelector('button'), find('break')].some(one => one.checkVisibility())"
    )
    browser.run("find('gradients').click(); boxes().forEach(box => press(box, 'Enter'))")


def test_text_is_text(opened):
    """Even if it would end the script that holds it, is Hangul, or a combining mark, which gets
    something to stand on.
    """
    text = "</script><b>한\u0301&amp;'\""
    page, model = language_model("".join(sorted({*text})), text)
    browser = opened(page)
    assert browser.run("find('source').value") == text and text in browser.run(
        "document.querySelector('h1').textContent"
    )
    assert browser.run("document.querySelectorAll('b').length") == 0
    assert browser.run("visible('\u0301') + visible(' ')") == "◌\u0301␣"
    assert "한→◌\u0301" in browser.run("queries().join(' ')")


def test_a_line_break_stays_in_the_text(opened):
    """A field would lose it: with the next padding, the page would show the numbers of another
    text.
    """
    page, _ = language_model("ab\n", "a\nba")
    browser = opened(page)
    before = browser.run("find('loss').textContent")
    browser.run("find('padding').onchange()")
    assert browser.run("[find('loss').textContent, find('source').value]") == [before, "a↵ba"]


def test_a_token_that_would_end_a_script_is_a_token(opened):
    vocabulary = SymbolVocabulary(["</script>", "<!--", "<script>"])
    model = Transformer(
        TransformerConfig(
            source_vocab=6, target_vocab=6, num_layers=1, d_model=8, num_heads=2, d_ff=8
        )
    )
    browser = opened(page_of(model, vocabulary, "</script> <script>", ""))
    assert (
        browser.run("tokensOf('encoder')") == ["</script>", "<script>", "</s>"]
        and shown(browser) > 0
    )


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_language_model_has_a_page(opened, pre_norm):
    page, model = language_model(
        "abc", "abcab", pre_norm=pre_norm, positions="learned", attention_dropout=0.1
    )
    browser = opened(page)
    expected = record(model, batch_of(model, CharacterVocabulary("abc"), "abcab"), 0.0)[0]
    assert shown(browser) == pytest.approx(expected, rel=1e-5) and not browser.run(
        "find('target').checkVisibility()"
    )
    assert not browser.complaints
    nudged = browser.run("boxes().flatMap(box => { press(box, 'Enter'); return nudgeAll(); })")
    assert len(nudged) > 60 and not [text for text in nudged if "✗" in text]
    browser.run("type('source', 'a')")
    assert "too short" in browser.run("find('said').textContent")


def test_a_notebook_shows_the_page_in_a_cell(opened):
    cell = of_word()._repr_html_()
    assert cell.startswith("<iframe srcdoc=") and "<script>" not in cell
    browser = opened(explorer.Page("<!DOCTYPE html>" + cell))
    inside = browser.run(
        "document.querySelector('iframe').contentDocument.getElementById('loss').textContent"
    )
    assert float(inside.rpartition(" ")[2]) == pytest.approx(loss_of("backward"), rel=1e-5)
