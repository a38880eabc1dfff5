"""What gets through a context vector: gradients by distance and accuracy by length, for four models
that copy letters.

    python research/experiments/context_vector.py research/experiments/context_vector.json
    research/experiments/pictures/context_vector.png

trains each model whose result is not yet in the JSON file (Ctrl-C loses the model under way,
nothing else), then draws the picture. About four minutes on one core in all.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer import (
    Adam,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    fast,
    make_batch,
    training_step,
)
from minitransformer.decoding import decode_all
from minitransformer.models import MODELS
from minitransformer.tasks import TASKS
from minitransformer.zoo.baselines import RecurrentConfig
from minitransformer_course.lab.recurrent import first_letter_gradient

LONGEST = 100
LENGTHS = range(10, LONGEST + 1, 10)
BATCH, TESTED, MEASURED = (
    32,
    50,
    20,
)  # sentences in an update, to be decoded for each length, and for the gradients
TRAINING = TrainingConfig(
    steps=3000,
    warmup=100,
    schedule="constant",
    peak_rate=0.003,
    cooldown=0.5,
    smoothing=0.0,
    threads=1,
)
VOCABULARY = TASKS["copy"]().make_vocabulary()
LABELS = {
    "rnn": "RNN",
    "lstm": "LSTM",
    "lstm-attention": "LSTM with attention",
    "transformer": "Transformer",
}
COLORS = {
    "rnn": "tab:red",
    "lstm": "tab:orange",
    "lstm-attention": "tab:green",
    "transformer": "tab:blue",
}


def make_model(name) -> Any:
    """Width 64; the recurrent encoders read from left to right only, so that a distance is a number
    of steps.
    """
    if name == "transformer":
        return Transformer(TransformerConfig.named("toy", VOCABULARY.size))
    return MODELS[name](RecurrentConfig.named("toy", VOCABULARY.size, bidirectional=False))


def draw_pairs(rng, lengths) -> list[tuple[list[int], list[int]]]:
    first = VOCABULARY.encode_symbols(["a"])[0]
    letters = [(first + rng.integers(26, size=length)).tolist() for length in lengths]
    return [(ids, ids) for ids in letters]


def train(model) -> list[float]:
    """Returns the mean loss of each 100 updates. A batch has sentences of one length, from 1 to
    LONGEST letters.

    The logarithm of the length is uniform, so that there are as many batches of 1 to 10 letters as
    of 10 to 100: what can be learned of short sentences is learned first.
    """
    adam, rng, losses = Adam(model), np.random.default_rng(0), []
    for step in range(1, TRAINING.steps + 1):
        batch = make_batch(draw_pairs(rng, [int((LONGEST + 1) ** rng.random())] * BATCH))
        sums = training_step(
            model, adam, batch, TRAINING.learning_rate(step, model.config.d_model), (0, step)
        )
        losses.append(float(sums.loss) / batch.terms)
    return [round(float(np.mean(losses[i : i + 100])), 4) for i in range(0, len(losses), 100)]


def gradient_by_distance(model) -> list[float]:
    """For MEASURED sentences of LONGEST letters, beginning with the last letter."""
    pairs = draw_pairs(np.random.default_rng(1), [LONGEST] * MEASURED)
    return [float(f"{norm:.3g}") for norm in first_letter_gradient(model, pairs)]


def accuracy_by_length(model) -> list[float]:
    """The share of letters that stand in their place in the model's own output, greedily decoded."""
    rng, shares = np.random.default_rng(2), []
    for length in LENGTHS:
        pairs = draw_pairs(rng, [length] * TESTED)
        outputs = decode_all(model, [source for source, _ in pairs], threads=1)
        right = sum(
            one == other
            for (best, *_), (_, target) in zip(outputs, pairs)
            for one, other in zip(best.ids, target)
        )
        shares.append(round(right / (length * TESTED), 4))
    return shares


def measure(name) -> dict[str, Any]:
    model = make_model(name)
    untrained, since = gradient_by_distance(model), time.process_time()
    losses = train(model)
    seconds = round(time.process_time() - since)
    print(
        f"{name}: {seconds} s of training, loss {losses[0]} to {losses[-1]}",
        file=sys.stderr,
        flush=True,
    )
    return {
        "parameters": model.num_parameters(),
        "seconds": seconds,
        "losses": losses,
        "untrained": untrained,
        "trained": gradient_by_distance(model),
        "accuracy": accuracy_by_length(model),
    }


def draw(results, path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.9), layout="constrained")
    before, after, accuracy = figure.subplots(1, 3)
    for axes, key, title in (
        (before, "untrained", "before training"),
        (after, "trained", f"after {TRAINING.steps:,} updates"),
    ):
        for name, result in results.items():
            axes.plot(range(1, LONGEST + 1), result[key], color=COLORS[name], label=LABELS[name])
        axes.set_yscale("log")
        axes.set_title(f"The gradient that reaches a source letter,\n{title}", fontsize=10)
        axes.set_xlabel("distance: letters from the end of the source")
        axes.set_ylabel("norm of the first output letter's gradient")
    after.sharey(before)
    for name, result in results.items():
        accuracy.plot(
            LENGTHS,
            [100 * share for share in result["accuracy"]],
            color=COLORS[name],
            marker="o",
            markersize=4,
        )
    accuracy.axhline(100 / 26, color="0.5", linestyle=":")
    accuracy.annotate(
        "guessing", (24, 100 / 26), xytext=(0, 2), textcoords="offset points", fontsize=9
    )
    accuracy.set_ylim(0, 103)
    accuracy.set_title("Letters copied to their place", fontsize=10)
    accuracy.set_xlabel("length of the source in letters")
    accuracy.set_ylabel("right letters (%)")
    for axes in (before, after, accuracy):
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=9)
    figure.legend(
        *before.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        fontsize=9,
        frameon=False,
    )
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("picture", type=Path, metavar="PICTURE.png")
    args = parser.parse_args()
    results = json.loads(args.results.read_text(encoding="utf-8")) if args.results.exists() else {}
    with fast():
        for name in LABELS:
            if name not in results:
                results[name] = measure(name)
                args.results.write_text(
                    json.dumps(results).replace('}, "', '},\n "') + "\n", encoding="utf-8"
                )
    draw({name: results[name] for name in LABELS}, args.picture)


if __name__ == "__main__":
    main()
