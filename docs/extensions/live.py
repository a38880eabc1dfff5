"""Pages in which the reader's Python runs: the chapters, and those of docs/live/, where a line
such as `live check` becomes the page's own part.

Setting: `live_engine`, a folder with an unpacked release of Pyodide, which is then served beside
the site; without it, a page downloads that release from its public address.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import front
import live_files
from sphinx.errors import ConfigError

from minitransformer.errors import InputError
from minitransformer_course.messages import _

PLACE = "_static/live"
WORK = """
## {title}

{text}

{work}
"""
OWN_PART = re.compile("^live (check|train|yours)$", re.MULTILINE)
CELL = re.compile("^(?=# %%)", re.MULTILINE)  # where one begins


def build(app) -> None:
    app.live_wheel = live_files.build_wheel(Path(app.outdir, PLACE))


def fill(app, docname, content) -> None:
    public = urlsplit(live_files.PINNED["address"]).hostname
    source = _("this site") if app.config.live_engine else public
    if docname.startswith("docs/live/"):
        content[0] = OWN_PART.sub(
            lambda found: live_files.PAGES[found[1]](source, app.live_wheel), content[0]
        )
    elif docname == "docs/index":
        content[0] += f"\n{live_files.work()}\n"
    elif docname == "tutorials/README":
        content[0] += WORK.format(
            title=_("Your work"),
            text=_(
                "What you write in an exercise of a chapter's page is kept in this browser. Here "
                "you see which parts of the model are yours. *Take it with you* downloads one file, "
                "which `minitransformer learn start --from FILE` takes up in a folder, and *Bring "
                "it here* takes up in another browser."
            ),
            work=live_files.work(front.figure_1()),
        )
    elif docname.endswith("/chapter"):  # after the title
        door = live_files.chapter(source, app.live_wheel, docname.split("/")[1])
        cell = "# %% [markdown]\n" + "".join(f"# {line}\n" for line in door.splitlines())
        before, title, *cells = CELL.split(content[0])
        content[0] = "".join([before, title, cell, *cells])


def open_page(app, pagename, templatename, context, doctree) -> None:
    """A page that runs has scripts, and a policy."""
    body = context.get("body", "")
    if 'class="live' in body:
        app.add_css_file("live/live.css")
        app.add_js_file("live/press.js", loading_method="defer")
    if 'class="live"' in body:
        context["metatags"] += live_files.policy(bool(app.config.live_engine))
        context["script_files"][:] = [  # the policy forbids what it does, for the search's words
            one for one in context["script_files"] if one.filename != "_static/translations.js"
        ]


def write(app, error) -> None:
    if error is None and app.builder.format == "html":
        try:
            live_files.write_files(Path(app.outdir, PLACE), app.live_wheel, app.config.live_engine)
        except InputError as wrong:
            raise ConfigError(str(wrong)) from wrong


def setup(app) -> dict:
    app.add_config_value("live_engine", "", "env", str)
    app.connect("builder-inited", build)
    app.connect("source-read", fill, priority=600)  # after the cells of a chapter are made
    app.connect("html-page-context", open_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
