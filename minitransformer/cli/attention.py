"""Draw every head of one layer as the model reads TEXT and answers: the self-attention of the
encoder or the decoder, or the decoder's cross-attention to the source, if the model has it.
"""

from argparse import ArgumentParser, Namespace

from minitransformer.cli.output import picture_path, write_picture
from minitransformer.pictures.attention_map import KINDS, attention_map
from minitransformer.runs.run import Run


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("text", metavar="TEXT", help="the source text")
    parser.add_argument(
        "--output",
        metavar="FILE.png",
        help="image file to write; it must not exist yet (default: attention.png, or attention-2.png and so on)",
    )
    parser.add_argument(
        "--kind", choices=KINDS, help="which attention to draw (default: cross if the model has it)"
    )
    parser.add_argument("--layer", type=int, metavar="N", help="layer, from 0 (default: the last)")


def execute(args: Namespace) -> None:
    from minitransformer.pictures import plots  # imports matplotlib

    path = picture_path(args.output, "attention.png")
    run = Run.load(args.run)
    found = attention_map(run, args.text, args.kind, args.layer)
    title = f"{found.kind} attention, layer {found.layer}"
    write_picture(
        plots.attention(found.weights, found.queries, found.keys, title, found.predicted), path
    )
