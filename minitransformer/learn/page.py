"""A check as a page: each answer, and heat maps of each wrong array: yours, the expected one and their difference.

One self-contained file, for wide and narrow screens, light and dark.
"""

from html import escape
from pathlib import Path

import numpy as np

from minitransformer.learn.messages import _

MARK = '<meta name="generator" content="minitransformer learn check">'
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
.maps { display: flex; flex-wrap: wrap; gap: 1.5rem }
figure { margin: 0; max-width: 100%; overflow-x: auto }
svg { max-width: 100%; height: auto }
figcaption { font-weight: 600; margin-bottom: .3rem; position: sticky; left: 0 }
table { border-collapse: separate; border-spacing: 2px; font: .8rem/1 ui-monospace, monospace }
th { font-weight: 400; color: var(--quiet); padding: .2rem .4rem }
td { min-width: 3.2rem; height: 1.9rem; text-align: center; padding: 0 .35rem; color: #111 }
td.worst { outline: 2px solid var(--text); box-shadow: inset 0 0 0 2px #111 }
@media (max-width: 40rem) { td { min-width: 2.4rem; padding: 0 .2rem; font-size: .7rem } .maps { gap: 1rem } }
"""


def page(answers) -> str:
    """The HTML of a list of Answers: each as text, those that are wrong in an array with their maps."""
    return document(", ".join(answer.exercise for answer in answers), "".join(map(_section, answers)))


def document(title, body) -> str:
    """A page in this style."""
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
            f'content="width=device-width, initial-scale=1">\n{MARK}\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
            f'</head>\n<body>\n{body}</body>\n</html>\n')


def is_page(path) -> bool:
    """Whether this is a file that `document` made, so that a new one may replace it."""
    return Path(path).is_file() and MARK in Path(path).read_text(encoding="utf-8", errors="replace")


def _section(answer) -> str:
    lines = "".join(f"<dt>{label}</dt><dd>{escape(text)}</dd>\n" for label, text in answer.lines)
    return f"<section>\n<h1>{escape(answer.title)}</h1>\n<dl>\n{lines}</dl>\n{_maps(answer)}</section>\n"


def _maps(answer) -> str:
    """The matrix that holds the worst element: of an array with more than two axes, one of its matrices."""
    if not answer.array:
        return ""
    name, yours, expected = answer.array
    yours, expected = (np.asarray(array, float) for array in (yours, expected))
    with np.errstate(all="ignore"):
        difference = yours - expected
    far = np.where(np.isfinite(difference), np.abs(difference), np.inf)
    place = [int(i) for i in np.unravel_index(np.argmax(far), far.shape)]
    front, worst = tuple(place[:-2]), (0, 0, *place)[-2:]
    shown = f"{name}[{', '.join(map(str, front))}]" if front else name
    titles = (_("yours: {name}"), _("expected: {name}"), _("yours - expected: {name}"))
    full = _largest(expected)
    scales = (full, full, max(_largest(difference), 1e-9 * full))    # rounding errors stay white
    maps = "".join(_map(title.format(name=shown), np.atleast_2d(array[front]), scale, worst)
                   for title, array, scale in zip(titles, (yours, expected, difference), scales))
    text = _("Blue is negative, red is positive, grey is NaN or infinity. The colour is full at {number:.3g}, in the difference at "
             "{other:.3g}. The frame marks the worst element. Rows and columns are counted from 0.")
    return f'<div class="maps">\n{maps}</div>\n<p>{escape(text.format(number=scales[0], other=scales[2]))}</p>\n'


def _largest(array) -> float:
    """The largest finite number; 1 if all are 0."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0)) or 1.0


def _map(title, matrix, largest, worst) -> str:
    """A table of numbers on colours. largest: the number of full colour; worst: row and column of the frame."""
    head = "".join(f"<th>{k}</th>" for k in range(matrix.shape[1]))
    rows = "".join(f"<tr><th>{i}</th>" + "".join(
        f'<td style="background:{_colour(value, largest)}"{" class=worst" if (i, k) == tuple(worst) else ""}>{value:.3g}</td>'
        for k, value in enumerate(row)) + "</tr>\n" for i, row in enumerate(matrix))
    return f"<figure>\n<figcaption>{escape(title)}</figcaption>\n<table>\n<tr><th></th>{head}</tr>\n{rows}</table>\n</figure>\n"


def _colour(value, largest) -> str:
    """From blue over white to red; grey for NaN and infinity."""
    if not np.isfinite(value):
        return "#999"
    faint = round(255 - 150 * min(abs(value) / largest, 1))
    return f"rgb(255,{faint},{faint})" if value > 0 else f"rgb({faint},{faint},255)"
