"""Pictures: curves of a run, attention maps. Each function returns a figure.Figure.

A notebook displays it; `figure.savefig("curves.png")` writes it. Matplotlib takes a while to import, so others import this file
only when they draw.
"""

from matplotlib.ticker import LogLocator, NullLocator

from minitransformer.errors import one_line
from minitransformer.pictures.figure import Figure, fonts_for

QUALITIES = (("valid_bleu", "BLEU of greedy outputs", 1), ("valid_exact_match", "exact match (%)", 100),
             ("valid_accuracy", "accuracy (%)", 100))


def curves(runs) -> Figure:
    """The curves of one or more runs, {name: records of metrics.jsonl}, over the steps.

    The panels show the negative log-likelihood, whose exponential is the perplexity, the learning rate and, if it was measured,
    the quality of the outputs: BLEU, or the percentage of exact matches or correct classes.
    """
    found = set().union(*(record for records in runs.values() for record in records))
    panels = [("mean negative\nlog-likelihood (nats)", {"nll": "training", "valid_nll": "validation"}, 1),
              ("learning rate", {"learning_rate": ""}, 1),
              *((label, {key: ""}, scale) for key, label, scale in QUALITIES if key in found)]
    figure = Figure(7, 1 + 2.3 * len(panels))
    with fonts_for(runs):
        rows = figure.subplots(len(panels), sharex=True)
        for axes, (title, lines, scale) in zip(rows, panels):
            for i, (name, records) in enumerate(runs.items()):
                for key, part in lines.items():
                    points = [(record["step"], scale * record[key]) for record in records if key in record]
                    if points:
                        axes.plot(*zip(*points), label=one_line(f"{name} {part}") if len(runs) > 1 else part,
                                  color=f"C{i if len(runs) > 1 else int(part == 'validation')}",
                                  alpha=0.4 if part == "training" else 1, marker="o" if len(points) < 4 else None)
            axes.set_ylabel(title)
            axes.grid(alpha=0.3)
        if rows[0].lines:
            lines = rows[0].lines
            for text in rows[0].legend(lines, [line.get_label() for line in lines]).texts:    # even of a run called _a
                text.set_parse_math(False)    # a $ is a $
        rows[0].set_yscale("log")
        rows[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        rows[0].yaxis.set_major_formatter("{x:g}")
        rows[0].yaxis.set_minor_locator(NullLocator())
        for axes in [axes for axes, (*_, scale) in zip(rows, panels) if scale == 100]:
            axes.set_ylim(-4, 104)    # percent
        rows[-1].set_xlabel("step")
    return figure


def attention(weights, queries, keys, title, predicted=None) -> Figure:
    """Which token attends to which, one map per head: weights (H, T_q, T_k), tokens on the axes.

    predicted: for each query the token predicted at its position, if the queries are a decoder's input.
    """
    keys = [visible(token) for token in keys]
    queries = [visible(token) for token in queries]
    if predicted is None:
        side = "query: the token that looks"
    else:
        side = "query: token read → token predicted"
        queries = [f"{query} → {visible(token)}" for query, token in zip(queries, predicted)]
    heads, longest = len(weights), max(len(keys), len(queries))
    inches = min(0.25, 10 / longest, max(0.15, 5 / longest))    # per token, 9 points high
    every = -(-longest // 60)                                   # label every such token
    names, width = 0.08 * max(map(len, queries)), 0.4 + inches * len(keys)
    columns = max(1, min(heads, 4, int((8.5 - names) / width)))    # a page is 10 inches wide
    rows = -(-heads // columns)
    figure = Figure(1.5 + names + columns * width,
                    0.8 + rows * (0.4 + inches * len(queries) + 0.08 * max(map(len, keys))), layout="compressed")
    with fonts_for([title, *queries, *keys]):
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for head, axes in enumerate(grid.flat):
            if head >= heads:
                axes.axis("off")
                continue
            image = axes.imshow(weights[head], cmap="Blues", vmin=0, vmax=1)
            axes.set_title(f"head {head}", fontsize=10)
            axes.set_xticks(range(0, len(keys), every), keys[::every], rotation=90, fontsize=9, parse_math=False)
            axes.set_yticks(range(0, len(queries), every), queries[::every], fontsize=9, parse_math=False)
        figure.colorbar(image, ax=grid, label="attention weight", aspect=30)
        figure.suptitle(title, fontsize=11, parse_math=False)
        figure.supxlabel("key: the token that is looked at", fontsize=10)
        figure.supylabel(side, fontsize=10)
    return figure


def dependence(tokens, shares, answer) -> Figure:
    """On which of the tokens the probability of the next one, the `answer`, depends: their shares (LanguageModel.dependence)."""
    tokens, answer = [visible(token) for token in tokens], visible(answer)
    figure = Figure(0.08 * max(map(len, tokens)) + 4, 0.9 + 0.25 * len(tokens))
    with fonts_for([answer, *tokens]):
        axes = figure.subplots()
        axes.barh(range(len(tokens)), shares, color="tab:purple")
        axes.set_yticks(range(len(tokens)), tokens, fontsize=9, parse_math=False)
        axes.invert_yaxis()    # the text from top to bottom
        axes.set_title(f"on which token the probability of {answer} depends", fontsize=11, parse_math=False)
        axes.set_xlabel("share of the gradients' norms", fontsize=10)
        axes.set_ylabel("token read", fontsize=10)
    return figure


def visible(token) -> str:
    """A token as visible text: a space and a line end are shown as symbols."""
    return token.replace(" ", "␣").replace("\n", "↵")
