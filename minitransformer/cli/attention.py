"""minitransformer attention: see who attends to whom."""

import numpy as np

from minitransformer import plots
from minitransformer.data.vocabulary import BOS, EOS
from minitransformer.decoding import decode_all, encode
from minitransformer.errors import InputError
from minitransformer.training.run import Run

KINDS = ("encoder", "decoder", "cross")


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
    layers = run.model.config.num_layers
    layer = layers - 1 if args.layer is None else args.layer
    if not 0 <= layer < layers:
        raise InputError(f"--layer is {layer}, expected 0 to {layers - 1}")
    (source,) = encode(run.vocabulary, [args.text], run.settings["max_length"])
    if not source:
        raise InputError("TEXT is empty, expected a source to attend to")
    ((best, *_),) = decode_all(run.model, [source])
    source, target = [*source, EOS], [BOS, *best.tokens]
    _, cache = run.model.hidden(np.array([source]), np.array([target]))
    residual, queries, keys = {
        "encoder": lambda: (cache.encode.encoder.layers[layer].self_attention, source, source),
        "decoder": lambda: (cache.decode.decoder.layers[layer].self_attention, target, target),
        "cross": lambda: (cache.decode.decoder.layers[layer].cross_attention, target, source),
    }[args.kind]()
    try:
        plots.attention(residual.sublayer.attention.softmax.p[0], run.vocabulary.tokens(queries),
                        run.vocabulary.tokens(keys), f"{args.kind} attention, layer {layer}", args.output)
    except (OSError, ValueError) as error:
        raise InputError(f"--output {args.output}: {error}") from None
    print(f"drawn: {args.output}")
