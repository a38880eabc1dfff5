"""Print PROMPT and a language model's continuation, each token as soon as it is drawn. With --chat,
print the answer to PROMPT.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import takewhile

import numpy as np

from minitransformer.checks import check_integer
from minitransformer.cli.shared_options import MAX_LENGTH, add_model, add_options, load_run
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.decoding import generate
from minitransformer.errors import InputError

BYTES = 4  # of a character, at most
SAMPLING_OPTIONS = {  # {option: (its type, what it means)}
    "temperature": (
        float,
        "divides the logits; below 1, likely tokens become likelier (default: 1.0)",
    ),
    "top_k": (int, "draw from this many of the most likely tokens (default: 0, all of them)"),
    "top_p": (float, "draw from the fewest tokens whose probability reaches this (default: 1.0)"),
    "seed": (int, "seed of the draws (default: 0)"),
}


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue")
    parser.add_argument(
        "--chat",
        action="store_true",
        help="PROMPT is a question, in the form in which an imported model was trained to chat; the likeliest "
        "answer is printed, unless an option below draws another",
    )
    parser.add_argument(
        "--max-length",
        type=int,
        default=500,
        metavar="INT",
        help="maximum length of the continuation, in tokens (default: 500)",
    )
    add_options(parser, SAMPLING_OPTIONS)


def execute(args: Namespace) -> None:
    run = load_run(args, "generate")
    if args.seed is not None:
        check_integer("seed", args.seed, 0)
    options = {
        name: getattr(args, name) for name in SAMPLING_OPTIONS if getattr(args, name) is not None
    }
    check_integer("max_length", args.max_length, 1, MAX_LENGTH)
    if args.chat:
        if not hasattr(run.vocabulary, "encode_chat"):
            raise InputError(
                "--chat is for an imported model that was trained to chat; leave it out"
            )
        prompt = run.vocabulary.encode_chat(args.prompt)
        options = options or {"top_k": 1}
    else:
        prompt = run.task.encode_text(run.vocabulary, args.prompt, "PROMPT")
    rng = np.random.default_rng(options.pop("seed", 0))
    stops = getattr(run.vocabulary, "stops", ())
    ids = takewhile(
        lambda i: i not in stops,
        generate(
            run.model,
            prompt,
            args.max_length,
            rng,
            **options,
            ends=getattr(run.vocabulary, "ends", False),
        ),
    )
    if not args.chat:
        print(run.vocabulary.decode(prompt), end="", flush=True)
    for text in as_text(run.vocabulary, prompt, ids):
        print(text, end="", flush=True)
    print()


def as_text(vocabulary: Vocabulary, before: list[int], ids: Iterable[int]) -> Iterator[str]:
    """The text of ids as they come after `before`: a subword's depends on the one before it, a
    character may be several tokens.
    """
    new, unknown = [], getattr(vocabulary, "unknown_id", None)
    shown = len(vocabulary.decode(before))
    for i in ids:
        new.append(i)
        text = vocabulary.decode([*before, *new])
        begun = text.endswith("\ufffd") and i != unknown  # perhaps the first bytes of a character
        if len(text) > shown and (not begun or len(new) >= BYTES):
            yield text[shown:]
            # all tokens of a character, so that its last byte is not taken for a damaged one
            before, new = new, []
            shown = len(vocabulary.decode(before))
    yield vocabulary.decode([*before, *new])[shown:]
