"""Draw the loss, perplexity and learning rate of a RUN; or `positions`, the table of sinusoids; or `schedule`, the paper's
learning rate for several values of d_model and warm-up.
"""

from pathlib import Path

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.errors import InputError, choices
from minitransformer.training.log import read_metrics


def add_arguments(parser) -> None:
    parser.add_argument("what", metavar="RUN|positions|schedule")
    parser.add_argument("--output", metavar="FILE.png",
                        help="image file to write; it must not exist yet (default: RUN/curves.png, positions.png or schedule.png, "
                             "or curves-2.png and so on)")


def execute(args) -> None:
    from minitransformer.pictures import plots    # imports matplotlib

    if args.what in ("positions", "schedule"):
        path = picture_path(args.output, f"{args.what}.png")
        figure = plots.positions() if args.what == "positions" else plots.schedules()
    elif not Path(args.what).exists():
        nearest = choices(args.what, ["positions", "schedule"])
        raise InputError(f"{args.what}: neither a run nor the name of a picture; {nearest}")
    else:
        path = picture_path(args.output, Path(args.what, "curves.png"))
        figure = plots.curves({args.what: read_metrics(args.what)})
    write_picture(figure, path)
