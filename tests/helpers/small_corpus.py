"""Made-up corpora, and the server on this machine that they are downloaded from."""

import http.server
import threading
from hashlib import sha256

import pytest

FILES = {
    "raw/train.en.gz": b"\x1f\x8b not text",
    "raw/val.en.gz": b"\x1f\x8b other bytes" * 9000,
    "tok/train.en": b"a dog .\n",
}
POEM = "Rosen auf den Weg gestreut\r\nund des Harms vergessen: \nüber\n" * 7


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`, {name: bytes}, and 404 for everything else; `asked` lists the requested
    names.

    For those in `broken` it sends half and closes the connection.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.broken, self.asked = {**FILES, "poem.txt": POEM.encode()}, set(), []
        self.address = f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/")
        self.server.asked.append(name)
        data = self.server.files.get(name)
        if data is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if name in self.server.broken else data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server with FILES and POEM, and the corpora "small" and "poem" that it serves."""
    from minitransformer.data import registry

    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    small = registry.Corpus(
        base=server.address,
        terms="Terms: none.",
        task="translate",
        train=("tok/train.en", "tok/train.en"),
        valid=("tok/train.en", "tok/train.en"),
        sha256={name: sha256(data).hexdigest() for name, data in FILES.items()},
    )
    poem = small._replace(
        train=("train.txt",),
        valid=("valid.txt",),
        split=registry.split_characters,
        task="language",
        sha256={"poem.txt": sha256(POEM.encode()).hexdigest()},
    )
    monkeypatch.setitem(registry.CORPORA, "small", small)
    monkeypatch.setitem(registry.CORPORA, "poem", poem)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
