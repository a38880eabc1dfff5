"""minitransformer attention: see who attends to whom."""

from functools import partial

from minitransformer import plots
from minitransformer.attention_map import KINDS, attention_map
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.pictures import write_picture
from minitransformer.training.run import Run


def add_parser(commands):
    parser = commands.add_parser(
        "attention", help="draw the attention maps of a trained model",
        description="Draw every head of one layer while the model reads TEXT and answers: the encoder's or the "
                    "decoder's self-attention, or the decoder's cross-attention to the source.")
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("text", metavar="TEXT", help="the source text")
    parser.add_argument("--output", required=True, metavar="FILE.png", help="picture to write")
    parser.add_argument("--kind", choices=KINDS, default="cross", help="default: cross")
    parser.add_argument("--layer", type=int, metavar="N", help="layer, from 0 (default: the last)")
    parser.set_defaults(execute=execute)


def execute(args):
    run = Run.load(args.run)
    with options_named_as_typed(args):
        found = attention_map(run, args.text, args.kind, args.layer)
    layer = run.model.config.num_layers - 1 if args.layer is None else args.layer
    write_picture(partial(plots.attention, *found, f"{args.kind} attention, layer {layer}"), args.output)
