"""The template of a model's chats: a program in Jinja, which comes with the model."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from minitransformer.errors import InputError
from minitransformer.extras import require


def one_question(template: str, prompt: str, names: Mapping[str, Any]) -> str:
    """The text of a chat in which the user has said `prompt`, and the model answers next.

    names: {what a template calls a token: its name}. Raises InputError if the template fails.
    """
    sandbox = require("jinja2.sandbox").ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    sandbox.globals.update(
        raise_exception=_refuse, strftime_now=lambda form: datetime.now().strftime(form)
    )
    # Jinja's is for HTML
    sandbox.filters["tojson"] = lambda value, **layout: json.dumps(
        value, ensure_ascii=False, **layout
    )
    try:
        return sandbox.from_string(_plain(template, names)).render(
            messages=[{"role": "user", "content": prompt}],
            tools=None,
            documents=None,
            add_generation_prompt=True,
            **names,
        )
    except Exception as error:  # a template is a program, and may fail as one
        raise InputError(f"the model's chat template fails: {error}") from None


def _plain(template: str, names: Mapping[str, Any]) -> str:
    """Without the tag `generation`, which marks what to train on. Raises InputError if it names a
    token that is not handed over.
    """
    for name in re.findall(
        r"\b(?:unk|pad|sep|cls|mask)_token\b|\badditional_special_tokens\b", template
    ):
        if name not in names:
            raise InputError(f"it names {name}, which is not known here")
    return re.sub(
        r"({%[-+]?\s*)(end)?generation\b",
        lambda tag: tag[1] + ("endif" if tag[2] else "if true"),
        template,
    )


def _refuse(message: str) -> None:
    raise InputError(message)
