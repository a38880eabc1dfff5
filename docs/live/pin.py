"""Pin the Python that runs in the pages: `python docs/live/pin.py FOLDER > docs/live/engine.json`.

FOLDER is an unpacked release of Pyodide. A newer one needs this, a reading of worker.js (how it
loads its files, and how it asks whether it is interrupted), and the campaign of tests/course/live.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

RUNTIME = "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"
NEEDED = {"numpy": ["numpy"], "pictures": ["matplotlib"]}  # {what for: packages}


def sha384(content: bytes) -> str:
    return base64.b64encode(hashlib.sha384(content).digest()).decode()


def file(path: Path) -> dict:
    content = path.read_bytes()
    return {"bytes": len(content), "sha384": sha384(content)}


def with_dependencies(names, packages) -> list[str]:
    found = dict.fromkeys(names)
    for name in names:
        found |= dict.fromkeys(with_dependencies(packages[name]["depends"], packages))
    return list(found)


def pinned(folder: Path) -> dict:
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages, taken, files = lock["packages"], {}, {"runtime": RUNTIME}
    for purpose, names in NEEDED.items():
        new = [name for name in with_dependencies(names, packages) if name not in taken]
        taken |= {name: packages[name] for name in new}
        files[purpose] = [packages[name]["file_name"] for name in new]
    return {
        "address": f"https://cdn.jsdelivr.net/pyodide/v{lock['info']['version']}/full/",
        "files": {
            purpose: {name: file(folder / name) for name in sorted(names)}
            for purpose, names in files.items()
        },
        "lock": {"info": lock["info"], "packages": taken},
    }


if __name__ == "__main__":
    print(json.dumps(pinned(Path(sys.argv[1])), indent=1, sort_keys=True))
