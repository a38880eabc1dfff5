"""minitransformer evaluate: measure a trained model."""

import json

from minitransformer.data import toy
from minitransformer.data.corpus import encode_pairs
from minitransformer.data.parallel import read_pairs
from minitransformer.errors import InputError
from minitransformer.evaluation import bleu, exact_match, mean_loss, perplexity
from minitransformer.training.run import Run

TOY_EXAMPLES = 1000


def add_parser(commands):
    parser = commands.add_parser(
        "evaluate", help="measure a trained model: exact match, or perplexity and BLEU",
        description="A toy task is measured by exact match on 1,000 examples held out from training; translation by "
                    "perplexity and by BLEU (sacrebleu) of the model's own greedy output.")
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument("--test", nargs="+", metavar=("SOURCE", "TARGET"),
                        help="aligned text files, or one two-column TSV (default: the run's validation files)")
    parser.add_argument("--tokenize", choices=("13a", "none", "intl", "char"), default="13a",
                        help="sacrebleu's tokenisation; none for text that is tokenised already (default: 13a)")
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"), default="numpy", help="default: numpy")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(execute=execute)


def execute(args):
    run = Run.load(args.run, args.backend)
    toy = run.settings["task"] != "translate"
    if toy and args.test:
        raise InputError(f"{args.run} was trained on the toy task {run.settings['task']}, which brings its own "
                         "test examples; leave --test out")
    scores = evaluate_toy(run) if toy else evaluate_translation(run, args.test, args.tokenize)
    if args.json:
        print(json.dumps(scores, ensure_ascii=False))
    else:
        print("\n".join(f"{name.replace('_', ' ')}: {value if isinstance(value, (str, int)) else format(value, '.4g')}"
                        for name, value in scores.items()))


def evaluate_toy(run):
    """Exact match and perplexity on held-out examples, the same ones every time."""
    task = toy.make_task(run.settings["task"], run.settings["language"])
    pairs = toy.held_out(task, TOY_EXAMPLES)
    return {"exact_match": exact_match(run.model, pairs), "examples": len(pairs),
            "perplexity": perplexity(mean_loss(run.model, pairs))}


def evaluate_translation(run, files, tokenize):
    """BLEU with its signature, and perplexity."""
    files = files or run.settings["valid"]
    texts = read_pairs(files, "--test")
    pairs = encode_pairs(run.vocabulary, texts, run.settings["max_length"], " / ".join(files))
    outputs = run.translate([source for source, _ in texts])
    score, signature = bleu(outputs, [target for _, target in texts], tokenize)
    return {"bleu": score, "signature": signature, "perplexity": perplexity(mean_loss(run.model, pairs)),
            "sentences": len(texts)}
