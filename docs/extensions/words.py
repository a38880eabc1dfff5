"""Pictures of chapters get words for readers who do not see them; a number in a table stays with
its unit.
"""

import re

from docutils.nodes import Text, container, entry, image, paragraph

NUMBER = re.compile(r"(?<=\d) (?=%)|(?<=\d) (?=±)|(?<=±) (?=\d)")


def describe_pictures(app, doctree) -> None:
    """The alternative text of a chapter's picture: the paragraph before the code that draws it."""
    text = ""
    for node in doctree.findall(lambda node: isinstance(node, (paragraph, container))):
        if isinstance(node, paragraph):
            text = " ".join(node.astext().split())
        elif "cell_output" in node["classes"]:
            for picture in node.findall(image):
                picture["alt"] = f"Picture, drawn by the code above: {text}"


def keep_units(app, doctree) -> None:
    for cell in doctree.findall(entry):
        for text in list(cell.findall(Text)):
            text.parent.replace(text, Text(NUMBER.sub("\N{NO-BREAK SPACE}", text.astext())))


def setup(app) -> dict:
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", keep_units)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
