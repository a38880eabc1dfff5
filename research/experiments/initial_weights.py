"""How large may a Transformer's initial weights be? The paper's post-norm model learns, or does
not, by that alone.

    minitransformer data multi30k
    python research/experiments/initial_weights.py data/multi30k/tok FOLDER
    research/experiments/initial_weights.json python research/experiments/initial_weights.py
    --picture research/experiments/pictures/initial_weights.png
    research/experiments/initial_weights.json

Xavier's initial weights are multiplied by a factor each for query and key, for value, and for the
weights that end a sub-layer: attention's output and the feed-forward network's outer weights. The
attention scores, the attention weights and the gradients are measured at the start and after some
updates on Multi30K, with the perplexity and the greedy BLEU on its validation set. Two models train
side by side, with one thread each. FOLDER gets a run folder for each. The same command resumes what
was stopped. The second command draws the picture of research/experiments/initial_weights.md and
prints its table.
"""

import argparse
import json
import math
import os
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from attention_statistics import measure
from side_by_side import SIDE_BY_SIDE, files, read, write

from minitransformer import Run, TrainingConfig, Transformer, TransformerConfig, fast, train
from minitransformer.layers.initial import ENDS
from minitransformer.tasks import TASKS

STOPS = [0, 100, 500, 1000, 2000, 4000, 8000]  # updates after which a model is measured
LONGEST = STOPS[-1]
SCORED = 1000  # updates from which BLEU is worth its time
MEASURED = 4  # validation batches for scores and gradients
HALF, ROOT = 1 / 2, 1 / math.sqrt(2)


class Setting(NamedTuple):
    norm: str  # "post" or "pre"
    layers: int = 4
    query_key: float = 1
    value: float = 1
    output: float = 1
    positions: str = "sinusoidal"

    def __str__(self) -> str:
        return (
            f"{self.norm}-norm, {self.layers} layers, query and key {self.query_key:.3g}, value {self.value:.3g}, "
            f"output {self.output:.3g}{', learned positions' if self.positions == 'learned' else ''}"
        )


def alike(norm, a, b, layers=4, **others) -> Setting:
    """Query, key and value times `a`, the weights that end a sub-layer times `b`."""
    return Setting(norm, layers, a, a, b, **others)


def by_depth(layers) -> float:
    """GPT-2's factor, with two sub-layers in each layer:
    https://cdn.openai.com/better-language-models (section 2.3).
    """
    return 1 / math.sqrt(2 * layers)


def jobs() -> list[tuple[Setting, int, int]]:
    """(setting, seed, updates), the most decisive first."""
    start = [
        alike(norm, a, b, layers)
        for layers in (4, 2, 6)
        for norm in ("post", "pre")
        for a in (1, ROOT, HALF)
        for b in (1, HALF, by_depth(layers))
    ]
    four = [
        alike("post", 1, 1),
        alike("post", ROOT, 1),
        alike("post", ROOT, HALF),
        alike("post", 1, HALF),
        alike("pre", 1, 1),
        Setting("post", query_key=ROOT),
        Setting("post", value=ROOT),
        alike("post", 1, by_depth(4)),
    ]
    chosen = [alike(norm, 1, by_depth(4)) for norm in ("post", "pre")]  # the library's own
    before = [
        alike(norm, ROOT, HALF) for norm in ("post", "pre")
    ]  # as good at this depth, and worse with fewer layers
    six = [alike("post", 1, by_depth(6), 6), alike("post", 1, 1, 6), alike("post", ROOT, HALF, 6)]
    rounds = [
        (dict.fromkeys(start), 0, 0),
        (four, 0, 1000),
        (chosen, 0, 8000),
        (six, 0, 2000),
        (before, 0, 8000),
        (chosen, 1, 4000),
        (before, 1, 4000),
        (chosen, 2, 4000),
    ]
    return [(setting, seed, updates) for settings, seed, updates in rounds for setting in settings]


def plan(seed, steps=LONGEST) -> TrainingConfig:
    """The preset multi30k's settings. The learning rate falls from the middle of 8,000 updates; a
    shorter plan never gets there.
    """
    return TrainingConfig(
        steps,
        warmup=2000,
        schedule="inverse-sqrt",
        peak_rate=0.003,
        accumulate=2,
        seed=seed,
        threads=1,
        cooldown=0.5 if steps == LONGEST else 0,
        validate_every=1000,
    )


@cache
def corpus(text) -> tuple[Any, Any]:
    """(task, vocabulary)."""
    task = TASKS["translate"](
        train=files(text, "train"), valid=files(text, "val"), batch=1024, vocab_size=6000
    ).begin()
    return task, task.make_vocabulary()


@cache
def corpus_data(text, seed) -> Any:
    task, vocabulary = corpus(text)
    return task.data(vocabulary, plan(seed))


def make_model(setting, vocabulary, seed) -> Transformer:
    config = TransformerConfig.named(
        "tiny",
        vocabulary.size,
        dropout=0.3,
        num_layers=setting.layers,
        pre_norm=setting.norm == "pre",
        positions=setting.positions,
    )
    return multiplied(Transformer(config, seed), setting.query_key, setting.value, setting.output)


def multiplied(model, query_key, value, output) -> Transformer:
    """The untrained model with Xavier's weights times these factors, in place of the library's own."""
    for name, parameter in model.parameters().items():
        for ends, factor in (
            (("query.weight", "key.weight"), query_key),
            ("value.weight", value),
            (ENDS, output / by_depth(model.config.num_layers)),
        ):
            if name.endswith(ends):
                parameter.data *= factor
    return model


def train_until(text, folder, setting, seed, steps) -> dict[str, Any]:
    """Train a model for `steps` updates in all, from where its run folder is, and measure it."""
    task, vocabulary = corpus(text)
    model, data, found = make_model(setting, vocabulary, seed), corpus_data(text, seed), {}
    data.batches.position = [0, 0]  # another model may have used them
    if steps:
        path = Path(folder, re.sub(r"\W+", "_", f"{setting} / {seed}"))
        run = (
            Run.open(path)
            if path.exists()
            else Run.create(path, task, model, vocabulary, plan(seed))
        )
        run.model = model  # until there is a checkpoint
        with fast():
            done = train(
                run,
                plan(seed, steps),
                data.batches,
                data.valid,
                data.measure if steps >= SCORED else None,
                resume=True,
            )
        if done < steps:
            os._exit(1)  # a worker of a pool survives sys.exit
        *_, last = (
            json.loads(line)
            for line in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        )
        found = {
            name: round(last[name], 3)
            for name in ("valid_perplexity", "valid_bleu", "seconds")
            if name in last
        }
    return {**found, **measure(model, data.valid[:: math.ceil(len(data.valid) / MEASURED)])}


def table(results) -> str:
    """Markdown: perplexity and BLEU of each trained model on the validation set, one column for
    each number of updates.
    """
    stops = [
        steps
        for steps in STOPS
        if steps >= 500 and any(int(key.split(" / ")[2]) == steps for key in results)
    ]
    columns = [
        "norm, layers",
        "query and key",
        "value",
        "output",
        "seed",
        *(f"{steps:,} updates" for steps in stops),
    ]
    lines = [f"| {' | '.join(columns)} |", "|---" + "|--:" * (len(columns) - 1) + "|"]
    for setting, seed in dict.fromkeys(
        (setting, seed) for setting, seed, updates in jobs() if updates
    ):
        found = [results.get(f"{setting} / {seed} / {steps:4}") for steps in stops]
        if any(found):
            factors = [
                f"{factor:.3g}" for factor in (setting.query_key, setting.value, setting.output)
            ]
            lines.append(
                f"| {' | '.join([f'{setting.norm}, {setting.layers}', *factors, str(seed), *map(_scores, found)])} |"
            )
    return "\n".join(lines)


def _scores(found) -> str:
    shown = {"valid_perplexity", "valid_bleu"} & (found or {}).keys()
    return ", ".join(f"{found[name]:.1f}" for name in sorted(shown, reverse=True))


def draw(results, path) -> None:
    """The spread of cross-attention's scores, and the gradient of its query and key, in each layer
    of the decoder.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharey="col")
    for row, (layers, updates, when) in zip(
        panels, ((6, 0, "6 layers, at the start"), (4, 500, "4 layers, after 500 updates"))
    ):
        for name, norm, a, b, style, colour in (
            ("post-norm, Xavier's weights", "post", 1, 1, "--", "0.6"),
            ("post-norm, query, key and value smaller", "post", ROOT, 1, ":", "black"),
            ("post-norm, the library's weights", "post", 1, by_depth(layers), "-", "black"),
            ("pre-norm, the library's weights", "pre", 1, by_depth(layers), "-", "tab:green"),
        ):
            found = results[f"{alike(norm, a, b, layers)} / 0 / {updates:4}"]
            for axes, numbers in zip(
                row,
                (found["spread"]["cross"], found["gradient"]["cross-attention's query and key"]),
            ):
                axes.semilogy(
                    range(1, layers + 1), numbers, style, marker=".", color=colour, label=name
                )
        for axes, what in zip(row, ("spread of the scores", "norm of the gradient")):
            axes.set(
                title=when, xlabel="layer of the decoder", ylabel=what, xticks=range(1, layers + 1)
            )
            axes.grid(alpha=0.3)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9
    )
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", metavar="TEXT", nargs="?", help="folder of the tokenised text")
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", nargs="?", help="where to put the runs"
    )
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="PICTURE.png",
        help="only draw what was measured, and print the table",
    )
    args = parser.parse_args()
    results, lock = read(args.results), Lock()
    if args.picture:
        draw(results, args.picture)
        print(table(results))
        return
    args.folder.mkdir(parents=True, exist_ok=True)

    def work(pool, setting, seed, updates) -> None:
        for steps in STOPS[: STOPS.index(updates) + 1]:
            key = f"{setting} / {seed} / {steps:4}"
            if key not in results:
                found = pool.submit(
                    train_until, args.text, args.folder, setting, seed, steps
                ).result()
                with lock:
                    results[key] = found
                    write(args.results, results)
                    print(
                        key,
                        {name: value for name, value in found.items() if type(value) is float},
                        flush=True,
                    )

    with (
        ProcessPoolExecutor(SIDE_BY_SIDE) as processes,
        ThreadPoolExecutor(SIDE_BY_SIDE) as threads,
    ):
        for done in [threads.submit(work, processes, *job) for job in jobs()]:
            done.result()


if __name__ == "__main__":
    main()
