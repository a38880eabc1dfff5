"""A headless Firefox, driven through Marionette, the protocol that it speaks itself: no other
package is needed.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time

NAMES = ("firefox", "firefox-esr")


def find():
    """The path of a Firefox, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """Opens pages. What their scripts raise is in `complaints` after `open`."""

    def __init__(self):
        self._profile, self._number, self._unread = tempfile.mkdtemp(), 0, b""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(f"{self._profile}/user.js", "w", encoding="utf-8") as settings:
            settings.write(
                f'user_pref("marionette.port", {port});\nuser_pref("network.proxy.type", 1);\n'
                'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
            )  # no network
        self._process = subprocess.Popen(
            [find(), "--headless", "--marionette", "--no-remote", "--profile", self._profile],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
                break
            except OSError:
                time.sleep(0.2)
        self._message()
        self.call(
            "WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}}
        )

    def screen(self, width, height):
        """The size of the page, without what the window has around it."""
        for _ in range(2):
            around = self.run("[outerWidth - innerWidth, outerHeight - innerHeight]")
            self.call(
                "WebDriver:SetWindowRect",
                {"width": width + around[0], "height": height + around[1]},
            )

    def open(self, url):
        self.call("WebDriver:Navigate", {"url": url})

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        answer = self.call(
            "WebDriver:ExecuteScript",
            {"script": "return (0, window.eval)(arguments[0])", "args": [script], "sandbox": None},
        )
        return answer["value"]

    def press(self, *keys):
        """Real keys, in whatever has the focus."""
        actions = [{"type": what, "value": key} for key in keys for what in ("keyDown", "keyUp")]
        self.call(
            "WebDriver:PerformActions",
            {"actions": [{"type": "key", "id": "keys", "actions": actions}]},
        )

    def picture(self):
        """A screenshot as PNG in base64."""
        return self.call("WebDriver:TakeScreenshot", {"full": False})["value"]

    def call(self, name, arguments):
        self._number += 1
        text = json.dumps([0, self._number, name, arguments])
        self._socket.sendall(f"{len(text.encode())}:{text}".encode())
        _, number, error, result = self._message()
        assert number == self._number and error is None, error
        return result

    def close(self):
        self.call("Marionette:Quit", {"flags": ["eForceQuit"]})
        self._process.wait(timeout=30)
        self._socket.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _message(self):
        while b":" not in self._unread:
            self._read()
        size, _, self._unread = self._unread.partition(b":")
        while len(self._unread) < int(size):
            self._read()
        message, self._unread = self._unread[: int(size)], self._unread[int(size) :]
        return json.loads(message)

    def _read(self):
        read = self._socket.recv(1 << 16)
        assert read, "the browser is gone"
        self._unread += read
