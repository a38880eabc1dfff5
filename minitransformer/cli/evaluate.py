"""minitransformer evaluate: measure a trained model."""

import json
import time

from minitransformer.cli.model_options import add_model, load_run
from minitransformer.cli.search_options import add_search, make_search
from minitransformer.data import toy
from minitransformer.data.corpus import encode_pairs
from minitransformer.data.parallel import read_pairs
from minitransformer.decoding import GREEDY
from minitransformer.errors import InputError
from minitransformer.evaluation import bleu, chrf, exact_match, mean_loss, perplexity
from minitransformer.extras import require

TOY_EXAMPLES = 1000


def add_parser(commands):
    parser = commands.add_parser(
        "evaluate", help="measure a trained model: exact match, or perplexity and BLEU",
        description="A toy task is measured by exact match on 1,000 examples held out from training; translation by "
                    "perplexity, and by BLEU and chrF (sacrebleu) of the model's own output.")
    add_model(parser)
    parser.add_argument("--test", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="aligned text files, or one two-column TSV (default: the run's validation files)")
    parser.add_argument("--tokenize", choices=("13a", "none", "intl", "char"),
                        help="sacrebleu's tokenisation; none for text that is tokenised already (default: 13a)")
    add_search(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(execute=execute)


def execute(args):
    run = load_run(args)
    is_toy = run.settings["task"] != "translate"
    for name, given in (("test", args.test), ("tokenize", args.tokenize)):
        if is_toy and given:
            raise InputError(f"{args.run} was trained on the toy task {run.settings['task']}, which brings its own "
                             f"test examples and has no BLEU; leave --{name} out")
    search = make_search(args, run)
    scores = evaluate_toy(run, search) if is_toy else evaluate_translation(run, search, args.test, args.tokenize or "13a")
    if args.json:
        print(json.dumps(scores, ensure_ascii=False))
    else:
        print("\n".join(f"{name.replace('_', ' ')}: {value if isinstance(value, (str, int)) else format(value, '.4g')}"
                        for name, value in scores.items()))


def evaluate_toy(run, search=GREEDY):
    """Exact match and perplexity on held-out examples, the same ones every time."""
    task = toy.make_task(run.settings["task"], run.settings["language"])
    pairs = toy.held_out(task, TOY_EXAMPLES)
    return {"exact_match": exact_match(run.model, pairs, search), "examples": len(pairs),
            "perplexity": perplexity(mean_loss(run.model, pairs))}


def evaluate_translation(run, search, files, tokenize):
    """BLEU with its signature, chrF, perplexity, and the seconds that decoding took."""
    require("sacrebleu")    # now, and not after the decoding
    files = files or run.settings["valid"]
    texts = read_pairs(files, "--test")
    pairs = encode_pairs(run.vocabulary, texts, run.settings["max_length"], " / ".join(files))
    since = time.perf_counter()
    outputs = run.translate([source for source, _ in texts], search)
    seconds = time.perf_counter() - since
    references = [target for _, target in texts]
    score, signature = bleu(outputs, references, tokenize)
    return {"bleu": score, "chrf": chrf(outputs, references), "signature": signature,
            "perplexity": perplexity(mean_loss(run.model, pairs)), "sentences": len(texts), "seconds": seconds}
