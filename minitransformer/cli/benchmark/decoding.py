"""Measure beam search with a beam of 5 and the model of a RUN, which the other libraries get, too; or show how its time and
memory grow with batch and beam.
"""

from benchmarks.decoding.comparison import PACKAGES, check_model, compare
from benchmarks.decoding.sentences import Sentences
from benchmarks.scaling import scale_search
from minitransformer.cli.benchmark.report import add_threads, chosen_peers, memory, print_comparison, report
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.training.run import Run


def add_arguments(parser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--test", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="aligned text files, or one two-column TSV (default: the run's validation files)")
    parser.add_argument("--against", metavar="NAMES", help=f"any of {','.join(PACKAGES)} (default: none)")
    parser.add_argument("--batch", type=int, metavar="INT",
                        help="sentences translated at a time (default: as many as is fastest for each library)")
    parser.add_argument("--scaling", action="store_true",
                        help="instead, show how minitransformer's search grows with batch and beam, on one thread")
    add_threads(parser)


def execute(args) -> None:
    if args.scaling and (args.against or args.batch is not None):
        raise InputError("--scaling measures minitransformer alone, in batches of its own; leave --against and --batch out")
    if args.batch is not None and args.batch < 1:
        raise InputError(f"--batch is {args.batch}, expected at least 1")
    peers, packages = chosen_peers(args.against, PACKAGES)
    require("sacrebleu")
    run = Run.load(args.run)
    pairs = run.task.test_pairs(args.test)
    files = args.test or run.task.valid
    if not any(run.vocabulary.encode(source) for source, _ in pairs):
        raise InputError(f"{' / '.join(files)}: no source sentences, expected at least one")
    case = Sentences(args.run, files, batch=args.batch)
    if args.scaling:
        report(args, scale_search(case, args.rounds), _print_scaling, threads=1)
        return
    if peers:
        check_model(run.model.config)
    results = [compare(case, peers, args.threads, args.rounds, run.vocabulary, [target for _, target in pairs])]
    report(args, results, _print_comparison, args.threads, packages)


def _print_comparison(results) -> None:
    for result in results:
        batch = f", batches of {result['batch']}" if result["batch"] else ""
        print(f"\n{result['sentences']:,} sentences, beam {result['beam']}{batch}")
        print_comparison(result, "", "sentences", 1, {
            "same output": lambda numbers: f"{numbers['same_output']:.1%}",
            " BLEU": lambda numbers: f"{numbers['bleu']:.2f}", "setting": lambda numbers: numbers.get("setting", "")})


def _print_scaling(results) -> None:
    print(f"\n{'batch':>6} {'beam':>5} {'time':>10} {'of a hypothesis':>16} {'peak memory':>12}")
    for row in results:
        print(f"{row['batch']:6} {row['beam']:5} {1000 * row['seconds']:7,.0f} ms "
              f"{1000 * row['seconds_per_hypothesis']:13.2f} ms {memory(row)}", flush=True)
