"""explorer.html on the site: the explorer's page of the running example, the model that writes a
word backwards.
"""

from minitransformer_course import lab
from minitransformer_course.explorer.page import batch_of, make_page

SMOOTHING = 0.1  # with which it was trained


def write_page(app, exception) -> None:
    if exception is None and app.builder.format == "html":
        model, vocabulary = lab.drawkcab()
        weights = {name: parameter.data for name, parameter in model.parameters().items()}
        page = make_page(
            model,
            vocabulary,
            batch_of(model, vocabulary, "backward"),
            SMOOTHING,
            "See it flow: a small Transformer writes a word backwards",
            {"the trained model": weights},
        )
        (app.outdir / "explorer.html").write_text(page.html, encoding="utf-8")


def setup(app) -> dict:
    app.connect("build-finished", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
