"""minitransformer translate: use a trained model."""

import sys

from minitransformer.data.parallel import split_lines
from minitransformer.errors import InputError
from minitransformer.training.run import Run


def add_parser(commands):
    parser = commands.add_parser(
        "translate", help="give a trained model text and print what it answers",
        description="Print the model's output for TEXT, or for each line of standard input.")
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the source text (default: lines from standard input)")
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"), default="numpy", help="default: numpy")
    parser.set_defaults(execute=execute)


def execute(args):
    run = Run.load(args.run, args.backend)
    if args.text is not None:
        texts = [args.text]
    elif sys.stdin is None:
        raise InputError("no TEXT is given and standard input is closed")
    else:
        try:
            texts = split_lines(sys.stdin.buffer.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise InputError(f"standard input: not UTF-8 text (byte 0x{error.object[error.start]:02x})") from None
    for output in run.translate(texts):
        print(output)
