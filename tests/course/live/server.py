"""Small servers on the loopback address: one that can break what it serves, and one that only
counts.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer


class _Running:
    """A server that runs within a `with`."""

    def __init__(self, handler):
        self.requests = []  # the paths that were asked for
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Canary(_Running):
    def __init__(self):
        super().__init__(_Count)


class Server(_Running):
    """Serves a folder. broken: {end of a path: "missing", "aborted", "silent", "cut" or "another"}.

    changes: what is different in settings.json.
    """

    def __init__(self, folder):
        super().__init__(_Serve)
        self.folder, self.broken, self.changes = folder, {}, {}


class _Count(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.owner.requests.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()

    def log_message(self, *_words):
        pass


class _Serve(SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(arguments[2].owner.folder))

    def do_GET(self):
        owner = self.server.owner
        path = self.path.partition("?")[0]
        owner.requests.append(path)
        how = next((how for end, how in owner.broken.items() if path.endswith(end)), None)
        if path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        elif how:
            getattr(self, f"_{how}")()
        elif path.endswith("settings.json"):
            settings = json.loads((owner.folder / path[1:]).read_text(encoding="utf-8"))
            self._send(json.dumps(settings | owner.changes).encode())
        else:
            super().do_GET()

    def _send(self, content, length=None):
        self.send_response(200)
        self.send_header("Content-Length", str(length or len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def _missing(self):
        self.send_error(404)

    def _aborted(self):
        self._send(b"a beginning", length=1000)
        self.close_connection = True

    def _silent(self):
        self._send(b"a beginning", length=1000)
        time.sleep(6)

    def _cut(self):
        content = (self.server.owner.folder / self.path[1:].partition("?")[0]).read_bytes()
        self._send(content[: len(content) // 2])

    def _another(self):
        self._send(b"another file")

    def log_message(self, *_words):
        pass
