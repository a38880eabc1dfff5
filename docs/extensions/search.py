"""What the search finds besides the words of a page, and the beginning of each page for its
results.

A page from the disk cannot load the others to quote them.
"""

import json
from pathlib import Path

from docutils.nodes import paragraph

LENGTH = 200
ALSO = {  # {page: what newcomers type who look for it, and which is not in its headings}
    "README": ["install", "installation"],
    "docs/train": ["own text", "train my own text", "gpu"],
    "tutorials/01b_checking/chapter": ["gradient check", "gradcheck"],
    "tutorials/03_positions/chapter": ["positional encoding"],
    "tutorials/08_residual_layer_norm/chapter": ["layer norm"],
    "tutorials/08b_block/chapter": ["encoder layer", "ffn"],
    "tutorials/14b_translation/chapter": ["translate"],
    "docs/interchange": ["pytorch"],
}
SCRIPT = Path(__file__).parents[1] / "theme" / "excerpts.js"


def add_words(app, docname, content) -> None:
    if docname in ALSO:
        directive = (
            "```{index} " + ", ".join(f"! {word}" for word in ALSO[docname]) + "\n```\n"
        )  # !: before other results
        cell = "# %% [markdown]\n" + "".join(f"# {line}\n" for line in directive.splitlines())
        content[0] += "\n" + (cell if docname.endswith("/chapter") else directive)


def write(app, error) -> None:
    if error or app.builder.name != "html":
        return
    found = {}
    for page in app.env.found_docs:
        texts = [
            " ".join(one.astext().split()) for one in app.env.get_doctree(page).findall(paragraph)
        ]
        text = next((one for one in texts if len(one) > 60 and not one.startswith("한국어")), "")
        found[page] = text if len(text) <= LENGTH else text[:LENGTH].rpartition(" ")[0] + " ..."
    script = f"const EXCERPTS = {json.dumps(found, ensure_ascii=False)};\n" + SCRIPT.read_text(
        encoding="utf-8"
    )
    Path(app.outdir, "_static", "excerpts.js").write_text(script, encoding="utf-8")


def on_the_search_page(app, pagename, templatename, context, doctree) -> None:
    if pagename == "search":
        app.add_js_file("excerpts.js")


def setup(app) -> dict:
    app.connect("source-read", add_words, priority=600)  # after the cells of a chapter are made
    app.connect("html-page-context", on_the_search_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
