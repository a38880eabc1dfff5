"""What a run trains on and is measured by, made from its settings: the same at its start and when it goes on."""

import sys
from pathlib import Path
from typing import Any, NamedTuple

from minitransformer.data import toy
from minitransformer.data.corpus import CorpusBatches, encode_pairs
from minitransformer.data.parallel import read_pairs
from minitransformer.decoding import translate
from minitransformer.errors import InputError
from minitransformer.evaluation import bleu, exact_match
from minitransformer.extras import require
from minitransformer.training.files import digest

EXAMPLES = 8


class Data(NamedTuple):
    batches: Any    # an endless iterator with a `position`
    valid: list     # pairs of id lists
    measure: Any    # measure(model) -> {name: number}, of the model's own greedy outputs on the validation data
    examples: list  # a few pairs of validation texts


def make_data(settings, vocabulary):
    """The Data of a run with these `settings` (those of its config.json)."""
    return (_text if settings["task"] == "translate" else _toy)(settings, vocabulary)


def _toy(settings, _):
    task = toy.make_task(settings["task"], settings["language"])
    training = settings["training"]
    valid = toy.held_out(task, 200, seed=1)
    return Data(toy.ToyBatches(task, settings["batch"], training["seed"]), valid,
                lambda model: {"valid_exact_match": exact_match(model, valid, threads=training["threads"])},
                [(" ".join(task.vocabulary.tokens(source)), task.vocabulary.decode(target))
                 for source, target in valid[:EXAMPLES]])


def _text(settings, vocabulary):
    require("sacrebleu")    # now, and not at the first validation
    for file, expected in settings["sha256"].items():
        if Path(file).exists() and digest(Path(file)) != expected:
            raise InputError(f"{file} is not what it was when the training began (its sha256 is another)")
    texts = {name: read_pairs(settings[name], f"--{name}") for name in ("train", "valid")}
    pairs, valid = (encode_pairs(vocabulary, texts[name], settings["max_length"], " / ".join(settings[name])) for name in texts)
    if len(pairs) < len(texts["train"]):
        print(f"{len(texts['train']) - len(pairs)} pairs with an empty side are left out", file=sys.stderr)
    training = settings["training"]
    sources, targets = zip(*texts["valid"])

    def measure(model):
        outputs = translate(model, vocabulary, sources, settings["max_length"], threads=training["threads"])
        return {"valid_bleu": bleu(outputs, targets)[0]}

    examples = [pair for pair in texts["valid"] if all(pair)][:EXAMPLES]
    return Data(CorpusBatches(pairs, settings["batch"], training["seed"]), valid, measure, examples)
