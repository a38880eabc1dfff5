"""A headless Chromium, driven through its DevTools pipe: no other package is needed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CODES = {"Tab": 9, "Enter": 13, "Escape": 27}  # of keys that write nothing
AS_3_AND_4 = """if True:    # the two file descriptors on which Chromium listens and answers
    import os, sys
    ours = [os.dup(int(number)) for number in sys.argv[1:3]]
    os.dup2(ours[0], 3)
    os.dup2(ours[1], 4)
    os.set_inheritable(3, True)
    os.set_inheritable(4, True)
    os.execv(sys.argv[3], sys.argv[3:])
"""


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """Opens files below one folder, or of one server (its address). Every other request fails, and
    is in `refused`; what the console says is in `complaints`, and the dialogs that were
    accepted are in `asked`.
    """

    def __init__(self, place):
        self.place = place if isinstance(place, str) else place.resolve().as_uri() + "/"
        self.refused, self.complaints, self.asked, self._number = [], [], [], 0
        self._profile = tempfile.mkdtemp()
        read, their_write = os.pipe()
        their_read, write = os.pipe()
        arguments = [
            find(),
            "--headless",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-quic",
            "--disable-sync",
            f"--user-data-dir={self._profile}",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", AS_3_AND_4, str(their_read), str(their_write), *arguments],
            pass_fds=(their_read, their_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_read)
        os.close(their_write)
        self._from, self._to = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._unread, self._session = b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", patterns=[{"urlPattern": "*"}])

    def screen(self, width, height, scheme):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def open(self, url):
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._handle(self._message())

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, *keys, modifiers=0):
        """Real keys, such as "Tab" or "a", in whatever has the focus. modifiers: 2 for Ctrl, 8 for
        Shift.
        """
        for key in keys:
            written = {"Enter": "\r"}.get(key, key if len(key) == 1 and not modifiers else "")
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key if len(key) > 1 else f"Key{key.upper()}",
                    windowsVirtualKeyCode=CODES.get(key, ord(key[0].upper())),
                    modifiers=modifiers,
                    **({"text": written} if written and kind == "keyDown" else {}),
                )

    def type(self, text):
        """As if it were pasted, in whatever has the focus."""
        self.call("Input.insertText", text=text)

    def call(self, method, **arguments):
        number = self._send(method, arguments)
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._handle(message)

    def close(self):
        self._send("Browser.close", {}, session=None)
        self._process.wait(timeout=20)
        self._from.close()
        self._to.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, method, arguments, session=...):
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        session = self._session if session is ... else session
        if session:
            message["sessionId"] = session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        return self._number

    def _message(self):
        while b"\0" not in self._unread:
            read = self._from.read1(1 << 16)
            assert read, "the browser is gone"
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _handle(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Page.javascriptDialogOpening":  # it asks whether to leave
            self.asked.append(values["type"])
            self._send("Page.handleJavaScriptDialog", {"accept": True})
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(values["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and values["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.complaints.append(str(values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.complaints.append(values["entry"]["text"])
        elif method == "Fetch.requestPaused":
            url = values["request"]["url"]
            if url.startswith((self.place, "data:")):
                self._send("Fetch.continueRequest", {"requestId": values["requestId"]})
            else:
                self.refused.append(url)
                self._send(
                    "Fetch.failRequest",
                    {"requestId": values["requestId"], "errorReason": "AccessDenied"},
                )
