"""explorer.html on the site: the explorer's page of the running example, the model that writes a
word backwards.
"""

from minitransformer_course import lab
from minitransformer_course.lab.explorer import explorer_page

TITLE = "See it flow: a small Transformer writes a word backwards"


def write_page(app, exception) -> None:
    if exception is None and app.builder.format == "html":
        page = explorer_page(*lab.drawkcab(), "backward", TITLE)
        (app.outdir / "explorer.html").write_text(page.html, encoding="utf-8")


def setup(app) -> dict:
    app.connect("build-finished", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
