"""Tables 2 and 3 of the paper, the latter in miniature, for the chapter in which the reader tests
their claims.
"""

import numpy as np

# {model: (BLEU for German, for French, training operations for German, for French)}, NaN where
# Table 2 has no number.
TABLE_2 = {
    "ByteNet": (23.75, np.nan, np.nan, np.nan),
    "Deep-Att + PosUnk": (np.nan, 39.2, np.nan, 1.0e20),
    "GNMT + RL": (24.6, 39.92, 2.3e19, 1.4e20),
    "ConvS2S": (25.16, 40.46, 9.6e18, 1.5e20),
    "MoE": (26.03, 40.56, 2.0e19, 1.2e20),
    "Deep-Att + PosUnk, ensemble": (np.nan, 40.4, np.nan, 8.0e20),
    "GNMT + RL, ensemble": (26.30, 41.16, 1.8e20, 1.1e21),
    "ConvS2S, ensemble": (26.36, 41.29, 7.7e19, 1.2e21),
    "Transformer, base": (27.3, 38.1, 3.3e18, 3.3e18),
    "Transformer, big": (28.4, 41.8, 2.3e19, 2.3e19),
}
# The BLEU score of each seed, from research/experiments/table_3.json: the rows that were trained
# more than once.
TABLE_3 = {
    "base": (31.7, 31.9, 31.7),
    "heads 1": (32.0, 31.5),
    "heads 2": (31.6, 31.8),
    "heads 8": (31.5, 31.1),
    "heads 16": (30.7, 30.8),
    "layers 1": (29.0, 29.7),
    "layers 4": (33.3, 33.4),
    "d_ff 1024": (32.6, 31.8),
    "dropout 0.0": (33.2, 32.0),
    "dropout 0.2": (30.0, 29.9),
    "smoothing 0.0": (31.9, 31.9),
    "learned positions": (30.5, 30.2),
    "pre-norm": (30.5, 31.6),
    "unscaled attention": (22.1, 22.4),
    "restricted attention": (31.9, 31.9),
}


def show_costs(axes, language, bleu, cost, lost) -> None:
    """Draw the models of TABLE_2 that have both numbers, (R,) each: the beaten ones are grey."""
    for name, score, operations, beaten in zip(TABLE_2, bleu, cost, lost):
        if not np.isnan(score + operations):
            axes.semilogx(operations, score, "o", color="0.6" if beaten else "tab:blue")
            above = {
                "MoE": 8,
                "ConvS2S, ensemble": 8,
                "GNMT + RL, ensemble": -9,
                "Deep-Att + PosUnk, ensemble": -9,
            }.get(name, 0)
            axes.annotate(
                name,
                (operations, score),
                (0 if above else 6, above),
                textcoords="offset points",
                fontsize=9,
                ha="center" if above else "left",
                va="center",
            )
    axes.margins(x=0.35, y=0.12)
    axes.set(xlabel="training cost (operations)", ylabel="BLEU", title=f"English to {language}")


def show_table_3(axes, difference, error, chosen) -> None:
    """Draw how far each row of TABLE_3 but the first is from the base, in points of BLEU, and two
    errors around 0; mark one.
    """
    rows = list(TABLE_3)[1:]
    order = np.argsort(difference)
    axes.axvspan(-2 * error, 2 * error, color="0.85", label="within two errors")
    for place, i in enumerate(order):
        seeds = np.array(TABLE_3[rows[i]]) - np.mean(TABLE_3["base"])
        axes.plot(
            seeds,
            [place] * len(seeds),
            "o",
            color="0.5",
            markersize=4,
            label=None if place else "one seed",
        )
        axes.plot(difference[i], place, "k|", markersize=12, label=None if place else "mean")
        if rows[i] == chosen:
            axes.axhline(place, color="tab:orange", linewidth=8, alpha=0.4, zorder=0)
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xticks([-10, -5, -2, -1, 0, 1, 2, 4], ["-10", "-5", "-2", "-1", "0", "1", "2", "4"])
    axes.set_yticks(range(len(rows)), [rows[i] for i in order], fontsize=9)
    axes.set(xlabel="BLEU minus that of the base: right is better")
    axes.legend(fontsize=9, loc="upper left")
