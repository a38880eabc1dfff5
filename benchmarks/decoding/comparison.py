"""Beam search on one text, measured: minitransformer's numbers, and their ratios to those of its peers."""

from statistics import median
from typing import Any

from benchmarks.comparison import against_peers
from benchmarks.measure import OtherWork, measure
from minitransformer.errors import InputError
from minitransformer.training.evaluation import bleu

PACKAGES = {"marianmt": ["torch", "transformers"], "ctranslate2": ["ctranslate2"]}    # {peer: what it needs}
# The settings tried for each library before the best is measured: what the threads share, and sentences per batch.
SETTINGS = {"marianmt": ([""], (32, 64, 100)), "ctranslate2": (["batches-", "operations-"], (16, 32, 64))}


def check_model(config) -> None:
    """Raise InputError unless the peers support this TransformerConfig."""
    for name, expected in (("pre_norm", False), ("positions", "sinusoidal"), ("activation", "relu"),
                           ("attention", "scaled"), ("norm", "layer"), ("share_embeddings", True), ("share_output", True),
                           ("d_k", None), ("d_v", None)):
        found = getattr(config, name)
        if found != expected:
            raise InputError(f"the run's model has {name} {found}, and its weights fit into MarianMT and CTranslate2 "
                             f"only with {name} {expected}; leave --against out")


def compare(case, peers, threads, rounds, vocabulary, references) -> dict[str, Any]:
    """A dict for JSON: that of `against_peers`, with the peers' fastest settings.

    `same_output` is the fraction of sentences for which the peer's output has the same tokens as ours.
    """
    other_work = OtherWork()
    best = {"minitransformer": "minitransformer", **{peer: _best(case, peer, threads) for peer in peers}}
    measured = measure(case, best.values(), threads, rounds, warm_up=1)
    measured = {name: measured[contestant] for name, contestant in best.items()}
    outputs = measured["minitransformer"].outputs or []

    def numbers(found) -> dict[str, float]:
        score, _ = bleu([vocabulary.decode(output) for output in found.outputs], references, "none")
        return {"sentences_per_second": len(references) / median(found.seconds), "bleu": score,
                "same_output": sum(map(list.__eq__, outputs, found.outputs)) / len(references)}

    result = {"sentences": len(references), "beam": case.beam, "batch": case.batch, **against_peers(measured, numbers),
              "other_work": other_work.cores()}
    for name, peer in result["peers"].items():
        peer["setting"] = best[name].partition(":")[2]
    return result


def _best(case, peer, threads) -> str:
    """The peer with its fastest setting; each setting decodes all sentences once."""
    def seconds(contestant) -> float:
        found = measure(case, [contestant], threads, rounds=1, warm_up=0)[contestant]
        return float("inf") if found.failed else found.seconds[0]

    shared, sizes = SETTINGS[peer]
    return min((f"{peer}:{share}{size}" for share in shared for size in ([case.batch] if case.batch else sizes)), key=seconds)
