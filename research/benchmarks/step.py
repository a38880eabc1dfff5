"""Measure a training step (forward, loss, backward, clipping, Adam; float32, dropout 0.1), alone or
against the same model in other libraries.
"""

from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from research.benchmarks.cases import CASES
from research.benchmarks.contestants import matmul
from research.benchmarks.measure import OtherWork, against_peers, measure, succeeded
from research.benchmarks.report import (
    add_common,
    chosen_names,
    chosen_peers,
    print_comparison,
    report,
)
from research.benchmarks.text import text_cases
from minitransformer.extras import require
from minitransformer.data.special import PAD

PACKAGES = {"torch": ["torch"], "torch.compile": ["torch"], "jax": ["jax"]}  # {peer: what it needs}


def add_arguments(parser) -> None:
    parser.add_argument(
        "--against", metavar="NAMES", help=f"any of {','.join(PACKAGES)} (default: none)"
    )
    parser.add_argument(
        "--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)"
    )
    parser.add_argument(
        "--batches",
        nargs="+",
        metavar=("SOURCE", "TARGET"),
        help="measure on batches of this parallel text, padding included, as `train translate` makes them; "
        "--config is then tiny, if not given (default: random tokens without padding)",
    )
    add_common(parser, threads=True)


def execute(args) -> None:
    peers, packages = chosen_peers(args.against, PACKAGES)
    configs = chosen_names(
        "--config", "tiny" if args.batches and args.config is None else args.config, CASES
    )
    cases = {name: CASES[name] for name in configs}
    with TemporaryDirectory() as folder:
        if args.batches:
            require("tokenizers")
            cases = text_cases(cases, args.batches, folder)
        results = (
            {"config": name, **compare(case, peers, args.threads, args.rounds)}
            for name, case in cases.items()
        )
        report(args, results, _print_table, args.threads, packages)


def compare(case, peers, threads, rounds) -> dict[str, Any]:
    """A dict for JSON: the one from `against_peers`, plus what follows from the case.

    `matmul_share` is the rate of a step's necessary operations as a fraction of the machine's best
    rate in one large matrix product; `padding` the fraction of padding in the batches; `other_work`
    the number of cores that were busy with other programs meanwhile (None if unknown).
    """
    other_work = OtherWork()
    measured = measure(case, ("minitransformer", *peers, "matmul"), threads, rounds)
    product, batches = measured.pop("matmul"), case.batches()
    tokens = sum(batch.terms for batch in batches)  # real target tokens
    result = against_peers(
        measured, lambda found: {"tokens_per_second": tokens / median(found.seconds)}
    )
    operations = sum(
        matmul.necessary_operations(
            case.config(), len(batch.source), batch.source.shape[1], batch.target.shape[1]
        )
        for batch in batches
    )
    machine = matmul.OPERATIONS / min(succeeded(product, "matmul").seconds)  # operations per second
    return {
        **result,
        "matmul_share": operations / median(measured["minitransformer"].seconds) / machine,
        "padding": {
            side: _padding([getattr(batch, side) for batch in batches])
            for side in ("source", "target")
        },
        "other_work": other_work.cores(),
    }


def _padding(arrays) -> float:
    """The share of padding in arrays of token ids."""
    return 1 - sum(np.count_nonzero(ids != PAD) for ids in arrays) / sum(ids.size for ids in arrays)


def _print_table(results) -> None:
    for result in results:
        source, target = result["padding"].values()
        print(
            f"\npadding: {source:.1%} of the source, {target:.1%} of the target"
            if source or target
            else ""
        )
        print_comparison(
            result,
            result["config"],
            "tokens",
            0,
            {
                "matmul share": lambda numbers: (
                    f"{numbers['matmul_share']:.0%}" if "matmul_share" in numbers else ""
                )
            },
        )
