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

    def tab_to(self, name):
        for _ in range(12):
            if self.focus == name:
                return
            self.browser.press("Tab")
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
        self.browser.press("a", modifiers=2)
        self.browser.type(code)
        assert self.run('document.querySelector(".cm-content").textContent')
        self.browser.press("Enter", modifiers=2)
        return self.wait_for_verdict()

    def wait_for_verdict(self):
        self.wait_until(
            '!["", "running"].includes(document.querySelector(".live").dataset.verdict ?? "")'
        )
        return self.verdict

    def wait_until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, (condition, self.status)
            time.sleep(0.05)

    def wait_for_status(self, words):
        self.wait_until(f"{STATUS}.includes({json.dumps(words)})", seconds=30)
