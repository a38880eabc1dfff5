"""An attention map for a web page: a dot for each weight, enlarged by the browser, and the tokens beside it as text.

Matplotlib would measure each token several times before it draws it: a third of a second for a short sentence.
"""

import io
from base64 import b64encode
from html import escape

from matplotlib.image import imsave

from minitransformer.pictures.plots import visible

WIDTH = 900    # pixels of the page that a map may take
LINE = 14      # pixels of a line of text
STYLE = """figure { color: #222 }
.maps { display: flex; flex-wrap: wrap; gap: 8px 24px; font: 12px sans-serif }
.map { display: grid; grid-template-columns: auto 1fr }
.map * { grid-column: 2; margin: 2px; font: inherit } .map .queries { grid-column: 1; grid-row: 2; text-align: right }
.map img { image-rendering: pixelated; outline: 1px solid #ccc } .map .keys { writing-mode: vertical-lr }
.scale { padding: 0 4em; background: linear-gradient(90deg, #f7fbff, #6baed6, #08306b) }"""


def attention_html(weights, queries, keys, title, predicted=None) -> str:
    """The maps of plots.attention, as HTML that needs STYLE: weights (H, T_q, T_k), tokens as text."""
    queries, side = [visible(token) for token in queries], "query: the token that looks"
    if predicted is not None:
        queries, side = [f"{query} → {visible(token)}" for query, token in zip(queries, predicted)], "query: token read → predicted"
    dot = max(2, min(LINE, WIDTH // max(len(queries), len(keys))))    # pixels of a weight
    every = -(-LINE // dot)                                           # label every such token
    rows, columns = (escape("\n".join(tokens[::every])) for tokens in (queries, [visible(key) for key in keys]))
    lines = f'style="line-height: {every * dot}px"'
    maps = "".join(f'<div class="map"><span>head {head}</span><pre class="queries" {lines}>{rows}</pre>'
                   f'<img width="{dot * len(keys)}" height="{dot * len(queries)}" src="data:image/png;base64,{_png(of_head)}" '
                   f'alt="{escape(title)}, head {head}"><pre class="keys" {lines}>{columns}</pre></div>'
                   for head, of_head in enumerate(weights))
    return (f'<figcaption>{escape(title)}</figcaption><div class="maps">{maps}</div>row: {side}; column: key, the token that is '
            'looked at; weight: 0 <span class="scale"></span> 1')


def _png(weights) -> str:
    file = io.BytesIO()
    imsave(file, weights, vmin=0, vmax=1, cmap="Blues", format="png")
    return b64encode(file.getvalue()).decode()
