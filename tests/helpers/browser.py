"""A headless Chromium or Firefox, the one that the system has, driven by Playwright."""

import importlib.util
import json
import re
import shutil
from functools import cache

import pytest

NAMES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "firefox": ("firefox-esr", "firefox"),
}
HOW = {
    "chromium": {
        "args": ["--disable-gpu", "--disable-quic", "--disable-sync"],
        "ignore_default_args": ["--disable-back-forward-cache"],  # Python starts faster with it
    },
    "firefox": {"channel": "moz-firefox"},  # one that Playwright did not change
}


class Browser:
    """Opens files below one folder, or of one server (its address). Every other request fails, and
    is in `refused`; what the console says is in `complaints`, and the dialogs that were
    accepted are in `asked`. What else a browser can do is Playwright's `page`.
    """

    def __init__(self, place, kind="chromium"):
        program = next(filter(None, map(shutil.which, NAMES[kind])), None)
        if program is None:
            pytest.skip(f"no {kind.title()} in the PATH")
        if importlib.util.find_spec("playwright") is None:
            pytest.skip('no Playwright: pip install -e ".[test]"')
        self.refused, self.complaints, self.asked = [], [], []
        browser = getattr(_playwright(), kind).launch(executable_path=program, **HOW[kind])
        self.page = browser.new_page(no_viewport=True)
        self.page.set_default_timeout(120_000)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._accept)
        place = place if isinstance(place, str) else place.resolve().as_uri() + "/"
        elsewhere = re.compile(f"^(?!data:|{re.escape(place)})")
        self.page.context.route(elsewhere, self._refuse)
        self._devtools = kind == "chromium" and self.page.context.new_cdp_session(self.page)

    def screen(self, width, height, scheme="light"):
        """Chromium shows a narrow page as a phone does."""
        size = {"width": width, "height": height}
        self.page.emulate_media(color_scheme=scheme)
        if self._devtools:
            size |= {"deviceScaleFactor": 1, "mobile": width < 600}
            self._devtools.send("Emulation.setDeviceMetricsOverride", size)
        else:
            self.page.set_viewport_size(size)

    def open(self, url):
        self.page.goto(url)

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        return self.page.evaluate(script)

    def press(self, *keys):
        """Real keys, such as "Tab", "a" or "Control+Enter", in whatever has the focus."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text):
        """Paste, in whatever has the focus."""
        self.run(f"navigator.clipboard.writeText({json.dumps(text)})")
        self.press("Control+v")

    def close(self):
        self.page.context.browser.close()

    def _refuse(self, route):
        self.refused.append(route.request.url)
        route.abort("accessdenied")

    def _hear(self, message):
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(message.text)

    def _accept(self, dialog):  # it asks whether to leave
        self.asked.append(dialog.type)
        dialog.accept()


@cache
def _playwright():
    """One for all browsers of a process: it keeps the event loop of its thread."""
    from playwright.sync_api import sync_playwright

    return sync_playwright().start()
