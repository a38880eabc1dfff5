"""The page, as somebody with a keyboard uses it."""

import json
import time

VERDICT = """(() => {
    const page = document.querySelector(".live");
    const find = name => page.querySelector(`.live-${name}`);
    return {
        kind: page.dataset.verdict ?? "",
        said: [...find("verdict").children].map(one => one.textContent),
        printed: find("printed").textContent,
        marked: [...page.querySelectorAll(".live-mark")].map(one => one.textContent),
        inside: find("verdict").querySelectorAll("p *").length + find("printed").childElementCount,
    };
})()"""
FOCUS = """(one => one.closest(".cm-editor") ? "editor" : one.textContent.trim().slice(0, 40))(
    document.activeElement)"""
STATUS = 'document.querySelector(".live-status").textContent'
PRESS = "Run this page here"
WAIT = """(async () => {{
    const end = Date.now() + {milliseconds};
    while (!({condition}) && Date.now() < end) await new Promise(done => setTimeout(done, 50));
    return Boolean({condition});
}})()"""
WATCH = """(() => {    // until Stop has nothing to stop any more
    const stop = document.querySelector(".live-stop");
    window.ended = new Promise(done => new MutationObserver((_changes, observer) => {
        if (stop.ariaDisabled === "true") { observer.disconnect(); done(); }
    }).observe(stop, {attributes: true}));
})()"""


class Page:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def open(self):
        self.browser.open(self.address)
        return self

    def run(self, script):
        return self.browser.run(script)

    @property
    def verdict(self):
        return self.run(VERDICT)

    @property
    def status(self):
        return self.run(STATUS)

    @property
    def focus(self):
        return self.run(FOCUS)

    def tab_to(self, name, key="Tab"):
        for _ in range(12):
            if self.focus == name:
                return
            self.browser.press(key)
        raise AssertionError(f"the Tab key does not reach {name!r}")

    def press(self):
        """The one press, by the keyboard."""
        self.tab_to(PRESS)
        self.browser.press("Enter")

    def start(self):
        """The first verdict, and the seconds from the press on."""
        began = time.monotonic()
        self.press()
        verdict = self.wait_for_verdict()
        return verdict, time.monotonic() - began

    def check(self, code):
        """The verdict on a text, written and checked by the keyboard alone."""
        assert self.focus == "editor"
        self.browser.press("Control+a")
        self.browser.type(code)
        assert self.run('document.querySelector(".cm-content").textContent')
        self.browser.press("Control+Enter")
        return self.wait_for_verdict()

    def wait_for_verdict(self):
        self.wait_until(
            '!["", "running"].includes(document.querySelector(".live").dataset.verdict ?? "")'
        )
        return self.verdict

    def wait_until(self, condition, seconds=60):
        script = WAIT.format(condition=condition, milliseconds=1000 * seconds)
        assert self.run(script), (condition, self.status)

    def wait_for_status(self, words):
        self.wait_until(f"{STATUS}.includes({json.dumps(words)})", seconds=30)


class ChapterPage(Page):
    """A page with cells and exercises; a place is an expression for the element of one of them."""

    def start(self):
        self.press()
        self.wait_until("document.querySelector('.live-press').hidden")
        return self

    def text(self, place):
        return self.run(f"[...{place}.querySelectorAll('.cm-line')].map(one => one.innerText)")

    def write(self, place, code):
        """Into the editor of a place, by the keyboard."""
        self.run(f"{place}.querySelector('.cm-content').focus()")
        self.browser.press("Control+a")
        self.browser.type(code)

    def work(self, *keys):
        """Press keys that make Python work, until it has."""
        self.run(WATCH)
        self.browser.press(*keys)
        self.run("ended.then(() => 0)")

    def check(self, exercise, code):
        """What the judge says beside the exercise, checked by the keyboard."""
        self.write(exercise, code)
        self.work("Control+Enter")
        return self.said(exercise)

    def said(self, exercise):
        return self.run(f"{exercise}.querySelector('.live-verdict').textContent")

    def output(self, cell, code):
        """What a cell prints."""
        self.write(cell, code)
        self.work("Control+Enter")
        return self.run(f"{cell}.querySelector('.cell_output').textContent")


# The page "Train", and what is kept of it
PLACE = 'document.activeElement.className.replace("live-", "") || document.activeElement.value'


STEP = 'document.querySelector(".live-step").textContent'


SAID = 'document.querySelector(".live-verdict").textContent'


ANSWER = 'document.querySelector(".live-answer").textContent'


GONE_ON = "document.querySelector('.live-on').ariaDisabled === 'false'"


KEPT = """(() => {    // what is given to be downloaded
    const make = URL.createObjectURL;
    URL.createObjectURL = blob => { window.given = blob; return make.call(URL, blob); };
})()"""


READ = """given.arrayBuffer().then(all => {
    let text = "";
    for (const byte of new Uint8Array(all)) text += String.fromCharCode(byte);
    return btoa(text);
})"""


def to(page, place):
    """Tab to a place, from the top."""
    page.run("document.querySelector('.live-check').focus()")
    for _ in range(12):
        if page.run(PLACE) == place:
            return
        page.browser.press("Tab")
    raise AssertionError(f"the Tab key does not reach {place!r}")


def press(page, place):
    to(page, place)
    page.browser.press("Enter")


# A chapter's page
EXERCISE = "document.querySelector('[data-name=softmax_backward]')"


RIGHT = """def softmax_backward(dp, p):
    print("<b>mine</b>")
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))
"""


CHECKED = """
import numpy as np
from minitransformer import gradcheck
from minitransformer.layers import Linear
rng = np.random.default_rng(0)
print(gradcheck(Linear(3, 2, rng), [rng.standard_normal((2, 3))]))
"""
TANH = """import numpy as np
from minitransformer import gradcheck

def forward(x):
    y = np.tanh(x)
    return y, y

def backward(dy, y):
    return dy * (1 - y)

print(gradcheck((forward, backward), [np.random.default_rng(0).standard_normal((2, 3))]))
"""
