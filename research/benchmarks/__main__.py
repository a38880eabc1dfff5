"""Measure how fast minitransformer is, on an otherwise idle machine.

What is compared takes turns, each in its own process. A ratio is minitransformer's number divided
by the other's.
"""

import os
import sys
from importlib import import_module

from minitransformer.cli.parser import Parser
from minitransformer.errors import InputError, one_line

BENCHMARKS = {  # each is a module, imported only when it is requested: its docstring heads its help
    "step": "a training step, alone or against PyTorch and JAX",
    "decoding": "beam search with the model of a run, alone or against MarianMT and CTranslate2",
    "profile": "where the time of a training step goes, block by block",
    "scaling": "how time and memory of a training step grow with its sizes",
    "layers": "Table 1 of the paper: operations, steps, paths, time and memory of each layer",
    "kernels": "each compiled kernel against what runs without Numba",
    "adam": "whether Adam's update 10,000 costs as much as the first",
    "own_loop": "your own training loop against `minitransformer train`",
    "processes": "two processes against two threads",
    "network": "the all-reduce over a network of limited bandwidth",
    "pretrained": "an imported model that writes, against transformers and the memory's bandwidth",
    "pages": "the cells of the chapters in their pages, and installed",
    "info": "the versions, BLAS, threads and kernels of this installation, which a speed depends on",
    "gpu": "all that needs a GPU: the parity tests, a training run, training steps",
}


def main(argv=None) -> int:
    """Run one benchmark, or list them; returns the exit code: 2 for bad input, 130 after Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    parser = make_parser(argv)
    if not argv:
        parser.print_help()
        return 0
    try:
        args = parser.parse_args(argv)
        if not hasattr(os, "killpg") and argv[0] != "info":
            raise InputError(
                "the benchmarks need Linux or macOS: they stop their processes as a group"
            )
        return args.execute(args) or 0
    except InputError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
    print(one_line(f"{parser.prog}: {message}"), file=sys.stderr)
    return 2


def make_parser(argv) -> Parser:
    parser = Parser(prog="research.benchmarks", description=__doc__)
    benchmarks = parser.add_subparsers(metavar="BENCHMARK", required=True)
    for name, text in BENCHMARKS.items():
        benchmark = benchmarks.add_parser(name, help=text)
        if name in argv[:1]:
            module = import_module(f"research.benchmarks.{name}")
            benchmark.description = module.__doc__
            module.add_arguments(benchmark)
            benchmark.set_defaults(execute=module.execute)
    return parser


if __name__ == "__main__":
    sys.exit(main())
