"""minitransformer benchmark --decoding: the speed of beam search, also in comparison with other libraries."""

from collections.abc import Callable, Iterator

from minitransformer.benchmarks.decoding.comparison import check_model, compare
from minitransformer.benchmarks.decoding.scaling import scale
from minitransformer.benchmarks.decoding.sentences import Sentences
from minitransformer.cli.benchmark_text import memory, warn_of_other_work
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.training.run import Run


def begin(args, peers) -> tuple[Iterator[dict], Callable]:
    """(dicts for JSON, each measured when it is requested; the function that prints them).

    Raises InputError immediately for a run or a text that cannot be used.
    """
    run, case, references = _load(args.decoding, args.test, args.batch)
    if args.scaling:
        return scale(case, args.rounds), _print_scaling
    if peers:
        check_model(run.model.config)
    return (compare(case, peers, args.threads, args.rounds, run.vocabulary, references) for _ in range(1)), _print_comparison


def _load(path, files, batch) -> tuple[Run, Sentences, list[str]]:
    """(run, Sentences, reference texts): all that a worker needs."""
    require("sacrebleu")
    run = Run.load(path)
    try:
        pairs = run.task.test_pairs(files)
    except InputError as error:
        raise InputError(f"--decoding {path}: {error}") from None
    files = files or run.task.valid
    if not any(run.vocabulary.encode(source) for source, _ in pairs):
        raise InputError(f"{' / '.join(files)}: no source sentences, expected at least one")
    return run, Sentences(str(path), files, batch=batch), [target for _, target in pairs]


def _print_comparison(results) -> None:
    for result in results:
        batch = f", batches of {result['batch']}" if result["batch"] else ""
        print(f"\n{result['sentences']:,} sentences, beam {result['beam']}{batch}\n"
              f"{'':15} {'sentences/s':>11} {'ratio':>6} {'peak memory':>13} {'ratio':>6} {'same output':>12} {'BLEU':>6}  "
              f"setting")
        print(f"{'minitransformer':15} {_start(result)} {'':6} {'':12} {result['bleu']:6.2f}", flush=True)
        for name, peer in result["peers"].items():
            if "failed" in peer:
                print(f"{name:15} failed: {peer['failed']}", flush=True)
            else:
                print(f"{name:15} {_start(peer)} {peer['peak_memory_ratio']:6.2f} "
                      f"{peer['same_output']:12.1%} {peer['bleu']:6.2f}  {peer['setting']}", flush=True)
        warn_of_other_work(result)


def _start(numbers) -> str:
    ratio = f"{numbers['ratio']:.2f}" if "ratio" in numbers else ""
    return f"{numbers['sentences_per_second']:11,.1f} {ratio:>6} {memory(numbers):>13}"


def _print_scaling(results) -> None:
    print(f"\n{'batch':>6} {'beam':>5} {'time':>10} {'of a hypothesis':>16} {'peak memory':>12}")
    for row in results:
        print(f"{row['batch']:6} {row['beam']:5} {1000 * row['seconds']:7,.0f} ms "
              f"{1000 * row['seconds_per_hypothesis']:13.2f} ms {memory(row)}", flush=True)
