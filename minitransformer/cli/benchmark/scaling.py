"""Show how time and memory of a training step grow with length, sentences, d_model and vocabulary."""

from benchmarks.scaling import scale
from minitransformer.cli.benchmark.report import add_threads, memory, report

add_arguments = add_threads


def execute(args) -> None:
    report(args, scale(args.threads, args.rounds), _print_table, args.threads)


def _print_table(results) -> None:
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
