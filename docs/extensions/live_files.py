"""What a page that runs is made of: its HTML, what its scripts say, the library's wheel, and the
files of the engine.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

from front import figure_1
from live_minutes import long_cells, minutes

from minitransformer.errors import InputError
from minitransformer_course.judge.course import chapters
from minitransformer_course.messages import _

ROOT = Path(__file__).parents[2]
HERE = ROOT / "docs" / "live"
PINNED = json.loads((HERE / "engine.json").read_text(encoding="utf-8"))
FILES = {name: file for kind in PINNED["files"].values() for name, file in kind.items()}
SECONDS, PATIENCE = 30, 1800  # of a run, and of one of the book's own cells
SILENCE = 20  # seconds without a byte of a download
POLICY = (
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; "
    "connect-src 'self' {elsewhere}; object-src 'none'; base-uri 'none'"
)


def policy(own_engine: bool) -> str:
    """Requests go to the site and to the engine's address only, those of a worker made from a blob
    too.
    """
    content = POLICY.format(elsewhere="" if own_engine else PINNED["address"])
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def examples() -> dict[str, str]:
    """README's programs: a layer whose check passes, and one whose check fails."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    right, wrong = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)[:2]
    return {"right": right, "wrong": wrong}


def sentences() -> dict[str, str]:
    """What the scripts say."""
    return {
        "loading": _("Downloading, then starting Python ..."),
        "started": _("Python is running in this page."),
        "editor": _("Your layer, in Python"),
        "empty": _("The report appears here."),
        "running": _("Checking ..."),
        "passed": _("Passed."),
        "failed": _("Not yet: the check failed."),
        "error": _("The program did not reach its end."),
        "unchecked": _("Nothing was checked: the program never calls gradcheck(layer, inputs)."),
        "line": _("Look at line {n}."),
        "time": _("Stopped after {n} s: an endless loop?"),
        "memory": _("Stopped: it needs more than 1 GB of memory. Does a list grow for ever?"),
        "lost": _("Stopped in a call that never returned. A new Python starts; your text is kept."),
        "again": _("What the cells made is gone: run again what you need."),
        "working": _("Running ..."),
        "cell": _("Cell {n}, in Python"),
        "exercise": _("Your {n}, in Python"),
        "picture": _("What the cell draws"),
        "uses": _("From now on this page uses yours. Run the cells below again to see it."),
        "yours": _("It passed, and this page uses it."),
        "newer": _("An earlier text of yours passed, and this page uses that one."),
        "gone": _(
            "It passed with another version of this site, but not with this one, so the page uses "
            "the reference. Check it to see why."
        ),
        "full": _(
            "This text is not kept: the browser's storage is full or forbidden. It is gone when "
            "you leave the page, unless you copy it."
        ),
        "other": _(
            "This text is not kept, because another tab has changed this exercise. Copy it, then "
            "reload the page to see the other one."
        ),
        "newest": _("Another tab has changed this exercise. This is its text."),
        "paused": _("Stopped. It can go on from here."),
        "run": _("Run"),
        "cost": _("It computes for about {n} min in this page."),
        "upTo": _("Run up to here"),
        "check": _("Check"),
        "hint": _("Hint"),
        "solution": _("Solution"),
        "stopped": _("Stopped. A new Python starts; your text is kept."),
        "broken": _("Python broke down. A new one starts; your text is kept."),
        "boot": _("Python did not start. Close other pages, and press again."),
        "missing": _("{name} could not be downloaded. Check the connection, and press again."),
        "wrong": _(
            "{name} is not the file that this page was made for, so none of it is run. Something "
            "between its source and this page has changed it."
        ),
        "insecure": _("A browser checks what it downloads only on https or on localhost."),
    }


def door(page: str, needs: Sequence[str], source: str, wheel: dict, tools: str) -> str:
    """The press, with what it costs, in whose place `tools` come once Python runs."""
    files = [file for kind in needs for file in PINNED["files"][kind].values()]
    megabytes = sum(file["bytes"] for file in (*files, wheel)) / 1e6
    said = {
        "disk": _(
            "A page from the disk cannot run Python. Serve it: docs/live.md has the command."
        ),
        "webassembly": _(
            "This browser runs no WebAssembly, which Python needs here. Use another browser, or "
            "install the library: README has the command."
        ),
        "missing": _("A part of this page is missing. Check the connection, and press again."),
    }
    data = "".join(f' data-{name}="{escape(text)}"' for name, text in said.items())
    packages = "NumPy, Matplotlib" if "pictures" in needs else "NumPy"
    cost = _(
        "This downloads {n:.0f} MB: Python for the browser with {packages} from {source}, and this "
        "library."
    ).format(n=megabytes, packages=packages, source=source)
    stays = {
        "check": _("What you write stays in this page."),
        "train": _("Your text stays in this page."),
        "yours": _("What you wrote is read from this browser and sent nowhere."),
        "chapter": _(
            "What you write in an exercise is kept in this browser and sent nowhere; a private "
            "window forgets it."
        ),
    }
    edits = page in ("check", "chapter")
    keys = _("Ctrl+Enter runs what you edit. Escape, then Tab, leaves the editor.") if edits else ""
    data += f' data-script="{page if edits else "parts"}" data-files="{" ".join(needs)}"'
    return f"""<div class="live" data-live="{page}"{data}>
<div class="live-door">
<p class="live-status" role="status">{cost} {stays[page]}</p>
<button type="button" class="live-press" hidden>{_("Run this page here")}</button>
<progress class="live-progress" aria-label="{_("Download")}" value="0" hidden></progress>
<noscript>{_("This page runs Python with JavaScript, which is turned off.")}</noscript>
<div class="live-tools" hidden>
{tools}
<button type="button" class="live-stop" aria-disabled="true">{_("Stop")}</button>
<span class="live-keys" id="live-keys">{keys}</span>
</div>
</div>"""


def check(source: str, wheel: dict) -> str:
    """The page "Check your own layer", in Markdown: an editor, and the report beside it."""
    tools = f"""<button type="button" class="live-check">{_("Check")}</button>
<button type="button" data-example="right">{_("A layer that is right")}</button>
<button type="button" data-example="wrong">{_("One that is wrong")}</button>"""
    return f"""
{door("check", ("runtime", "numpy"), source, wheel, tools)}
<div class="live-desk">
<div class="live-code">

```python
{examples()["right"]}```

</div>
<section class="live-report" aria-label="{_("Report")}" tabindex="0">
<div class="live-verdict" role="status"><p>{_("The report appears here.")}</p></div>
<pre class="live-printed"></pre>
</section>
</div>
</div>
"""


def train(source: str, wheel: dict) -> str:
    """The page "Train": a task, its loss while it runs, and what to do with the model."""
    tasks = {
        "copy": _("Copy a word: cab, cab. About 3 minutes"),
        "reverse": _("Write it backwards: cab, bac. About 4 minutes"),
        "sort": _("Sort its letters: cab, abc. About 20 minutes"),
        "language": _("Go on writing a text of yours. About 5 minutes"),
    }
    options = "".join(f'<option value="{name}">{said}</option>' for name, said in tasks.items())
    form = f"""<form>
<label>{_("What it learns")} <select class="live-task">{options}</select></label>
<label>{_("Your text, for the last of these: 10,000 characters or more")}
<textarea class="live-text" rows="9" spellcheck="false"></textarea></label>
</form>"""
    more = f"""<button value="explore">{_("Explore")}</button>
<button value="download">{_("Download the run")}</button>"""
    return parts("train", ("runtime", "numpy"), source, wheel, more, before=form)


def yours(source: str, wheel: dict) -> str:
    """The page "Your Transformer": the map of what is the reader's, and a model of it."""
    picture = figure_1().replace('"../', '"../../')
    more = f'<button value="download">{_("Download a page for a friend")}</button>'
    # behind what the page is for, since the Tab key passes fifty boxes
    return parts("yours", PINNED["files"], source, wheel, more, behind=work(picture))


def parts(
    page: str,
    needs: Sequence[str],
    source: str,
    wheel: dict,
    more: str,
    before: str = "",
    behind: str = "",
) -> str:
    """A page that trains (parts.js): `more` are the buttons beside "Try it", and what stands before
    and behind the run.
    """
    tools = f"""<button type="button" class="live-check">{_("Train")}</button>
<button type="button" class="live-on" aria-disabled="true">{_("Go on")}</button>"""
    return f"""
{door(page, needs, source, wheel, tools)}
<div class="live-desk">
{before}
<section class="live-report" aria-label="{_("The training run")}">
<div class="live-verdict" role="status"><p>{_("The loss appears here.")}</p></div>
<div class="live-step">&nbsp;</div>
<div class="live-curve"></div>
<form>
<label>{_("For the model to read")} <input class="live-given" maxlength="200" value="cab"></label>
<button value="say">{_("Try it")}</button>
{more}
<p class="live-answer" role="status"></p>
</form>
</section>
{behind}
</div>
</div>
"""


def chapter(source: str, wheel: dict, name: str) -> str:
    """What the page of that chapter begins with."""
    cells, text = long_cells(name), _("Run all cells")
    if cells:
        cost = _("about {n} min")
        text += f" ({cost.format(n=minutes(sum(cells.values())))})"
    said = escape(json.dumps({cell: minutes(seconds) for cell, seconds in cells.items()}))
    tools = f'<button type="button" class="live-all" data-minutes="{said}">{text}</button>'
    return f"{door('chapter', PINNED['files'], source, wheel, tools)}\n</div>"


def named() -> dict[str, list[str]]:
    """{name of a chapter: the names of its exercises}"""
    return {one.name: [each.name for each in one.exercises] for one in chapters() if one.exercises}


def work(picture: str = "") -> str:
    """What shows the reader's work on a page (work.js). picture: the map, which is shown once there
    is work, with the ways to take it along.
    """
    said = {
        "count": _("{n} of {all} passed"),
        "own": _("yours"),
        "summary": _("{n} of {all} functions are yours."),
        "unknown": _(
            "This version of the site has no exercise {names}; what you wrote is in the file that "
            "you take with you."
        ),
        "replace": _("Something else is here for {names}. Replace it with what the file has?"),
        "notWork": _(
            "{name} holds no exercises. Choose a file that the button beside this one wrote."
        ),
        "brought": _("Here now, from {name}: {names}."),
        "noRoom": _(
            "Only these are here now, from {name}, because the browser's storage is full or "
            "forbidden: {names}."
        ),
        "file": _(
            "What I wrote on the pages of minitransformer. `minitransformer learn start --from "
            "my_work.py` takes it up in a folder, and the page of the chapters in a browser."
        ),
    }
    data = escape(json.dumps({"chapters": named(), "sentences": said}, ensure_ascii=False))
    inside = f"""{picture}
<p class="live-status" role="status"></p>
<div class="live-tools" hidden>
<button type="button" class="live-take">{_("Take it with you")}</button>
<button type="button" class="live-bring">{_("Bring it here")}</button>
<input type="file" accept=".py" aria-label="{_("A file with your work")}" hidden>
</div>"""
    return f'<div class="live-work" data-work="{data}">\n{inside if picture else ""}\n</div>'


PAGES = {"check": check, "train": train, "yours": yours}  # of docs/live


def build_wheel(folder: Path) -> dict:
    """The library's wheel, built into an empty folder: its name, size and hash."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    content = wheel.read_bytes()
    return {"name": wheel.name, "bytes": len(content), "sha384": sha384(content)}


def sha384(content: bytes) -> str:
    return base64.b64encode(hashlib.sha384(content).digest()).decode()


def write_files(folder: Path, wheel: dict, engine: str) -> None:
    """The scripts, their settings, and the engine if it is a folder."""
    for script in (*HERE.glob("*.js"), *HERE.glob("*.css")):
        shutil.copy(script, folder)
    shutil.copytree(HERE / "vendor", folder / "vendor")
    settings = {
        "address": "pyodide/" if engine else PINNED["address"],
        "files": PINNED["files"],
        "lock": PINNED["lock"],
        "wheel": wheel,
        "seconds": SECONDS,
        "patience": PATIENCE,
        "silence": SILENCE,
        "sentences": sentences(),
        "examples": examples(),
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    if engine:
        copy_engine(Path(engine), folder / "pyodide")


def copy_engine(source: Path, target: Path) -> None:
    """The pinned files of an unpacked release. Raises InputError for a missing or another one."""
    target.mkdir()
    for name, pin in FILES.items():
        if not (source / name).is_file():
            raise InputError(
                f"live_engine: {source} has no {name}; docs/live.md says what it needs"
            )
        if sha384((source / name).read_bytes()) != pin["sha384"]:
            raise InputError(f"live_engine: {source / name} is not the file at {PINNED['address']}")
        shutil.copy(source / name, target)
