"""A part of a page in which a language model continues any text, in the browser."""

import json
from html import escape

from minitransformer.models import LanguageModel
from minitransformer_course.explorer.page import ENGINE, engine_config, script
from minitransformer_course.messages import _

MOST = 400  # characters, with those that it was given


def writer(model: LanguageModel, weights: str, tokens: list[str], start, temperature) -> str:
    """HTML of a field, a button, and a model. model: of whose sizes it is; weights: all its numbers
    as float32, in base64; tokens: the vocabulary's; start: what the field holds at first.
    """
    data = {
        "config": engine_config(model),
        "shapes": {name: parameter.shape for name, parameter in model.parameters().items()},
        "weights": weights,
        "vocabulary": {"tokens": tokens, "kind": "characters", "joint": ""},
        "window": model.config.max_length,
        "temperature": temperature,
        "most": MOST,
        "unknown": _("This text is empty, or has a character that the model has never read."),
    }
    as_json = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    scripts = (*ENGINE, "page/data", "page/write_on")
    return (
        f'<form id="go"><label>{escape(_("Begin a text"))} '
        f'<input id="start" value="{escape(start)}"></label> '
        f"<button>{escape(_('Continue the text'))}</button></form>\n"
        '<dl hidden><dt></dt><dd id="written" aria-live="polite"></dd></dl>\n'
        f'<script type="application/json" id="data">{as_json}</script>\n'
        + "".join(f"<script>\n{script(name)}</script>\n" for name in scripts)
    )
