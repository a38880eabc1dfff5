"""Draw the loss, perplexity and learning rate of a RUN; or `architecture`, figure 1 of the paper for a model's configuration."""

from pathlib import Path

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.errors import InputError, choices
from minitransformer.layers.config import NAMED, ModelConfig
from minitransformer.models import TransformerConfig
from minitransformer.pictures.architecture import PAPERS_VOCABULARY, architecture
from minitransformer.training.log import read_metrics
from minitransformer.training.run import Run

ARCHITECTURE = "architecture"


def add_arguments(parser) -> None:
    parser.add_argument("what", metavar=f"RUN|{ARCHITECTURE}")
    parser.add_argument("of", nargs="?", metavar="NAME|RUN",
                        help=f"architecture: of a model size ({', '.join(NAMED)}) or of a run (default: base)")
    parser.add_argument("--output", metavar="FILE.png",
                        help="image file to write; it must not exist yet (default: RUN/curves.png or "
                        "architecture.png, or curves-2.png and so on)")


def execute(args) -> None:
    from minitransformer.pictures import plots    # imports matplotlib

    if args.what == ARCHITECTURE:
        path = picture_path(args.output, "architecture.png")
        write_picture(architecture(_config(args.of or "base")), path)
        return
    if args.of:
        raise InputError(f"{args.of}: of no use to {args.what}; leave it out")
    if not Path(args.what).exists():
        raise InputError(f"{args.what}: neither a run nor the name of a picture; {choices(args.what, [ARCHITECTURE])}")
    path = picture_path(args.output, Path(args.what, "curves.png"))
    write_picture(plots.curves(read_metrics(args.what)), path)


def _config(of) -> ModelConfig:
    """The configuration of a run, or of a model size with the paper's vocabulary."""
    if of in NAMED:
        return TransformerConfig.named(of, PAPERS_VOCABULARY)
    if not Path(of).exists():
        raise InputError(f"{of}: neither a run nor a model size; {choices(of, NAMED)}")
    return Run.open(of).settings.config
