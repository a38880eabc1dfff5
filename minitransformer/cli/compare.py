"""Print the settings in which several runs differ, and the results of each; with --output also draw their curves in one picture."""

from hashlib import sha256
from typing import Any

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.errors import InputError
from minitransformer.training.log import read_metrics
from minitransformer.training.run import Run


def add_arguments(parser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders that minitransformer train wrote")
    parser.add_argument("--output", metavar="FILE.png", help="image file to write; it must not exist yet")


def execute(args) -> None:
    if len(args.runs) < 2:
        raise InputError("only one RUN given, expected two or more to compare")
    picture = args.output and picture_path(args.output)
    runs = [Run.open(path) for path in args.runs]
    logs = [read_metrics(path) for path in args.runs]
    rows = [("", args.runs), *_differences([_flat(run.settings.as_dict()) for run in runs]),
            ("parameters", [f"{run.model.num_parameters():,}" for run in runs]), *_results(logs)]
    widths = [max(len(cells[i]) for _, cells in rows) for i in range(len(runs))]
    first = max(len(name) for name, _ in rows)
    for name, cells in rows:
        print("  ".join([f"{name:{first}}", *(f"{cell:>{width}}" for cell, width in zip(cells, widths))]))
    if picture:
        from minitransformer.pictures import plots    # imports matplotlib
        write_picture(plots.curves(dict(zip(args.runs, logs))), picture)


def _flat(settings, prefix="") -> dict[str, Any]:
    """{"training.steps": 100} from {"training": {"steps": 100}}; files are {"corpus": ...}, which differ if their texts do."""
    flat = {}
    for name, value in settings.items():
        if name == "sha256" and isinstance(value, dict):
            flat["corpus"] = sha256("".join(map(str, value.values())).encode()).hexdigest()[:8]
        elif isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            flat[prefix + name] = value
    return flat


def _differences(settings) -> list[tuple[str, list[str]]]:
    names = dict.fromkeys(name for one in settings for name in one)
    return [(name, [str(one.get(name, "-")) for one in settings]) for name in names
            if len({str(one.get(name, "-")) for one in settings}) > 1]


def _results(logs) -> list[tuple[str, list[str]]]:
    """The last step, the last value of everything that was logged, and the best validation."""
    rows = [("last step", [f"{log[-1]['step']:,}" for log in logs])]
    last = [{name: value for record in log for name, value in record.items()} for log in logs]
    names = dict.fromkeys(name for one in last for name in one if name not in ("step", "time", "learning_rate"))
    rows += [(name.replace("_", " "), [f"{one[name]:,.5g}" if name in one else "-" for one in last]) for name in names]
    valid = [[record["valid_perplexity"] for record in log if "valid_perplexity" in record] for log in logs]
    return [*rows, ("best valid perplexity", [f"{min(values):,.5g}" if values else "-" for values in valid])]
