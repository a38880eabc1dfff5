"""The language of the judge: English in the source, others in locale/LANGUAGE/LC_MESSAGES/minitransformer.mo."""

import gettext
from pathlib import Path

_CATALOGUE = gettext.translation("minitransformer", Path(__file__).parents[1] / "locale", fallback=True)


def _(text) -> str:
    """`text` in the reader's language, as LANGUAGE or LANG names it."""
    return _CATALOGUE.gettext(text) if text else ""    # gettext("") is the catalogue's header
