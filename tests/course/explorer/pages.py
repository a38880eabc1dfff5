"""Pages for the browser, and what is asked of them there."""

from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.models import LanguageModel, LanguageModelConfig
from minitransformer_course import lab
from minitransformer_course.explorer.page import batch_of, make_page
from minitransformer_course.explorer.recorded import record
from tests.helpers.randomised import randomised

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


def data_of(model):
    return {name: parameter.data for name, parameter in model.parameters().items()}


def page_of(model, vocabulary, *texts, smoothing=0.0, title="a run", weights=None, left_out=()):
    weights = weights or {"trained": data_of(model)}
    return make_page(
        model, vocabulary, batch_of(model, vocabulary, *texts), smoothing, title, weights, left_out
    )


def of_word(word="backward", target=None, **options):
    return page_of(
        *lab.drawkcab(), word, target, **{"smoothing": 0.1, "title": "drawkcab", **options}
    )


def loss_of(word, target=None, smoothing=0.1):
    model, vocabulary = lab.drawkcab()
    return record(model.astype("float64"), batch_of(model, vocabulary, word, target), smoothing)[0]


def shown(browser):
    return float(browser.run("find('loss').textContent").rpartition(" ")[2])


def language_model(characters, text, **changes):
    vocabulary = CharacterVocabulary(characters)
    model = randomised(
        LanguageModel(
            LanguageModelConfig(
                vocab_size=vocabulary.size,
                num_layers=2,
                d_model=8,
                num_heads=2,
                d_ff=8,
                dropout=0.1,
                max_length=40,
                **changes,
            )
        ),
        0.1,
    )
    return page_of(model, vocabulary, text, title=f"a run of {text}"), model


def leaves(layer, *sublayers):
    """The layers in a layer of a stack, in the order in which gradients arrive."""
    inside = {
        "feed_forward": "outer activation inner",
        "attention": "output weighted_sum value softmax scores key query",
    }
    for name in sublayers:
        yield from (f"{layer}.{name}_residual.{part}" for part in ("norm", "add"))
        yield from (
            f"{layer}.{name}.{part}"
            for part in inside[name if name in inside else "attention"].split()
        )


DECODER = [
    *leaves("decoder.layers.0", "feed_forward", "cross_attention", "self_attention"),
    "target_input.positions",
]
ENCODER = [*leaves("encoder.layers.0", "feed_forward", "self_attention"), "source_input.positions"]
