"""A source file that a page links to is a page of its own; a link to a folder is its name, for a
site has no folders.
"""

import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]+)\]\(([^):#]+)\)")


def show_source(app, docname, content) -> None:
    path = app.env.doc2path(docname, base=False)
    if path.suffix == ".py" and path.name != "chapter.py":
        content[0] = (
            f"# %% [markdown]\n# # {path.name}\n#\n# ```{{literalinclude}} /{path.as_posix()}\n# ```\n"
        )
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
