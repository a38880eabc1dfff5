"""Formulas as MathML, which every browser draws by itself: no script, no font to load."""

import re

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import SphinxError

SPELLINGS = [  # what chapters may write -> what the converter knows
    (r"\\dots\b", r"\\ldots"),
    (r"(\\[tdc]?frac)\s*(\w)\s*(\w)", r"\1{\2}{\3}"),  # \frac12 v would be 12 over v
    (r"(?<=\w)\s+(\\(?:sin|cos|ln|log)\b)", r"\\,\1"),  # thin spaces, as in TeX
    (r"(\\(?:sin|cos|ln|log)\b)\s+(?=\w)", r"\1\\,"),
    (r"_\{(model|ff|in|out)\}", r"_{\\text{\1}}"),  # a word, not a product of letters
    (r"\\([bB]igg?)(?=[(\[])", r"\\\1l"),
    (r"\\([bB]igg?)(?=[)\]])", r"\\\1r"),
]


def converted(node, as_block) -> str:
    tex = node.astext()
    for pattern, known in SPELLINGS:
        tex = re.sub(pattern, known, tex)
    try:
        return tex2mathml(tex, as_block=as_block)
    except Exception as error:  # the converter raises several kinds
        raise SphinxError(f"{node.source}: {error} Formula: {node.astext()}") from error


def inline(translator, node) -> None:
    translator.body.append(
        f'<span class="math">{converted(node, False)}</span>&NoBreak;'
    )  # a comma stays with its formula
    raise SkipNode


def block(translator, node) -> None:
    translator.body.append(f'<div class="math">{converted(node, True)}</div>')
    raise SkipNode


def setup(app) -> dict:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
