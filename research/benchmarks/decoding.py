"""Measure beam search with a beam of 5 and the model of a RUN, which the other libraries get, too;
or show how its time and memory grow with batch and beam.
"""

from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any

from research.benchmarks.measure import OtherWork, against_peers, measure, succeeded
from research.benchmarks.report import (
    add_common,
    chosen_peers,
    memory,
    print_comparison,
    report,
    whole,
)
from research.benchmarks.sentences import Sentences
from minitransformer.data.parallel import read_pairs
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.tasks.translate import Translate
from minitransformer.tasks.evaluation import bleu
from minitransformer.runs.run import Run

PACKAGES = {
    "marianmt": ["torch", "transformers"],
    "ctranslate2": ["ctranslate2"],
}  # {peer: what it needs}
# The settings tried for each library before the best is measured: what the threads share, and
# sentences per batch.
SETTINGS = {
    "marianmt": ([""], (32, 64, 100)),
    "ctranslate2": (["batches-", "operations-"], (16, 32, 64)),
}
BATCHES, BEAMS = (32, 64, 128), (1, 2, 5, 10)  # for --scaling
MAX_BATCH = 100_000


def add_arguments(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument(
        "--test",
        nargs="+",
        metavar=("SOURCE", "TARGET"),
        help="aligned text files, or one two-column TSV (default: the run's validation files)",
    )
    parser.add_argument(
        "--against", metavar="NAMES", help=f"any of {','.join(PACKAGES)} (default: none)"
    )
    parser.add_argument(
        "--batch",
        type=whole(1, MAX_BATCH),
        metavar="INT",
        help="sentences translated at a time (default: as many as is fastest for each library)",
    )
    parser.add_argument(
        "--scaling",
        action="store_true",
        help="instead, show how minitransformer's search grows with batch and beam, on one thread",
    )
    add_common(parser, threads=True)


def execute(args) -> None:
    if args.scaling and (args.against or args.batch is not None):
        raise InputError(
            "--scaling measures minitransformer alone, in batches of its own; leave --against and --batch out"
        )
    peers, packages = chosen_peers(args.against, PACKAGES)
    require("sacrebleu")
    run = Run.load(args.run)
    if not isinstance(run.task, Translate):
        raise InputError(f"the task {run.task.name} has no text to decode; give a translation run")
    files = args.test or run.task.valid
    pairs = read_pairs(files, "--test")
    if not any(run.vocabulary.encode(source) for source, _ in pairs):
        raise InputError(f"{' / '.join(files)}: no source sentences, expected at least one")
    case = Sentences(args.run, files, batch=args.batch)
    if args.scaling:
        report(args, scale_search(case, args.rounds), _print_scaling, threads=1)
        return
    if peers:
        check_model(run.model.config)
    results = [
        compare(
            case, peers, args.threads, args.rounds, run.vocabulary, [target for _, target in pairs]
        )
    ]
    report(args, results, _print_comparison, args.threads, packages)


def check_model(config) -> None:
    """Raise InputError unless the peers support this TransformerConfig."""
    for name, expected in (
        ("pre_norm", False),
        ("positions", "sinusoidal"),
        ("activation", "relu"),
        ("attention", "scaled"),
        ("norm", "layer"),
        ("share_embeddings", True),
        ("share_output", True),
        ("d_k", None),
        ("d_v", None),
    ):
        found = getattr(config, name)
        if found != expected:
            raise InputError(
                f"the run's model has {name} {found}, and its weights fit into MarianMT and CTranslate2 "
                f"only with {name} {expected}; leave --against out"
            )


def compare(case, peers, threads, rounds, vocabulary, references) -> dict[str, Any]:
    """A dict for JSON: that of `against_peers`, with the peers' fastest settings.

    `same_output` is the fraction of sentences for which the peer's output has the same tokens as
    ours.
    """
    other_work = OtherWork()
    best = {
        "minitransformer": "minitransformer",
        **{peer: _best(case, peer, threads) for peer in peers},
    }
    measured = measure(case, best.values(), threads, rounds, warm_up=1)
    measured = {name: measured[contestant] for name, contestant in best.items()}
    outputs = measured["minitransformer"].outputs or []

    def numbers(found) -> dict[str, float]:
        score, _ = bleu([vocabulary.decode(output) for output in found.outputs], references, "none")
        return {
            "sentences_per_second": len(references) / median(found.seconds),
            "bleu": score,
            "same_output": sum(map(list.__eq__, outputs, found.outputs)) / len(references),
        }

    result = {
        "sentences": len(references),
        "beam": case.beam,
        "batch": case.batch,
        **against_peers(measured, numbers),
        "other_work": other_work.cores(),
    }
    for name, peer in result["peers"].items():
        peer["setting"] = best[name].partition(":")[2]
    return result


def _best(case, peer, threads) -> str:
    """The peer with its fastest setting; each setting decodes all sentences once."""

    def seconds(contestant) -> float:
        found = measure(case, [contestant], threads, rounds=1, warm_up=0)[contestant]
        return float("inf") if found.failed else found.seconds[0]

    shared, sizes = SETTINGS[peer]
    return min(
        (
            f"{peer}:{share}{size}"
            for share in shared
            for size in ([case.batch] if case.batch else sizes)
        ),
        key=seconds,
    )


def scale_search(case, rounds) -> Iterator[dict[str, Any]]:
    """One dict for JSON for each batch and beam, as soon as it is measured, on one thread."""
    for batch, beam in product(BATCHES, BEAMS):
        (measured,) = measure(
            case._replace(beam=beam), [f"minitransformer:{batch}"], 1, rounds
        ).values()
        found = succeeded(measured, f"minitransformer with batch {batch} and beam {beam}")
        seconds = median(found.seconds)
        yield {
            "batch": batch,
            "beam": beam,
            "seconds": seconds,
            "seconds_per_hypothesis": seconds / batch / beam,
            "peak_memory_bytes": found.peak,
        }


def _print_comparison(results) -> None:
    for result in results:
        batch = f", batches of {result['batch']}" if result["batch"] else ""
        print(f"\n{result['sentences']:,} sentences, beam {result['beam']}{batch}")
        print_comparison(
            result,
            "",
            "sentences",
            1,
            {
                "same output": lambda numbers: f"{numbers['same_output']:.1%}",
                " BLEU": lambda numbers: f"{numbers['bleu']:.2f}",
                "setting": lambda numbers: numbers.get("setting", ""),
            },
        )


def _print_scaling(results) -> None:
    print(f"\n{'batch':>6} {'beam':>5} {'time':>10} {'of a hypothesis':>16} {'peak memory':>12}")
    for row in results:
        print(
            f"{row['batch']:6} {row['beam']:5} {1000 * row['seconds']:7,.0f} ms "
            f"{1000 * row['seconds_per_hypothesis']:13.2f} ms {memory(row)}",
            flush=True,
        )
