"""What the search finds besides the words of a page."""

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


def add_words(app, docname, content) -> None:
    if docname in ALSO:
        directive = (
            "```{index} " + ", ".join(f"! {word}" for word in ALSO[docname]) + "\n```\n"
        )  # !: before other results
        cell = "# %% [markdown]\n" + "".join(f"# {line}\n" for line in directive.splitlines())
        content[0] += "\n" + (cell if docname.endswith("/chapter") else directive)


def setup(app) -> dict:
    app.connect("source-read", add_words, priority=600)  # after the cells of a chapter are made
    return {"parallel_read_safe": True, "parallel_write_safe": True}
