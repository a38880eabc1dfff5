"""The page, as a reader uses it: the numbers follow the text, each can be nudged, and planted mistakes turn the right boxes red."""

import re

import numpy as np
import pytest

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.models import LanguageModel, LanguageModelConfig, Transformer, TransformerConfig
from minitransformer_course import lab
from minitransformer_course.explorer import page as explorer
from minitransformer_course.explorer.page import batch_of, make_page
from minitransformer_course.explorer.recorded import record
from tests.randomised import randomised

pytestmark = [pytest.mark.slow, pytest.mark.campaign]    # a browser for half a minute, where there is one

HELPERS = """
var type = (id, text) => { find(id).value = text; find("ask").requestSubmit(); return find("loss").textContent; };
var boxes = () => [...document.querySelectorAll(".box[role]")];
var red = () => boxes().filter(box => box.classList.contains("wrong")).map(box => box.getAttribute("aria-label"));
var press = (element, ...keys) => keys.forEach(key => element.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})));
var panel = () => find("open").innerText;
var nudgeAll = () => [...find("open").querySelectorAll(".pair canvas[role]")].map(canvas => {
    press(canvas, "ArrowDown", "ArrowRight", "Enter");
    const button = find("open").querySelector(".readout + [role] > button");
    if (button) button.click();
    return find("open").querySelector(".readout + [role]").textContent;
});
"""


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """opened(page) opens a Page in the browser, which is returned."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "seen.html").write_text("<!DOCTYPE html><script>localStorage.setItem('minitransformer: tour', 'seen')</script>")
    browser.open((folder / "seen.html").as_uri())    # otherwise the first page would begin its tour

    def open_page(page, name="page.html", screen=(1280, 800, "light")):
        browser.screen(*screen)
        (folder / name).write_text(page.html, encoding="utf-8")
        browser.open((folder / name).as_uri())
        browser.run("typeof find === 'function'") and browser.run(HELPERS)
        return browser
    return open_page


def data_of(model):
    return {name: parameter.data for name, parameter in model.parameters().items()}


def page_of(model, vocabulary, *texts, smoothing=0.0, title="a run", weights=None, left_out=()):
    weights = weights or {"trained": data_of(model)}
    return make_page(model, vocabulary, batch_of(model, vocabulary, *texts), smoothing, title, weights, left_out)


def of_word(word="backward", target=None, **options):
    return page_of(*lab.drawkcab(), word, target, **{"smoothing": 0.1, "title": "drawkcab", **options})


def loss_of(word, target=None, smoothing=0.1):
    model, vocabulary = lab.drawkcab()
    return record(model.astype("float64"), batch_of(model, vocabulary, word, target), smoothing)[0]


def shown(browser):
    return float(browser.run("find('loss').textContent").rpartition(" ")[2])


def test_the_numbers_follow_the_text(opened):
    browser = opened(of_word())
    assert browser.run("find('target').value") == "drawkcab" and shown(browser) == pytest.approx(loss_of("backward"), rel=1e-5)
    browser.run("find('source').value = 'hello'; find('write').click()")
    assert browser.run("find('target').value") == "olleh" and shown(browser) == pytest.approx(loss_of("hello"), rel=1e-5)
    browser.run("type('target', 'ole')")
    assert shown(browser) == pytest.approx(loss_of("hello", "ole"), rel=1e-5)
    rows = browser.run("[...document.querySelectorAll('.box[role]')].map(box => box.getAttribute('aria-label'))")
    assert any(re.search(r"LayerNorm, decoder\.layers\.0\.\S+, shape \(4, 32\), norm \d", row) for row in rows)


def test_the_model_writes_as_it_does_elsewhere(opened):
    """Neither padding nor BOS, however likely they are, and 50 tokens more than its source if nothing ends it."""
    vocabulary = SymbolVocabulary("ab")
    model = Transformer(TransformerConfig(source_vocab=5, target_vocab=5, num_layers=1, d_model=4, num_heads=1, d_ff=4,
                                          share_output=False))
    norm = model.decoder.layers[0].feed_forward_residual.norm
    norm.gamma.data[...], norm.beta.data[...], model.output.weight.data[...] = 0, 1, np.array([[5], [4], [1], [2], [3]])
    browser = opened(page_of(model, vocabulary, "ab", "a"))
    browser.run("find('write').click()")
    assert browser.run("state.batch.target") == batch_of(model, vocabulary, "ab").target[0].tolist() == [1, *52 * [4]]


@pytest.mark.parametrize("text, said", [("a1b", "“a1b” is not a token"), ("", "too short"), ("x" * 61, "61 tokens are too many")])
def test_a_text_that_cannot_be_read_is_named_and_the_numbers_stay(opened, text, said):
    browser = opened(of_word())
    before = shown(browser)
    browser.run(f"type('source', {text!r})")
    assert said in browser.run("find('said').textContent") and shown(browser) == before
    browser.run("type('source', 'ab')")
    assert browser.run("find('said').textContent") == "" and shown(browser) != before
    if text:    # as a target it may be empty
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
    dy = np.array(browser.run("rows(state.numbers.record['source_input.embedding'].dy).map(row => [...row])"))
    assert dy.shape == (6, 32) and not dy[4:].any() and dy[:4].all()


def leaves(layer, *sublayers):
    """The layers in a layer of a stack, in the order in which gradients arrive."""
    inside = {"feed_forward": "outer activation inner", "attention": "output weighted_sum value softmax scores key query"}
    for name in sublayers:
        yield from (f"{layer}.{name}_residual.{part}" for part in ("norm", "add"))
        yield from (f"{layer}.{name}.{part}" for part in inside[name if name in inside else "attention"].split())


DECODER = [*leaves("decoder.layers.0", "feed_forward", "cross_attention", "self_attention"), "target_input.positions"]
ENCODER = [*leaves("encoder.layers.0", "feed_forward", "self_attention"), "source_input.positions"]
PLANTED = {    # {mistake: (where, the layers that get their gradient later but not from there)}
    "scale": ("decoder.layers.0.cross_attention.scores", []),
    "mask": ("decoder.layers.0.self_attention.softmax", ENCODER),
    "norm": ("encoder.layers.0.self_attention_residual.norm", []),
    "residual": ("encoder.layers.0.feed_forward_residual.add", [leaf for leaf in ENCODER if ".feed_forward." in leaf]),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_wrong_from_there_downwards_only(opened, mistake):
    """And the loss stays as it is. What is wrong turns red, and says so."""
    where, elsewhere = PLANTED[mistake]
    browser = opened(of_word("abc", "cb"))
    before, order = shown(browser), ["output", *DECODER, *ENCODER]
    browser.run(f"find('where-{mistake}').value = '{where}'; find('mistake-{mistake}').click()")
    wrong = browser.run("Object.entries(state.wrong.layers).filter(([, one]) => one.dx || one.dy).map(([path]) => path)")
    assert {*order[order.index(where):]} - {*elsewhere} == {*order} & {*wrong}
    assert shown(browser) == before
    red = browser.run("red()")
    assert all(label.endswith("wrong gradient") for label in red)
    named = {path for label in red for path in order if f", {path}, " in label}
    assert named and named <= {*wrong} and any("embedding" in label for label in red)
    assert not [label for label in red if label.startswith(("Loss", "Linear, W", "Softmax, output", "Inputs", "Decoding"))]
    assert f"✗ {len(red)} boxes" in browser.run("find('red').textContent")
    browser.run(f"find('mistake-{mistake}').click()")
    assert not browser.run("red()") and browser.run("find('red').textContent") == ""


def test_a_tied_gradient_counted_once_is_wrong_in_the_embeddings_alone(opened):
    browser = opened(of_word("abc", "cb"))
    browser.run("find('mistake-tied').click()")
    red = browser.run("red()")
    assert [label.partition(",")[0] for label in red] == ["Embedding", "Embedding", "Adam"]
    assert browser.run("Object.keys(state.wrong.weights).filter(name => state.wrong.weights[name])") == ["target_embedding.weight"]
    browser.run("openBox(places.findIndex(one => one && one.path === 'source_input.embedding'))")
    assert "✗ that is not the slope" in browser.run("nudgeAll()[2]")    # of W; y and its gradient are the first two


def test_a_nudge_finds_a_planted_mistake(opened):
    browser = opened(of_word("abc", "cb"))
    browser.run("openBox(places.findIndex(one => one && one.path === 'target_input.embedding'))")
    assert all("✓ they differ by" in text for text in browser.run("nudgeAll()"))
    browser.run("find('where-norm').value = 'decoder.layers.0.cross_attention_residual.norm'; find('mistake-norm').click()")
    assert any("✗ that is not the slope" in text for text in browser.run("nudgeAll()"))


WHY = """
var why = () => find("why").querySelector(".sum").textContent;
var at = (path, what, i) => {
    goTo((state.numbers.record[path] || state.numbers.parameters[path])[what], i);
    return why();
};
var factors = () => [...find("why").querySelectorAll(".factor")];
var frames = () => [...find("why").querySelectorAll("i")].map(({style}) =>
    [style.top, style.left, style.height, style.width].map(parseFloat));
"""


def test_a_number_is_the_sum_of_its_largest_terms_and_the_rest(opened):
    """Of a linear layer: a row of x times a column of W, plus a bias, as NumPy computes it. Both are framed."""
    browser, (model, vocabulary) = opened(of_word()), lab.drawkcab()
    browser.run(WHY)
    record(model.astype("float64"), batch_of(model, vocabulary, "backward"), 0.1)
    layer = model.decoder.layers[0].cross_attention.query
    x = np.array(browser.run("rows(state.numbers.record['decoder.layers.0.self_attention_residual.norm'].y).map(row => [...row])"))
    each = [sorted([*(x[3] * layer.weight.data[:, j]), layer.bias.data[j]], key=abs, reverse=True) for j in range(32)]
    j = next(j for j, products in enumerate(each) if max(products[:2]) > 0 > min(products[:2]))    # large ones of both signs
    products, text = each[j], browser.run(f"at('decoder.layers.0.cross_attention.query', 'y', 3 * 32 + {j})")
    parts = re.split(r" = | \+ (?:29 smaller ones: )?", text)
    y, *terms, (rest,) = [[float(factor) for factor in part.split(" · ")] for part in parts]
    assert y == [pytest.approx(sum(products), rel=1e-2)] and rest == pytest.approx(sum(products[4:]), rel=1e-2)
    assert [np.prod(one) for one in terms] == pytest.approx(products[:4], rel=2e-2)
    row, column, bias = browser.run("frames()")
    assert row == pytest.approx([300 / 9, 0, 100 / 9, 100], rel=1e-4)
    assert column == bias == pytest.approx([0, 100 * j / 32, 100, 100 / 32], rel=1e-4)
    assert browser.run("find('why').innerText.includes('row of the value of self_attention_residual.norm')")
    sources = browser.run("[...document.querySelectorAll('.box.source')].map(box => box.getAttribute('aria-label'))")
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
        browser.run("(factors().find(one => !/: weight of/.test(one.ariaLabel)) || factors()[0]).click()")
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
    for path in ("key", "value", "query", "weighted_sum", "softmax", "scores"):
        browser.run(WHY + f"at('decoder.layers.0.cross_attention.{path}', 'dy', 5)")
        assert browser.run("resolved(places[state.open]).path") == f"decoder.layers.0.cross_attention.{path}"
        assert "gradient" in browser.run("find('open').querySelector('.readout').textContent")
        assert browser.run("state.figures.length") > 1


@pytest.mark.parametrize("path, what, i, said", [
    ("decoder.layers.0.cross_attention.softmax", "y", 7,
     r"0\.999 = 1 / \(e\^0 d \+ e\^-6\.86 r \+ .* 5 smaller ones: 1\.1e-34\)"),
    ("decoder.layers.0.cross_attention.scores", "y", 7, r"[\d.]+ = 0\.354 · -?[\d.]+ · -?[\d.]+ \+ .* 4 smaller ones: .*"),
    ("decoder.layers.0.self_attention.softmax", "y", 3, "0: no term. Nothing reaches this number: it is masked, .*"),
    ("decoder.layers.0.self_attention_residual.add", "y", 3, r"-?[\d.]+ = -?[\d.]+ \+ -?[\d.]+"),
    ("decoder.layers.0.feed_forward_residual.norm", "dy", 3, r".* 25 smaller ones: .*"),
    ("decoder.layers.0.cross_attention.key", "dy", 3, r".* = 0\.354 · .* 5 smaller ones: .*"),
    ("target_embedding.weight", "grad", 3 * 32, ".* A matrix with 3 uses: the terms of all of them add up."),
    ("target_embedding.weight", "data", 0, "-?[\\d.e-]+: nothing in the model computes it.*")])
def test_each_kind_of_number_has_its_words(opened, path, what, i, said):
    browser = opened(of_word())
    browser.run(WHY + f"at('{path}', '{what}', {i})")
    assert re.fullmatch(said, browser.run("why() + (find('why').textContent.includes('uses') ? ' ' + find('why').querySelector("
                                          "'.sum + p').textContent : '')"))


def test_a_shared_matrix_is_shown_wherever_it_is_used(opened):
    """The output's box says which row of its gradient is the largest."""
    browser = opened(of_word())
    for path in ("output", "source_input.embedding", "target_input.embedding"):
        browser.run(f"openBox(places.findIndex(one => one && one.path === '{path}'))")
        assert "target_embedding.weight (29, 32)" in browser.run("panel()")
        norms = browser.run("rows(state.numbers.parameters['target_embedding.weight'].grad).map(row => Math.hypot(...row))")
        assert f"The row of {browser.run(f'tokenOf({int(np.argmax(norms))})')} has the largest gradient" in browser.run("panel()")


def test_enter_explains_the_number_under_the_cursor_where_it_is(opened):
    browser = opened(of_word())
    browser.run(WHY + "press(find('open').querySelector('.pair canvas'), 'ArrowDown', 'ArrowRight', 'Enter')")
    assert browser.run("find('open').querySelector('h2').textContent") == "Cross-attention"
    readout, text = browser.run("find('open').querySelector('.readout').textContent"), browser.run("why()")
    assert float(text.split(" = ")[0]) == pytest.approx(float(re.search(r": ([\d.e-]+);", readout)[1]), rel=1e-2)
    assert all(re.search(": (value|weight) of ", label) for label in browser.run("factors().map(one => one.ariaLabel)"))


def test_the_terms_tell_a_planted_mistake(opened):
    browser = opened(of_word("abc", "cb"))
    where = "decoder.layers.0.cross_attention_residual.norm"
    browser.run(WHY + f"find('where-norm').value = '{where}'; find('mistake-norm').click(); "
                f"goTo(state.numbers.record['{where}'].dx[0], 0)")
    assert "✗ These terms give" in browser.run("find('why').textContent")
    browser.run(f"find('mistake-norm').click(); goTo(state.numbers.record['{where}'].dx[0], 0)")
    assert "✗" not in browser.run("find('why').textContent")


def test_adam_shows_the_step_that_a_gradient_leads_to(opened):
    browser = opened(of_word())
    browser.run(WHY + "openBox(places.findIndex(one => one && one.kind === 'adam'))")
    browser.run("[...find('open').querySelectorAll('td button')].find(one => one.textContent.endsWith('inner.bias')).click()")
    assert "feed_forward.inner.bias" in browser.run("panel()")
    browser.run("press([...find('open').querySelectorAll('.pair canvas[role]')].at(-1), 'ArrowDown', 'Enter')")
    assert re.fullmatch(r"0: no term.*|-?1 = --?[\d.e-]+ · [\d.e+]+|0 = .*", browser.run("why()"))


def test_covered_gradients_wait_for_a_prediction(opened):
    browser = opened(of_word())
    assert "gradient of p" in browser.run("panel()")
    browser.run("find('cover').click(); find('gradients').click()")
    text = browser.run("panel()")
    assert "gradient of" not in text and "dvalue" not in text and "‖?‖" in browser.run("figure.textContent")
    assert browser.run("document.querySelectorAll('.picture[href]').length") == 0
    browser.run("press(find('open').querySelector('.pair canvas'), 'ArrowDown')")
    assert "gradient" not in browser.run("find('open').querySelector('.readout').textContent")
    assert "The backward says" not in browser.run("nudgeAll()[0]") and "slope" in browser.run("nudgeAll()[0]")
    browser.run("find('open').querySelector('button').click()")
    assert "gradient of p" in browser.run("panel()") and "dvalue" in browser.run("panel()")
    assert browser.run("document.querySelectorAll('.picture[href]').length") == 1


def test_a_tour_of_eight_steps_begins_by_itself_but_once(opened):
    """Each of its sentences is about the reader's text; arrow keys and buttons move it, Escape ends it, and what a reader does
    stops it from moving by itself."""
    browser = opened(of_word("abc", "cba"))
    assert not browser.run("find('tour').checkVisibility()")
    browser.run("localStorage.clear()")
    browser = opened(of_word("abc", "cba"))
    assert browser.run("find('tour').checkVisibility() && find('told').textContent").startswith("Your text, “abc”, goes in as 4 ")
    told, titles = [], []
    for step in range(8):
        assert browser.run("find('which').textContent") == f"{step + 1} of 8"
        told.append(browser.run("find('told').textContent"))
        titles.append(browser.run("find('open').querySelector('h2').textContent"))
        if step == 0:
            browser.run("press(document.body, 'ArrowRight', 'ArrowLeft', 'ArrowRight')")
        elif step < 7:
            browser.run("find('tour').querySelectorAll('button')[1].click()")
    assert titles == ["Inputs", "Embedding, W", "Self-attention", "Cross-attention", "Softmax", "Loss", "Cross-attention", "Adam"]
    assert not [one for one in told if "[" in one or "undefined" in one] and len({*told}) == 8
    p = re.search(r"“c” gets ([\d.]+)\.", told[4])[1]
    assert float(p) == pytest.approx(float(browser.run("rows(probabilities(state.numbers.record.output.y))[0][tokensBelow("
                                                       "29).indexOf('c')]")), rel=0.05)
    assert "“c”, the model looks most at “c”" in told[3] and browser.run("find('gradients').checked")
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
    browser.run("var later = setTimeout; setTimeout = (f, ms) => later(f, ms === REST ? 20 : ms); find('begin').click()")
    assert browser.run("new Promise(done => later(() => done(find('which').textContent), 3000))") == "8 of 8"
    browser.run("find('begin').click(); dispatchEvent(new PointerEvent('pointerdown'))")
    assert browser.run(hurry) == "1 of 8"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    browser.open(browser.run("location.href"))
    browser.run("find('begin').click()")
    assert browser.run("find('which').textContent") == "1 of 8" and browser.run("tour.timer") is None


def test_a_language_models_tour_has_eight_steps_too(opened):
    browser = opened(language_model("abc", "abcab")[0])
    told = browser.run("STEPS.map((_, step) => { goStep(step); return find('told').textContent; })")
    assert len(told) == 8 and not [one for one in told if "[" in one or "undefined" in one]


def test_the_time_slider_shows_other_weights(opened):
    model, vocabulary = lab.drawkcab()
    new = Transformer(lab.CONFIG, seed=3)
    browser = opened(of_word(weights={"step 0": data_of(new), "trained": data_of(model)}, left_out=[100, 2000]))
    trained = shown(browser)
    assert "no room for the snapshots of step 100, 2,000." in browser.run("document.body.innerText")
    assert browser.run("find('step').textContent") == "trained (2 left out)"
    browser.run("find('time').value = 0; find('time').oninput()")
    expected = record(new.astype("float64"), batch_of(model, vocabulary, "backward"), 0.1)[0]
    assert browser.run("find('step').textContent") == "step 0 (2 left out)" and shown(browser) == pytest.approx(expected, rel=1e-5)
    assert trained < 1 < shown(browser)


def test_a_larger_models_page_holds_recorded_numbers_and_says_so(opened, monkeypatch):
    live = opened(of_word()).run("boxes().map(box => box.getAttribute('aria-label'))")
    monkeypatch.setattr(explorer, "LIVE", 0)
    browser = opened(of_word())
    assert browser.run("boxes().map(box => box.getAttribute('aria-label'))") == live
    assert "recorded numbers of this one text" in browser.run("document.body.innerText")
    assert not browser.run("[find('ask').querySelector('button'), find('break')].some(one => one.checkVisibility())")
    browser.run("find('gradients').click(); boxes().forEach(box => press(box, 'Enter'))")


def language_model(characters, text, **changes):
    vocabulary = CharacterVocabulary(characters)
    model = randomised(LanguageModel(LanguageModelConfig(vocab_size=vocabulary.size, num_layers=2, d_model=8, num_heads=2, d_ff=8,
                                                         dropout=0.1, max_length=40, **changes)), 0.1)
    return page_of(model, vocabulary, text, title=f"a run of {text}"), model


def test_text_is_text(opened):
    """Even if it would end the script that holds it, is Hangul, or a combining mark, which gets something to stand on."""
    text = "</script><b>한\u0301&amp;'\""
    page, model = language_model("".join(sorted({*text})), text)
    browser = opened(page)
    assert browser.run("find('source').value") == text and text in browser.run("document.querySelector('h1').textContent")
    assert browser.run("document.querySelectorAll('b').length") == 0
    assert browser.run("visible('\u0301') + visible(' ')") == "◌\u0301␣"
    assert "한→◌\u0301" in browser.run("queries().join(' ')")


def test_a_line_break_stays_in_the_text(opened):
    """A field would lose it: with the next padding, the page would show the numbers of another text."""
    page, _ = language_model("ab\n", "a\nba")
    browser = opened(page)
    before = browser.run("find('loss').textContent")
    browser.run("find('padding').onchange()")
    assert browser.run("[find('loss').textContent, find('source').value]") == [before, "a↵ba"]


def test_a_token_that_would_end_a_script_is_a_token(opened):
    vocabulary = SymbolVocabulary(["</script>", "<!--", "<script>"])
    model = Transformer(TransformerConfig(source_vocab=6, target_vocab=6, num_layers=1, d_model=8, num_heads=2, d_ff=8))
    browser = opened(page_of(model, vocabulary, "</script> <script>", ""))
    assert browser.run("tokensOf('encoder')") == ["</script>", "<script>", "</s>"] and shown(browser) > 0


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_language_model_has_a_page(opened, pre_norm):
    page, model = language_model("abc", "abcab", pre_norm=pre_norm, positions="learned", attention_dropout=0.1)
    browser = opened(page)
    expected = record(model, batch_of(model, CharacterVocabulary("abc"), "abcab"), 0.0)[0]
    assert shown(browser) == pytest.approx(expected, rel=1e-5) and not browser.run("find('target').checkVisibility()")
    assert not browser.complaints
    nudged = browser.run("boxes().flatMap(box => { press(box, 'Enter'); return nudgeAll(); })")
    assert len(nudged) > 60 and not [text for text in nudged if "✗" in text]
    browser.run("type('source', 'a')")
    assert "too short" in browser.run("find('said').textContent")


def test_what_is_masked_is_said_to_be(opened):
    """A triangle of the decoder's self-attention, whose gradients are 0; nothing in cross-attention, unless there is padding."""
    browser = opened(of_word("abc"))
    browser.run("""var masked = () => {
        openBox(places.findIndex(one => one && one.kind === "mask"));
        const [{ value, grad }] = arraysOf(resolved(places[state.open]), state.numbers), at = [...value.data.keys()];
        return at.filter(i => value.data[i] === -Infinity && grad.data[i] === 0);
    }""")
    assert browser.run("masked()") == [] and "nothing is hidden" in browser.run("panel()")
    browser.run("find('inside').value = 'decoder.layers.*.self_attention'; find('inside').onchange()")
    assert browser.run("masked()") == [16 * head + 4 * t + k for head in range(4) for t in range(4) for k in range(t + 1, 4)]
    assert "nothing is hidden" not in browser.run("panel()")
    browser.run("press(find('open').querySelector('.pair canvas'), 'ArrowRight', 'ArrowRight')")
    assert browser.run("find('open').querySelector('.readout').textContent").endswith("key c: masked; gradient of scores 0")


def test_each_box_stands_for_its_layer(opened):
    """From the bottom up, in each column of the map; of the attention that is chosen, the inside."""
    browser = opened(of_word())
    found = browser.run("places.filter(one => one).map(one => [one.kind, resolved(one).path])")
    layers = {path for _kind, path in found if path}
    assert layers >= {leaf for leaf in (*DECODER, *ENCODER) if not re.search("outer|inner|activation|self_attention[.]", leaf)}
    assert [path.rpartition(".")[2] for kind, path in found if kind == "split"] == ["query", "key", "value"]
    browser.run("find('inside').value = 'encoder.layers.*.self_attention'; find('inside').onchange()")
    inside = browser.run("places.filter(one => one).map(one => resolved(one).path)")
    assert {leaf for leaf in ENCODER if ".self_attention." in leaf} <= {*inside}


def test_a_reader_without_a_mouse_or_without_sight(opened):
    """Every box is a button with a name, Enter opens it, arrow keys walk through its numbers, and each is read out."""
    browser = opened(of_word())
    labels = browser.run("boxes().map(box => [box.getAttribute('role'), box.tabIndex, box.getAttribute('aria-label')])")
    assert len(labels) == 40
    assert all(role == "button" and index == 0 and re.search(r"[A-Za-z]{3}", label) for role, index, label in labels)
    browser.run("press(boxes().find(box => box.getAttribute('aria-label').startsWith('Feed-forward')), 'Enter')")
    assert browser.run("find('open').querySelector('h2').textContent").startswith("Feed-forward")
    browser.run("press(find('open').querySelector('.pair canvas'), 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', "
                "'ArrowDown', 'ArrowLeft', 'ArrowUp')")
    read = browser.run("find('open').querySelector('.readout').textContent")
    assert re.fullmatch(r"y, token a, dimension 1: -?[\d.e-]+; gradient of y -?[\d.e-]+", read)
    assert browser.run("[...document.querySelectorAll('input, select')].every(one => one.closest('label') || one.ariaLabel)")


@pytest.mark.parametrize("width, scheme", [
    (1366, "light"), (390, "dark"), (1366, "dark"), (390, "light")])
def test_the_page_fits_the_screen(opened, width, scheme):
    browser = opened(of_word(), screen=(width, 844, scheme))
    for kind in ("cross_attention", "feed_forward", "softmax", "adam", "loss"):
        browser.run(f"openBox(places.findLastIndex(one => one && one.kind === '{kind}')); 0")
        assert browser.run("document.documentElement.scrollWidth") <= width
        top, bottom, room = browser.run("""(({top, bottom}) => [top, bottom,
            innerWidth < 600 ? find('side').getBoundingClientRect().top : innerHeight])(
            document.querySelector('.box.open').getBoundingClientRect())""")
        assert top >= 0 and bottom <= room    # the open box stays in view
    light = "(colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 765)"
    ground, ink = (browser.run(f"{light}(getComputedStyle(document.body).{what})") for what in ("backgroundColor", "color"))
    assert (ground > 0.9 and ink < 0.2) if scheme == "light" else (ground < 0.2 and ink > 0.8)
    assert browser.run(f"palette('values', 1)(0)[0] {'>' if scheme == 'light' else '<'} 128")


MAP = """(() => {
    const size = one => (({left, top, right, bottom}) => [left, top, right, bottom])(one.getBoundingClientRect());
    const groups = [...figure.querySelectorAll(".box:not(.panel)")].filter(one => one.querySelector("rect"));
    const written = [...figure.querySelectorAll("text")].filter(one => one.textContent && getComputedStyle(one).display !== "none");
    return {
        view: [innerWidth, innerHeight], boxes: groups.map(one => size(one.querySelector("rect"))),
        texts: written.map(one => [one.textContent, ...size(one), parseFloat(getComputedStyle(one).fontSize)]),
        owners: written.map(one => groups.indexOf(one.parentElement)),
        pictures: [...figure.querySelectorAll(".picture[href]")].map(size), breaks: size(find("break")),
        panels: [...figure.querySelectorAll(".panel rect")].map(size), zoom: [...find("zoom").children].map(size),
    };
})()"""


def overlaps(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("kind", ["post-norm", "pre-norm", "language model"])
def test_the_whole_map_is_in_view_and_nothing_covers_anything(opened, kind, width, height):
    """No box, no name: names have at least 11 pixels, stay in their boxes, and no picture is under them."""
    sizes = dict(source_vocab=6, target_vocab=6, num_layers=2, d_model=8, num_heads=2, d_ff=8)
    model, vocabulary = Transformer(TransformerConfig(**sizes, pre_norm=True, attention_dropout=0.1)), SymbolVocabulary("abc")
    page = (of_word() if kind == "post-norm" else language_model("abc", "abcab")[0] if kind == "language model" else
            page_of(model, vocabulary, "abc", "cb", smoothing=0.1))
    for scheme in ("light", "dark"):
        browser = opened(page, screen=(width, height, scheme))
        for shown in ("values", "gradients"):
            browser.run(f"find('{shown}').click()")
            found = browser.run(MAP)
            assert found["view"] == [width, height]
            for left, top, right, bottom in [*found["boxes"], *found["panels"], *found["zoom"], found["breaks"]]:
                assert left >= 0 and top >= 0 and right <= width and bottom <= height
            for i, one in enumerate(found["boxes"]):
                assert not [other for other in [*found["boxes"][:i], found["breaks"], *found["zoom"]] if overlaps(one, other)], one
            for (text, *place, size), owner in zip(found["texts"], found["owners"]):
                assert size >= 11 and not [picture for picture in found["pictures"] if overlaps(place, picture)], text
                if owner >= 0:    # a name in a box; others, such as "memory", stand in the open
                    left, top, right, bottom = found["boxes"][owner]
                    assert left <= place[0] and place[2] <= right and top - 2 <= place[1] and place[3] <= bottom + 2, text
                else:
                    assert not [one for one in [*found["boxes"], found["breaks"]] if overlaps(place, one)], text
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
    """A gradient goes against the arrows of the values, but from the loss to Adam; decoding, token ids and sinusoids have none."""
    browser = opened(of_word())
    for start, end, back, on, _ in browser.run(ARROWS):
        assert not back and (on or end in ("", "Masked", "Self-attention") or not start)
    browser.run("find('gradients').click()")
    seen = set()
    for start, end, back, on, opacity in browser.run(ARROWS):
        without = start in ("Decoding", "Positions") or end in ("Decoding", "Embedding,", "Outputs,")
        if (start, end) == ("Loss", "Adam"):
            assert on and not back and opacity == 1
        elif without or (start, end) in (("Linear,", "Softmax"), ("Softmax", "")):
            assert not on and not back and opacity < 0.5, (start, end)
        elif start and end:
            assert back and not on and opacity == 1, (start, end)
        seen.add((start, end))
    assert {("Linear,", "Loss"), ("Loss", "Adam"), ("Linear,", "Softmax"), ("Decoding", "Outputs,"), ("Inputs", "Embedding,"),
            ("Positions", "+"), ("Embedding,", "+"), ("Scores", "Mask"), ("Mask", "Softmax")} <= seen


def test_an_address_opens_a_box_with_the_whole_map_in_view(opened):
    browser = opened(of_word())
    browser.run("localStorage.clear()")    # a first visit, but not for the tour
    address = browser.run("location.href")
    browser.open("about:blank")
    browser.open(address + "#box-feed_forward")
    assert browser.run("new Promise(done => setTimeout(() => done([scrollY, document.querySelector('.box.open').id]), 300))") == [
        0, "box-feed_forward"]
    assert not browser.run("find('tour').checkVisibility()")


def test_a_title_stands_once(opened):
    browser = opened(of_word())
    assert browser.run("document.body.innerText").count("drawkcab") == 1
    browser = opened(explorer.Page("<!DOCTYPE html>" + of_word()._repr_html_()))
    assert browser.run("getComputedStyle(document.querySelector('iframe').contentDocument.querySelector('h1')).display") == "none"


def test_the_map_can_be_enlarged(opened):
    browser = opened(of_word())
    whole = "[figure.getBoundingClientRect().width, find('drawn').scrollWidth - find('drawn').clientWidth]"
    width, hidden = browser.run(whole)
    browser.run("find('zoom').children[0].click()")
    assert browser.run(whole)[0] > 1.3 * width and browser.run(whole)[1] > 0 >= hidden
    assert not browser.run("find('break').checkVisibility()")
    browser.run("find('zoom').children[1].click()")
    assert browser.run(whole) == [width, hidden] and browser.run("find('break').checkVisibility()")


# What protanopes, deuteranopes and tritanopes see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0).
COLOUR_BLIND = {"none": np.eye(3),
                "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
                "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
                "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_blind_readers_can_tell_the_colours_of_a_scale_apart(opened, scheme):
    browser = opened(of_word("a"), screen=(1366, 844, scheme))
    for kind in ("values", "gradients"):
        colours = np.array(browser.run(f"[-1, 0, 1].map(palette('{kind}', 1))")) / 255
        for matrix in COLOUR_BLIND.values():
            seen = np.clip(colours ** 2.2 @ np.transpose(matrix), 0, 1) ** (1 / 2.2)
            distances = [np.abs(seen[a] - seen[b]).max() for a, b in ((0, 1), (0, 2), (1, 2))]
            assert min(distances) > 0.15, (kind, distances)


def test_a_toy_runs_page_is_small():
    model = Transformer(TransformerConfig.named("toy", 29))
    _, vocabulary = lab.drawkcab()
    one, four = (len(page_of(model, vocabulary, "backward", "drawkcab", smoothing=0.1, title="toy",
                             weights=dict.fromkeys(range(count), data_of(model))).html.encode()) for count in (1, 4))
    assert one < 2.5e6 and four < 6e6


def test_a_notebook_shows_the_page_in_a_cell(opened):
    cell = of_word()._repr_html_()
    assert cell.startswith("<iframe srcdoc=") and "<script>" not in cell
    browser = opened(explorer.Page("<!DOCTYPE html>" + cell))
    inside = browser.run("document.querySelector('iframe').contentDocument.getElementById('loss').textContent")
    assert float(inside.rpartition(" ")[2]) == pytest.approx(loss_of("backward"), rel=1e-5)
