"""The style of the page that `learn plug --all` writes: one self-contained file, for wide and narrow screens, light and dark."""

from html import escape
from pathlib import Path

MARK = '<meta name="generator" content="minitransformer learn plug">'
STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1a1a1a; --quiet: #666; --box: #f4f4f4 }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --text: #e6e6e6; --quiet: #a0a0a0; --box: #22252b } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 80rem }
body { background: var(--back); color: var(--text) }
section { margin: 0 0 3rem }
h1 { font-size: 1.3rem; margin: 1rem 0 .5rem }
dl { display: grid; grid-template-columns: auto 1fr; gap: .3rem 1rem; background: var(--box); padding: 1rem }
dl { margin: 0 0 1rem; border-radius: .5rem }
dt { font: .75rem/1.9 ui-monospace, monospace; color: var(--quiet) }
dd { margin: 0; white-space: pre-line; overflow-wrap: anywhere }
p { color: var(--quiet) }
figure { margin: 0; max-width: 100%; overflow-x: auto }
svg { max-width: 100%; height: auto }
"""


def document(title, body) -> str:
    """A page in this style."""
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
            f'content="width=device-width, initial-scale=1">\n{MARK}\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
            f'</head>\n<body>\n{body}</body>\n</html>\n')


def is_page(path) -> bool:
    """Whether this is a file that `document` made, so that a new one may replace it."""
    return Path(path).is_file() and MARK in Path(path).read_text(encoding="utf-8", errors="replace")
