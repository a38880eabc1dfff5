"""Pictures: the curves of a run, attention maps, the table of sinusoids, the schedule."""

import sys
import warnings

import numpy as np

QUALITIES = (("valid_bleu", "BLEU of greedy outputs", 1), ("valid_exact_match", "exact match (%)", 100),
             ("valid_accuracy", "accuracy (%)", 100))
HANGUL_FONTS = ("NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic Neo",
                "AppleGothic")


def curves(runs, path):
    """The curves of one run or of several, {name: records of metrics.jsonl}, over the steps.

    Negative log-likelihood, perplexity, learning rate and, if it was measured, the quality of the
    outputs: BLEU, or the percentage of exact matches or of right classes.
    """
    found = set().union(*(record for records in runs.values() for record in records))
    panels = [("mean negative\nlog-likelihood (nats)", {"nll": "training", "valid_nll": "validation"}, 1),
              ("perplexity", {"perplexity": "training", "valid_perplexity": "validation"}, 1),
              ("learning rate", {"learning_rate": ""}, 1),
              *((label, {key: ""}, scale) for key, label, scale in QUALITIES if key in found)]
    figure = _figure(7, 1 + 2.3 * len(panels))
    _use_hangul_font(runs)
    rows = figure.subplots(len(panels), sharex=True)
    for axes, (title, lines, scale) in zip(rows, panels):
        for i, (name, records) in enumerate(runs.items()):
            for key, part in lines.items():
                points = [(record["step"], scale * record[key]) for record in records if key in record]
                if points:
                    axes.plot(*zip(*points), label=f"{name} {part}" if len(runs) > 1 else part,
                              color=f"C{i if len(runs) > 1 else int(part == 'validation')}",
                              alpha=0.4 if part == "training" else 1, marker="o" if len(points) < 4 else None)
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    if rows[0].lines:
        lines = rows[0].lines
        for text in rows[0].legend(lines, [line.get_label() for line in lines]).texts:    # also of a run called _a
            text.set_parse_math(False)    # a $ is a $
    rows[1].set_yscale("log")
    rows[-1].set_xlabel("step")
    _save(figure, path)


def attention(weights, queries, keys, title, path):
    """Who attends to whom, a map for each head: weights (H, T_q, T_k), tokens on the axes."""
    heads = len(weights)
    columns = min(heads, 4)
    rows = -(-heads // columns)
    longest = max(len(keys), len(queries))
    inches, every = min(0.25, 10 / longest), -(-longest // 80)    # of a token; which of them are named
    figure = _figure(columns * (1.2 + inches * len(keys)), 0.5 + rows * (1.2 + inches * len(queries)))
    _use_hangul_font([*queries, *keys])
    for head, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        if head >= heads:
            axes.axis("off")
            continue
        axes.imshow(weights[head], cmap="Blues", vmin=0, vmax=1)
        axes.set_title(f"head {head}", fontsize=9)
        axes.set_xticks(range(0, len(keys), every), keys[::every], rotation=90, fontsize=8, parse_math=False)
        axes.set_yticks(range(0, len(queries), every), queries[::every], fontsize=8, parse_math=False)
    figure.suptitle(title, fontsize=10, parse_math=False)
    _save(figure, path)


def positions(path):
    """The table of sinusoids (section 3.5 of the paper): a row for each position, a column for each dimension."""
    from minitransformer.functional import sinusoids

    figure = _figure(8, 5)
    axes = figure.subplots()
    image = axes.imshow(sinusoids(100, 128), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    axes.set_xlabel("dimension (d_model = 128)")
    axes.set_ylabel("position")
    figure.colorbar(image, label="sin in even dimensions, cos in odd ones")
    _save(figure, path)


def schedules(path):
    """The paper's learning rate for several (d_model, warm-up steps), as equation 3 draws it."""
    from minitransformer.optim import schedule

    figure = _figure(7, 4)
    axes = figure.subplots()
    at = np.arange(1, 20_001, 20)
    for d_model, warmup in ((512, 4000), (512, 8000), (256, 4000)):
        axes.plot(at, [schedule(step, d_model, warmup) for step in at], label=f"d_model {d_model}, warm-up {warmup:,}")
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate")
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, path)


def _figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _save(figure, path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")    # a line for each character without a font; the box is seen
        figure.savefig(path, dpi=120)


def _use_hangul_font(texts):
    """Matplotlib's own font has no Hangul: add one that is installed, or say that none is."""
    if not any("가" <= character <= "힣" for text in texts for character in text):
        return
    import matplotlib
    from matplotlib import font_manager

    installed = [font for font in HANGUL_FONTS if font in font_manager.get_font_names()]
    if installed:
        matplotlib.rcParams["font.family"] = ["DejaVu Sans", installed[0]]
    else:
        print(f"no font with Hangul is installed, so it is drawn as boxes; install one of {', '.join(HANGUL_FONTS)}",
              file=sys.stderr)
