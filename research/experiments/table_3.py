"""Table 3 of the paper in miniature: one choice of the model changed at a time, on Multi30K and on
a toy task.

    minitransformer data multi30k
    python research/experiments/table_3.py data/multi30k/tok FOLDER
    research/experiments/table_3.json --picture research/experiments/pictures/table_3.png

FOLDER gets a run folder and a log for each training run. The same command resumes what was stopped,
and --seeds adds seeds. Then the table is printed and the picture drawn.
"""

import argparse
from pathlib import Path
from statistics import mean, stdev

from side_by_side import Job, multi30k, train_all

BASE = ["--config", "tiny", "--num-layers", "2", "--d-ff", "512"]  # 2 layers of width 128, 4 heads
TASKS = {
    "translate": [
        "--steps",
        "2500",
        "--batch",
        "1024",
        "--vocab-size",
        "4000",
        "--validate-every",
        "2500",
        "--schedule",
        "inverse-sqrt",
        "--peak-rate",
        "0.002",
        "--warmup",
        "500",
        "--cooldown",
        "0.5",
    ],
    "sort": ["--steps", "800", "--validate-every", "800"],
}
ROWS = {
    "base": [],
    "A heads 1": ["--num-heads", "1"],
    "A heads 2": ["--num-heads", "2"],
    "A heads 8": ["--num-heads", "8"],
    "A heads 16": ["--num-heads", "16"],
    "B d_k 8": ["--d-k", "8"],
    "B d_k 16": ["--d-k", "16"],
    "C layers 1": ["--num-layers", "1"],
    "C layers 4": ["--num-layers", "4"],
    "C d_model 64": ["--d-model", "64"],
    "C d_model 256": ["--d-model", "256"],
    "C d_ff 256": ["--d-ff", "256"],
    "C d_ff 1024": ["--d-ff", "1024"],
    "D dropout 0.0": ["--dropout", "0.0"],
    "D dropout 0.2": ["--dropout", "0.2"],
    "D smoothing 0.0": ["--smoothing", "0.0"],
    "D smoothing 0.2": ["--smoothing", "0.2"],
    "E learned positions": ["--positions", "learned"],
    "pre-norm": ["--pre-norm"],
    "unscaled attention": ["--attention", "unscaled"],
    "additive attention": ["--attention", "additive"],
    "restricted attention": ["--attention", "restricted", "--radius", "4"],
}
BASE_SEEDS = 3
# {row: (perplexity, BLEU)} of the paper's table 3, for the row that is nearest to ours; its base is
# 6 layers of width 512, 8 heads.
PAPER = {
    "base": (4.92, 25.8),
    "A heads 1": (5.29, 24.9),
    "A heads 2": (5.00, 25.5),
    "A heads 8": (4.91, 25.8),
    "A heads 16": (5.01, 25.4),
    "B d_k 8": (5.16, 25.1),
    "B d_k 16": (5.01, 25.4),
    "C layers 1": (6.11, 23.7),
    "C layers 4": (4.88, 25.5),
    "C d_model 64": (5.75, 24.5),
    "C d_model 256": (4.66, 26.0),
    "C d_ff 256": (5.12, 25.4),
    "C d_ff 1024": (4.75, 26.2),
    "D dropout 0.0": (5.77, 24.6),
    "D dropout 0.2": (4.95, 25.5),
    "D smoothing 0.0": (4.67, 25.3),
    "D smoothing 0.2": (5.47, 25.7),
    "E learned positions": (4.92, 25.7),
}


def jobs(text, seeds) -> list[Job]:
    """The base with three seeds, then every row once, then further seeds."""
    order = [("base", seed) for seed in range(BASE_SEEDS)]
    order += [(row, seed) for seed in range(seeds) for row in ROWS if (row, seed) not in order]
    given = {"translate": (multi30k(text), ["--tokenize", "none"]), "sort": ([], [])}
    return [
        Job(
            f"{task}: {row}",
            seed,
            [task, *BASE, *options, *ROWS[row], *given[task][0]],
            given[task][1],
        )
        for row, seed in order
        for task, options in TASKS.items()
    ]


def of(results, task, row, measure) -> list[float]:
    """That measure of each seed."""
    return [
        result[measure] for key, result in results.items() if key.startswith(f"{task}: {row} / ")
    ]


def table(results) -> str:
    """Markdown: mean and standard deviation over the seeds, beside the paper's numbers."""
    lines = [
        "| row | paper: PPL, BLEU | seeds | perplexity | BLEU | sort: exact match | parameters |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in ROWS:
        perplexities, scores, matches, parameters = (
            of(results, task, row, measure)
            for task, measure in (
                ("translate", "perplexity"),
                ("translate", "bleu"),
                ("sort", "exact_match"),
                ("translate", "parameters"),
            )
        )
        paper = "{:.2f}, {:.1f}".format(*PAPER[row]) if row in PAPER else ""
        exact = spread([100 * match for match in matches], 1)
        lines.append(
            f"| {row} | {paper} | {len(scores)} | {spread(perplexities, 2)} | {spread(scores, 1)} | {exact} % | "
            f"{parameters[0] / 1e6:.2f} M |"
        )
    return "\n".join(lines)


def spread(numbers, digits) -> str:
    shown = f"{mean(numbers):.{digits}f}"
    return f"{shown} ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else shown


def draw(results, path) -> None:
    """How much each row changes the perplexity of the base, in the paper and here."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots()
    rows = [row for row in ROWS if row != "base"][::-1]
    base = of(results, "translate", "base", "perplexity")
    change = {
        row: [100 * (p / mean(base) - 1) for p in of(results, "translate", row, "perplexity")]
        for row in ROWS
    }
    axes.axvspan(
        min(change["base"]),
        max(change["base"]),
        color="tab:blue",
        alpha=0.15,
        label="the base's seeds, here",
    )
    for place, row in enumerate(rows):
        axes.plot(
            change[row],
            [place] * len(change[row]),
            "o",
            color="tab:blue",
            label="here, each seed" if place == 0 else None,
        )
        if row in PAPER:
            axes.plot(
                100 * (PAPER[row][0] / PAPER["base"][0] - 1),
                place,
                "D",
                color="tab:orange",
                markersize=5,
                label="the paper" if row == "A heads 1" else None,
            )
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=10)
    ticks = [-10, -5, 0, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axes.set_axisbelow(True)
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.set_xlabel("change of the validation perplexity against the base (%): left is better")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="where to put the runs and their logs"
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("--seeds", type=int, default=1, help="of every row (default: 1)")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="PICTURE.png",
        help="what each row changes, beside the paper",
    )
    args = parser.parse_args()
    results = train_all(jobs(args.text, args.seeds), args.folder, args.results)
    print(table(results))
    if args.picture:
        draw(results, args.picture)


if __name__ == "__main__":
    main()
