"""A failed check as a picture: yours, expected and their difference as heat maps, in one file without anything from elsewhere."""

from html import escape

import numpy as np

from minitransformer.learn.messages import _

STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;background:#fff;color:#111}
pre{white-space:pre-wrap;background:#f3f3f3;padding:1em}figure{display:inline-block;margin:1em 2em 1em 0;vertical-align:top}
td{width:4.6em;height:2em;text-align:right;padding:0 .3em;font:12px monospace;color:#111}td.worst{outline:3px solid #111}
figcaption{font-weight:600}"""


def page(answers):
    """The HTML of a list of Answers: each as text, those that are wrong in an array with their maps."""
    parts = [f"<section><pre>{escape(str(answer))}</pre>{_maps(answer)}</section>" for answer in answers]
    return (f'<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>{escape(", ".join(answer.exercise for answer in answers))}</title><style>{STYLE}</style></head>'
            f'<body>{"".join(parts)}</body></html>\n')


def _maps(answer):
    if not answer.array:
        return ""
    name, yours, expected = answer.array
    yours, expected = (np.asarray(array, float) for array in (yours, expected))
    with np.errstate(all="ignore"):
        difference = yours - expected
    worst = np.unravel_index(np.argmax(np.where(np.isfinite(difference), np.abs(difference), np.inf)), difference.shape)
    front = worst[:-2]    # of more than two axes, the matrix that holds the worst element
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.max(initial=0)) or 1.0
    shown = f"{name}[{', '.join(map(str, front))}]" if front else name
    titles = (_("yours: {name}"), _("expected: {name}"), _("yours - expected: {name}"))
    return "".join(_map(title.format(name=shown), np.atleast_2d(array[front]), largest, worst[-2:])
                   for title, array in zip(titles, (yours, expected, difference))) + \
        f"<p>{escape(_('blue: negative, red: positive; full colour at {number:.3g}. The frame is the worst element.').format(number=largest))}</p>"


def _map(title, matrix, largest, worst):
    worst = (0, *worst) if len(worst) == 1 else worst or (0, 0)
    rows = ["<tr>" + "".join(
        f'<td style="background:{_colour(value, largest)}"{" class=worst" if (i, k) == tuple(worst) else ""}>{value:.3g}</td>'
        for k, value in enumerate(row)) + "</tr>" for i, row in enumerate(matrix)]
    return f'<figure><figcaption>{escape(title)}</figcaption><table>{"".join(rows)}</table></figure>'


def _colour(value, largest):
    """From blue over white to red; grey for NaN."""
    if not np.isfinite(value):
        return "#999"
    strength = min(abs(value) / largest, 1)
    faint = round(255 - 150 * strength)
    return f"rgb(255,{faint},{faint})" if value > 0 else f"rgb({faint},{faint},255)"
