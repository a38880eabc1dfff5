"""Print PROMPT and a language model's continuation, each token as soon as it is drawn."""

import numpy as np

from minitransformer.checks import check_whole
from minitransformer.cli.shared_options import SAMPLING_OPTIONS, add_model, add_options, check_command, given_sampling, load_run
from minitransformer.decoding import generate

MAX_TOKENS = 1_000_000


def add_arguments(parser) -> None:
    add_model(parser)
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue")
    parser.add_argument("--tokens", type=int, default=500, metavar="INT", help="tokens to generate (default: 500)")
    add_options(parser, SAMPLING_OPTIONS)


def execute(args) -> None:
    run = load_run(args)
    check_command(run, "generate")
    options = given_sampling(args)
    seed = options.pop("seed", 0)
    check_whole("tokens", args.tokens, 1, MAX_TOKENS)
    prompt = run.task.encode_text(run.vocabulary, args.prompt, "PROMPT")
    ids = generate(run.model, prompt, args.tokens, np.random.default_rng(seed), **options)
    print(run.vocabulary.decode(prompt), end="", flush=True)
    before = prompt[-1:]    # a subword's text depends on the one before it: it may begin a word or continue one
    for i in ids:
        text = run.vocabulary.decode([*before, i])
        print(text[len(run.vocabulary.decode(before)):], end="", flush=True)
        before = [i]
    print()
