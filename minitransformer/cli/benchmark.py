"""minitransformer benchmark: the speed of a training step or of beam search, also in comparison with other libraries."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minitransformer.benchmarks import text
from minitransformer.benchmarks.cases import CASES
from minitransformer.benchmarks.comparison import PEERS, compare
from minitransformer.benchmarks.decoding import comparison as decoding
from minitransformer.benchmarks.profile import profile
from minitransformer.benchmarks.scaling import scale
from minitransformer.cli import benchmark_decoding, benchmark_layers, info
from minitransformer.cli.benchmark_text import memory, warn_of_other_work
from minitransformer.errors import InputError, choices
from minitransformer.extras import require
from minitransformer.workers.host import available_cores

MAX_ROUNDS = 1000


def add_arguments(parser) -> None:
    parser.description = (
        "Measure a training step (forward, loss, backward, clipping, Adam; float32, dropout 0.1), alone or "
        "against the same model in other libraries. They take turns, each in its own process; a ratio is "
        "minitransformer's number divided by the other's. Measure on an otherwise idle machine.")
    parser.add_argument("--against", metavar="NAMES",
                        help=f"any of {','.join(PEERS)}; with --decoding any of {','.join(decoding.PEERS)} (default: none)")
    parser.add_argument("--config", metavar="NAMES", help=f"any of {','.join(CASES)} (default: all of them)")
    parser.add_argument("--batches", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="measure on batches of this parallel text, padding included, as `train translate` makes them; "
                             "--config is then tiny, if not given (default: random tokens without padding)")
    parser.add_argument("--threads", type=int, default=available_cores(), metavar="INT",
                        help=f"threads for each library (default: {available_cores()})")
    parser.add_argument("--rounds", type=int, default=7, metavar="INT", help="turns for each library (default: 7)")
    parser.add_argument("--scaling", action="store_true",
                        help="instead, show how time and memory of a step grow with length, sentences, d_model and "
                             "vocabulary")
    parser.add_argument("--profile", action="store_true",
                        help="instead, show where the time of a step goes, block by block, on one thread")
    parser.add_argument("--layers", action="store_true",
                        help="instead, measure table 1 of the paper on one thread: the multiplications, sequential steps, paths, "
                             "time and memory of self-attention, recurrent, convolutional, separable and restricted layers")
    parser.add_argument("--output", metavar="FILE", help="a picture of what --layers measured")
    parser.add_argument("--decoding", metavar="RUN",
                        help="instead, measure beam search with a beam of 5 and the model of this folder, which the "
                             "others get, too; with --scaling show how it grows with batch and beam, on one thread")
    parser.add_argument("--test", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="what --decoding translates: aligned text files, or one two-column TSV (default: the run's "
                             "validation files)")
    parser.add_argument("--batch", type=int, metavar="INT",
                        help="sentences that --decoding translates at a time (default: as many as is fastest for each library)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args) -> None:
    if not hasattr(os, "killpg"):
        raise InputError("benchmark needs Linux or macOS: it stops its processes as a group")
    for name, most in ("threads", available_cores()), ("rounds", MAX_ROUNDS):
        if not 1 <= getattr(args, name) <= most:
            raise InputError(f"--{name} is {getattr(args, name)}, expected 1 to {most:,}")
    if args.test and not args.decoding:
        raise InputError("--test is the text for --decoding RUN to translate; give a RUN, or leave --test out")
    if args.batch is not None:
        if not args.decoding or args.scaling:
            raise InputError("--batch is the number of sentences that --decoding RUN translates at a time; give a RUN, without "
                             "--scaling, or leave --batch out")
        if args.batch < 1:
            raise InputError(f"--batch is {args.batch}, expected at least 1")
    if args.batches and (args.decoding or args.scaling or args.profile or args.layers):
        raise InputError("--batches is the text of a training step; leave --decoding, --scaling, --profile and --layers out")
    if args.decoding and (args.config or args.profile):
        raise InputError("--decoding measures the model of a run; leave --config and --profile out")
    if args.scaling and (args.against or args.config or args.profile):
        raise InputError("--scaling measures minitransformer alone, at its own sizes; leave --against, --config and "
                         "--profile out")
    if args.profile and args.against:
        raise InputError("--profile measures minitransformer alone; leave --against out")
    if args.output is not None and not args.layers:
        raise InputError("--output is the picture of --layers; add --layers, or leave --output out")
    if args.layers:
        if args.scaling or args.profile or args.decoding or args.against or args.config:
            raise InputError("--layers measures single layers, at sizes of its own; leave --scaling, --profile, --decoding, "
                             "--against and --config out")
        benchmark_layers.execute(args, _environment(1, []))
        return
    known = decoding.PEERS if args.decoding else PEERS
    peers = _names("--against", args.against, known) if args.against is not None else []
    cases = _names("--config", args.config, CASES) if args.config is not None else ["tiny"] if args.batches else CASES
    libraries = sorted({library for peer in peers
                        for library in decoding.LIBRARIES.get(peer, [peer.partition(".")[0]])})
    for library in libraries:
        require(library)
    threads = 1 if args.profile or (args.decoding and args.scaling) else args.threads
    where = _environment(threads, libraries)
    results, print_results = _begin(args, peers, cases)
    if args.json:
        print(json.dumps({"results": list(results), **where}))
        return
    print(f"{where['processor']}, BLAS: {where['kernels']} kernels, threads: {where['threads']}, "
          f"compiled kernels: {where['compiled_kernels']}\n"
          + ", ".join(f"{name} {version}" for name, version in where["versions"].items()), flush=True)
    print_results(results)


def _begin(args, peers, cases) -> tuple[Iterator[dict], Callable]:
    """(dicts for JSON, each measured when it is requested; the function that prints them)."""
    if args.decoding:
        return benchmark_decoding.begin(args, peers)
    if args.scaling:
        return scale(args.threads, args.rounds), _print_scaling
    if args.profile:
        return ({"config": name, "blocks": profile(CASES[name], args.rounds)} for name in cases), _print_profile
    if args.batches:
        require("tokenizers")
        vocabulary, batches = text.read(args.batches)
        return _on_text(vocabulary, batches, cases, peers, args), _print_comparison
    return (({"config": name, **compare(CASES[name], peers, args.threads, args.rounds)} for name in cases),
            _print_comparison)


def _on_text(vocabulary, batches, cases, peers, args) -> Iterator[dict[str, Any]]:
    """A dict for each of the `cases`, of which only the size of the model counts."""
    padding = {side: text.padding([getattr(batch, side) for batch in batches]) for side in ("source", "target")}
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "batches.npz")
        text.save(batches, file)
        for name in cases:
            case = text.Text(CASES[name].size, vocabulary, file)
            yield {"config": name, "padding": padding, **compare(case, peers, args.threads, args.rounds)}


def _names(option, text, known) -> list[str]:
    """The names in `text`, without repetition."""
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            raise InputError(f"{option}: unknown name {name!r}; {choices(name, known)}")
    return names


def _environment(threads, libraries) -> dict[str, Any]:
    """Everything that a measured speed depends on."""
    facts = info.collect()
    compilers = ["numba"] if facts["numba"] else []
    return {"processor": facts["processor"], "kernels": facts["blas_kernels"], "threads": threads,
            "compiled_kernels": facts["compiled_kernels"],
            "versions": {name: facts[name] for name in ("minitransformer", "python", "numpy", *compilers, *libraries)}}


def _print_comparison(results) -> None:
    print(f"\n{'config':6} {'':15} {'tokens/s':>10} {'ratio':>6} {'peak memory':>13} {'ratio':>6} {'matmul share':>13}")
    for result in results:
        if "padding" in result:
            source, target = result["padding"]["source"], result["padding"]["target"]
            print(f"{'':6} padding: {source:.1%} of the source, {target:.1%} of the target")
        print(f"{result['config']:6} {'minitransformer':15} {_speed(result)} {'':6} {memory(result)} {'':6} "
              f"{result['matmul_share']:13.0%}", flush=True)
        for name, peer in result["peers"].items():
            if "failed" in peer:
                print(f"{'':6} {name:15} failed: {peer['failed']}", flush=True)
            else:
                print(f"{'':6} {name:15} {_speed(peer)} {result['ratio'][name]:6.2f} {memory(peer)} "
                      f"{result['peak_memory_ratio'][name]:6.2f}", flush=True)
        warn_of_other_work(result)


def _print_profile(results) -> None:
    """In milliseconds: the time of the products at the machine's best rate, and the time beyond that."""
    for result in results:
        print(f"\n{result['config']:20} {'forward':>9} {'backward':>9} {'products':>9} {'rest':>9}")
        columns = [[row[name] for row in result["blocks"]] for name in ("forward", "backward", "products")]
        for block, *times in [*zip([row["block"] for row in result["blocks"]], *columns),
                              ("all", *map(sum, columns))]:
            forward, backward, products = times
            numbers = (forward, backward, products, forward + backward - products)
            print(f"{block:20} " + " ".join(f"{1000 * number:6.1f} ms" for number in numbers), flush=True)


def _print_scaling(results) -> None:
    """Print each row with its growth over the previous row."""
    before = {"axis": None}
    for row in results:
        growth = ["", ""]
        if row["axis"] != before["axis"]:
            print(f"\n{row['axis']:>10} {'step':>9} {'growth':>7} {'peak memory':>12} {'growth':>7}")
        else:
            growth = [f"x {row[name] / before[name]:.1f}" for name in ("step_seconds", "peak_memory_bytes")]
        line = f"{row['value']:10,} {1000 * row['step_seconds']:6,.0f} ms {growth[0]:>7} {memory(row)} {growth[1]:>7}"
        print(line.rstrip(), flush=True)
        before = row


def _speed(numbers) -> str:
    return f"{numbers['tokens_per_second']:10,.0f}"
