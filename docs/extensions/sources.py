"""A source file that a page links to is a page of its own, in the reader's language if it is a
tutorial; a link to a folder is its name, for a site has no folders.
"""

import re
from pathlib import Path

from minitransformer_course.judge.pages import translated_code

FENCE = 8 * "`"  # longer than any inside
LINK = re.compile(r"\[([^\]]+)\]\(([^):#]+)\)")


def show_source(app, docname, content) -> None:
    path = app.env.doc2path(docname, base=False)
    if path.suffix == ".py" and path.name != "chapter.py":
        code = path.read_text(encoding="utf-8")  # content[0] was translated as a page
        shown = translated_code(code) if docname.startswith("tutorials/") else code
        page = f"# {path.name}\n\n{FENCE}python\n{shown}{FENCE}"
        content[0] = "# %% [markdown]\n" + "".join(f"# {line}\n" for line in page.split("\n"))
        app.env.metadata[docname]["orphan"] = True  # reached by the link only


def drop_links_to_folders(app, docname, content) -> None:
    folder = Path(app.env.doc2path(docname)).parent
    content[0] = LINK.sub(
        lambda link: link[1] if (folder / link[2]).is_dir() else link[0], content[0]
    )


def setup(app) -> dict:
    app.connect("source-read", show_source)
    app.connect("source-read", drop_links_to_folders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
