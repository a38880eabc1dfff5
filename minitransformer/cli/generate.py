"""minitransformer generate: let a language model continue a text."""

from itertools import chain

import numpy as np

from minitransformer.cli.model_options import check_command, load_run, add_model
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.sampling_options import add_sampling, given_sampling
from minitransformer.decoding import generate
from minitransformer.errors import InputError

MAX_TOKENS = 1_000_000


def add_arguments(parser):
    parser.description = "Print PROMPT and what a language model continues it with, token by token as they are drawn."
    add_model(parser)
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue")
    parser.add_argument("--tokens", type=int, default=500, metavar="INT", help="how many to write (default: 500)")
    add_sampling(parser)


def execute(args):
    run = load_run(args)
    check_command(run, "generate")
    options = given_sampling(args)
    seed = options.pop("seed", 0)
    if seed < 0:
        raise InputError(f"--seed is {seed}, expected 0 or more")
    if not 1 <= args.tokens <= MAX_TOKENS:
        raise InputError(f"--tokens is {args.tokens}, expected 1 to {MAX_TOKENS:,}")
    try:
        prompt = run.vocabulary.encode(args.prompt)
    except InputError as error:
        raise InputError(f"PROMPT, {error}") from None
    with options_named_as_typed(args):
        ids = generate(run.model, prompt, args.tokens, np.random.default_rng(seed), **options)
    written, shown = list(prompt), ""
    for i in chain([None], ids):    # one by one
        written += [] if i is None else [i]
        text = run.vocabulary.decode(written)
        print(text[len(shown):], end="", flush=True)    # a subword may change the spacing of the one before it
        shown = text
    print()
