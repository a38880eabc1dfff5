"""minitransformer plot: curves of a run, the table of sinusoids, the schedule."""

from functools import partial
from pathlib import Path

from minitransformer import plots
from minitransformer.cli.pictures import write_picture
from minitransformer.errors import InputError, choices
from minitransformer.training.log import read_metrics


def add_arguments(parser):
    parser.description = (
        "Draw loss, perplexity and learning rate of a RUN; or `positions`, the table of sinusoids; or "
        "`schedule`, the paper's learning rate for several d_model and warm-ups.")
    parser.add_argument("what", metavar="RUN|positions|schedule")
    parser.add_argument("--output", metavar="FILE.png",
                        help="picture to write (default: RUN/curves.png, positions.png or schedule.png)")


def execute(args):
    if args.what in ("positions", "schedule"):
        draw = plots.positions if args.what == "positions" else plots.schedules
        output = args.output or f"{args.what}.png"
    elif not Path(args.what).exists():
        nearest = choices(args.what, ["positions", "schedule"])
        raise InputError(f"{args.what}: no such run, nor a picture of that name; {nearest}")
    else:
        draw = partial(plots.curves, {args.what: read_metrics(args.what)})
        output = args.output or str(Path(args.what) / "curves.png")
    write_picture(draw, output)
