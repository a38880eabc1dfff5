"""A Transformer and an LSTM with attention on Multi30K: equal data, parameters, regularisation,
updates and tuning.

    minitransformer data multi30k
    python research/experiments/transformer_and_lstm.py data/multi30k/tok FOLDER
    research/experiments/transformer_and_lstm.json

Each model is trained once with each learning rate. The one with the lowest perplexity on the
validation set is trained with further seeds. FOLDER gets a run folder and a log for each training
run. The same command resumes what was stopped.
"""

import argparse
from pathlib import Path
from typing import Any

from side_by_side import Job, files, multi30k, train_all
from table_3 import BASE, TASKS, spread

MODELS = {  # 1,437,696 and 1,434,008 parameters
    "Transformer": BASE,
    "LSTM with attention": [
        "--model",
        "lstm-attention",
        "--config",
        "tiny",
        "--d-model",
        "158",
    ],  # 2 layers
}
RATES = ["0.002", "0.004", "0.008", "0.016"]  # peak learning rates
SEEDS = 3


def job(text, model, rate, seed) -> Job:
    train = ["translate", *TASKS["translate"], *MODELS[model], "--peak-rate", rate, *multi30k(text)]
    return Job(
        f"{model}: {rate}",
        seed,
        train,
        ["--tokenize", "none", "--test", *files(text, "test_2016_flickr")],
    )


def best_rate(results, model) -> str:
    return min(RATES, key=lambda rate: results[f"{model}: {rate} / 0"]["valid_perplexity"])


def train_tuned(text, folder, results_file, seeds) -> dict[str, Any]:
    tuning = [job(text, model, rate, 0) for rate in RATES for model in MODELS]
    results = train_all(tuning, folder, results_file)
    return train_all(
        [
            job(text, model, best_rate(results, model), seed)
            for seed in range(1, seeds)
            for model in MODELS
        ],
        folder,
        results_file,
    )


def table(results) -> str:
    """Markdown: each learning rate of each model, with mean and standard deviation over its seeds."""
    lines = [
        "| model | learning rate | seeds | validation perplexity | test perplexity | test BLEU | parameters |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for model in MODELS:
        for rate in RATES:
            runs = [
                result for key, result in results.items() if key.startswith(f"{model}: {rate} / ")
            ]
            valid, test, scores = (
                [run[measure] for run in runs]
                for measure in ("valid_perplexity", "perplexity", "bleu")
            )
            lines.append(
                f"| {model} | {rate} | {len(runs)} | {spread(valid, 2)} | {spread(test, 2)} | {spread(scores, 1)} | "
                f"{runs[0]['parameters'] / 1e6:.2f} M |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of the tokenised text")
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="where to put the runs and their logs"
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help=f"of the best learning rate (default: {SEEDS})"
    )
    args = parser.parse_args()
    print(table(train_tuned(args.text, args.folder, args.results, args.seeds)))


if __name__ == "__main__":
    main()
