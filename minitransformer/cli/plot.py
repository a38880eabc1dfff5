"""Draw the loss, perplexity and learning rate of a RUN; or `architecture`, figure 1 of the paper for a model's configuration;
or `positions`, the table of sinusoids; or `schedule`, the paper's learning rate for several values of d_model and warm-up.
"""

from pathlib import Path

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.errors import InputError, choices
from minitransformer.layers.config import NAMED, ModelConfig
from minitransformer.models import TransformerConfig
from minitransformer.pictures.architecture import PAPERS_VOCABULARY, architecture
from minitransformer.training.log import read_metrics
from minitransformer.training.run import Run

PICTURES = ("architecture", "positions", "schedule")


def add_arguments(parser) -> None:
    parser.add_argument("what", metavar=f"RUN|{'|'.join(PICTURES)}")
    parser.add_argument("of", nargs="?", metavar="NAME|RUN",
                        help=f"architecture: of a model size ({', '.join(NAMED)}) or of a run (default: base)")
    parser.add_argument("--output", metavar="FILE.png",
                        help="image file to write; it must not exist yet (default: RUN/curves.png, positions.png and so on, "
                             "or curves-2.png and so on)")


def execute(args) -> None:
    from minitransformer.pictures import plots    # imports matplotlib

    if args.of and args.what != "architecture":
        raise InputError(f"{args.of}: of no use to {args.what}; leave it out")
    if args.what in PICTURES:
        path = picture_path(args.output, f"{args.what}.png")
        figure = {"architecture": lambda: architecture(_config(args.of or "base")), "positions": plots.positions,
                  "schedule": plots.schedules}[args.what]()
    elif not Path(args.what).exists():
        raise InputError(f"{args.what}: neither a run nor the name of a picture; {choices(args.what, PICTURES)}")
    else:
        path = picture_path(args.output, Path(args.what, "curves.png"))
        figure = plots.curves({args.what: read_metrics(args.what)})
    write_picture(figure, path)


def _config(of) -> ModelConfig:
    """The configuration of a run, or of a model size with the paper's vocabulary."""
    if of in NAMED:
        return TransformerConfig.named(of, PAPERS_VOCABULARY)
    if not Path(of).exists():
        raise InputError(f"{of}: neither a run nor a model size; {choices(of, NAMED)}")
    return Run.open(of).settings.config
