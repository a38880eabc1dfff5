"""Draw `architecture`, figure 1 of the paper for a model's configuration."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.errors import InputError, choices
from minitransformer.layers.config import NAMED, ModelConfig
from minitransformer.models import TransformerConfig
from minitransformer.pictures.architecture import PAPERS_VOCABULARY, architecture
from minitransformer.runs.run import Run


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", metavar="architecture", choices=["architecture"])
    parser.add_argument(
        "of",
        nargs="?",
        metavar="NAME|RUN",
        help=f"of a model size ({', '.join(NAMED)}) or of a run (default: base)",
    )
    parser.add_argument(
        "--output",
        metavar="FILE.png",
        help="image file to write; it must not exist yet (default: architecture.png, or a number behind it)",
    )


def execute(args: Namespace) -> None:
    path = picture_path(args.output, "architecture.png")
    write_picture(architecture(_config(args.of or "base")), path)


def _config(of: str) -> ModelConfig:
    """The configuration of a run, or of a model size with the paper's vocabulary."""
    if of in NAMED:
        return TransformerConfig.named(of, PAPERS_VOCABULARY)
    if not Path(of).exists():
        raise InputError(f"{of}: neither a run nor a model size; {choices(of, NAMED)}")
    return Run.open(of).settings.config
