"""Pictures: curves of a run, attention maps. Each function returns a figure.Figure.

A notebook displays it; `figure.savefig("curves.png")` writes it. Matplotlib takes a while to
import, so others import this file only when they draw.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import LogLocator, NullLocator

from minitransformer.backend import Array
from minitransformer.pictures.figure import Figure, fonts_for

QUALITIES = (
    ("valid_bleu", "BLEU of greedy outputs", 1),
    ("valid_exact_match", "exact match (%)", 100),
    ("valid_accuracy", "accuracy (%)", 100),
)


def curves(records: Sequence[dict[str, Any]]) -> Figure:
    """The curves of a run, the records of its metrics.jsonl, over the steps.

    The panels show the negative log-likelihood, whose exponential is the perplexity, the learning
    rate and, if it was measured, the quality of the outputs: BLEU, or the percentage of exact
    matches or correct classes.
    """
    found = set().union(*records)
    panels = [
        ("mean negative\nlog-likelihood (nats)", {"nll": "training", "valid_nll": "validation"}, 1),
        ("learning rate", {"learning_rate": ""}, 1),
        *((label, {key: ""}, scale) for key, label, scale in QUALITIES if key in found),
    ]
    figure = Figure(7, 1 + 2.3 * len(panels))
    rows = figure.subplots(len(panels), sharex=True)
    for axes, (title, lines, scale) in zip(rows, panels):
        for key, part in lines.items():
            points = [(record["step"], scale * record[key]) for record in records if key in record]
            if points:
                axes.plot(
                    *zip(*points),
                    label=part,
                    color=f"C{int(part == 'validation')}",
                    alpha=0.4 if part == "training" else 1,
                    marker="o" if len(points) < 4 else None,
                )
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
        if scale == 100:
            axes.set_ylim(-4, 104)  # percent
    if rows[0].lines:
        rows[0].legend()
    rows[0].set_yscale("log")
    rows[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    rows[0].yaxis.set_major_formatter("{x:g}")
    rows[0].yaxis.set_minor_locator(NullLocator())
    rows[-1].set_xlabel("step")
    return figure


def attention(
    weights: Array,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    predicted: Sequence[str] | None = None,
) -> Figure:
    """Which token attends to which, one map per head: weights (H, T_q, T_k), tokens on the axes.

    predicted: for each query the token predicted at its position, if the queries are a decoder's
    input.
    """
    keys = [visible(token) for token in keys]
    queries = [visible(token) for token in queries]
    if predicted is None:
        side = "query: the token that looks"
    else:
        side = "query: token read → token predicted"
        queries = [f"{query} → {visible(token)}" for query, token in zip(queries, predicted)]
    heads, longest = len(weights), max(len(keys), len(queries))
    inches = min(0.25, 10 / longest, max(0.15, 5 / longest))  # per token, 9 points high
    every = -(-longest // 60)  # label every such token
    names, width = 0.08 * max(map(len, queries)), 0.4 + inches * len(keys)
    columns = max(1, min(heads, 4, int((8.5 - names) / width)))  # a page is 10 inches wide
    rows = -(-heads // columns)
    figure = Figure(
        1.5 + names + columns * width,
        0.8 + rows * (0.4 + inches * len(queries) + 0.08 * max(map(len, keys))),
        layout="compressed",
    )
    with fonts_for([title, *queries, *keys]):
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for head, axes in enumerate(grid.flat):
            if head >= heads:
                axes.axis("off")
                continue
            image = axes.imshow(weights[head], cmap="Blues", vmin=0, vmax=1)
            axes.set_title(f"head {head}", fontsize=10)
            axes.set_xticks(
                range(0, len(keys), every), keys[::every], rotation=90, fontsize=9, parse_math=False
            )
            axes.set_yticks(
                range(0, len(queries), every), queries[::every], fontsize=9, parse_math=False
            )
        figure.colorbar(image, ax=grid, label="attention weight", aspect=30)
        figure.suptitle(title, fontsize=11, parse_math=False)
        figure.supxlabel("key: the token that is looked at", fontsize=10)
        figure.supylabel(side, fontsize=10)
    return figure


def visible(token: str) -> str:
    """A token as visible text: a space and a line end are shown as symbols."""
    return token.replace(" ", "␣").replace("\n", "↵")
