"""minitransformer train: train a model on a toy task or on parallel text."""

import sys
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from shlex import quote

from minitransformer.backend import get_module
from minitransformer.cli.evaluate import evaluate_toy
from minitransformer.data import corpus, toy
from minitransformer.data.parallel import read_pairs
from minitransformer.data.subwords import SubwordVocabulary
from minitransformer.errors import InputError
from minitransformer.layers import Transformer, TransformerConfig
from minitransformer.layers.config import NAMED
from minitransformer.training.run import Run, check_free
from minitransformer.training.trainer import TrainingConfig, default_threads, train

MAX_VOCABULARY = 1_000_000
MAX_BATCH = 1_000_000

# What each task trains with unless an option says otherwise.
TOY = dict(config="toy", steps=500, batch=64, warmup=50, rate_factor=0.3)
DEFAULTS = {
    "copy": {**TOY, "steps": 350},
    "reverse": TOY,
    "sort": {**TOY, "steps": 3000, "rate_factor": 0.2},
    "numbers": {**TOY, "steps": 1600},
    "translate": dict(config="tiny", steps=2500, batch=2048, warmup=500, rate_factor=0.5),
}
HELP = {
    "copy": "copy letters: c a b -> c a b",
    "reverse": "reverse letters: c a b -> b a c",
    "sort": "sort letters: c a b -> a b c",
    "numbers": "translate English number words to German or Korean ones",
    "translate": "translate text: aligned files, or a two-column TSV",
}


def add_parser(commands):
    parser = commands.add_parser("train", help="train a model on a toy task or on your own parallel text",
                                 description="Train a Transformer; see `minitransformer train TASK --help`.")
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    for task, defaults in DEFAULTS.items():
        _add_task(tasks.add_parser(task, help=HELP[task], description=f"Train a Transformer to {HELP[task]}."),
                  task, defaults)


def _add_task(parser, task, defaults):
    def option(name, kind, text, default=None):
        default = defaults.get(name, default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=kind.__name__.upper(),
                            help=f"{text} (default: {default})")

    if task == "translate":
        parser.add_argument("--train", nargs="+", required=True, metavar=("SOURCE", "TARGET"),
                            help="aligned text files, plain or .gz, or one two-column TSV")
        parser.add_argument("--valid", nargs="+", required=True, metavar=("SOURCE", "TARGET"),
                            help="the same for validation")
        option("vocab_size", int, "subwords learned on both languages together", 6000)
        option("max_length", int, "longest sentence, in subwords", 256)
        option("batch", int, "tokens in a batch, padding included")
    else:
        option("batch", int, "examples in a batch")
    if task == "numbers":
        parser.add_argument("--language", choices=("german", "korean"), default="german", help="default: german")
    parser.add_argument("--config", default=defaults["config"], metavar="NAME",
                        help=f"model size: {', '.join(NAMED)} (default: {defaults['config']})")
    option("steps", int, "updates")
    option("warmup", int, "steps until the learning rate peaks")
    option("rate_factor", float, "multiplies the paper's learning rate")
    option("cooldown", float, "share of the steps, at the end, in which the learning rate falls to 0", 0.5)
    parser.add_argument("--dropout", type=float, metavar="FLOAT",
                        help="dropout rate, as the paper places it (default: the model size's own)")
    option("smoothing", float, "label smoothing", 0.1)
    option("clip", float, "largest norm of the gradient", 1.0)
    parser.add_argument("--pre-norm", action="store_true",
                        help="LayerNorm before each sub-layer, not after as the paper")
    option("validate_every", int, "steps between validations", 500)
    option("seed", int, "the same seed repeats a run bit for bit, with the same number of threads", 0)
    option("threads", int, "threads that share each batch", default_threads())
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"), default="numpy",
                        help="array module: numpy for the CPU, cupy for a GPU (default: numpy)")
    parser.add_argument("--run", metavar="DIR", help=f"folder to write (default: runs/{task}, or {task}-2 and so on)")
    parser.set_defaults(execute=execute)


def execute(args):
    if args.seed < 0:
        raise InputError(f"--seed is {args.seed}, expected 0 or more")
    if not 1 <= args.batch <= MAX_BATCH:
        raise InputError(f"--batch is {args.batch}, expected 1 to {MAX_BATCH:,}")
    folder = args.run or _free_folder(args.task)
    check_free(folder)          # what can fail at once does, before any work
    get_module(args.backend)
    with _settings_called_options(args):
        config = TrainingConfig(**{field.name: getattr(args, field.name) for field in fields(TrainingConfig)})
        _model_config(args, vocab_size=1)
    vocabulary, batches, valid, about = (_translation if args.task == "translate" else _toy)(args)
    run = _create_run(folder, args, config, vocabulary, about)
    steps = train(run, config, batches, valid)
    if steps < config.steps:
        print(f"stopped after {steps} of {config.steps} steps; the weights are saved in {folder}", file=sys.stderr)
        print(f"measure them: minitransformer evaluate {quote(folder)}", file=sys.stderr)
        return 130
    print(f"saved in {folder}")
    if args.task != "translate":
        scores = evaluate_toy(run)
        print(f"exact match {scores['exact_match']:.1%} on {scores['examples']:,} examples never trained on")
    print(f"next: minitransformer evaluate {quote(folder)}, or minitransformer translate {quote(folder)} \"...\"")
    return 0


def _toy(args):
    """Vocabulary, endless training batches, validation pairs, and what config.json says of them."""
    language = getattr(args, "language", None)
    task = toy.make_task(args.task, language)
    return (task.vocabulary, toy.training_batches(task, args.batch, args.seed),
            toy.held_out(task, 200, seed=1), {"language": language})


def _translation(args):
    """The same for parallel text."""
    if not 1 <= args.vocab_size <= MAX_VOCABULARY:
        raise InputError(f"--vocab-size is {args.vocab_size}, expected 1 to {MAX_VOCABULARY:,}")
    if args.max_length < 1:
        raise InputError(f"--max-length is {args.max_length}, expected at least 1")
    if args.max_length + 1 > args.batch:
        raise InputError(f"--batch is {args.batch} tokens, expected at least --max-length + 1 = {args.max_length + 1}")
    train_texts, valid_texts = read_pairs(args.train, "--train"), read_pairs(args.valid, "--valid")
    vocabulary = SubwordVocabulary.learn((text for pair in train_texts for text in pair), args.vocab_size)
    pairs = corpus.encode_pairs(vocabulary, train_texts, args.max_length, " / ".join(args.train))
    valid = corpus.encode_pairs(vocabulary, valid_texts, args.max_length, " / ".join(args.valid))
    if len(pairs) < len(train_texts):
        print(f"{len(train_texts) - len(pairs)} pairs with an empty side are left out", file=sys.stderr)
    files = {name: [str(Path(file).resolve()) for file in getattr(args, name)] for name in ("train", "valid")}
    return vocabulary, corpus.training_batches(pairs, args.batch, args.seed), valid, files


def _create_run(folder, args, config, vocabulary, about):
    model = Transformer(_model_config(args, vocabulary.size), args.seed).to(args.backend)
    settings = {"task": args.task, **about, "batch": args.batch, "training": asdict(config),
                "max_length": getattr(args, "max_length", 256)}
    run = Run.create(folder, settings, model, vocabulary)
    print(f"{args.task}: {args.config} Transformer with {model.num_parameters():,} parameters, "
          f"{vocabulary.size:,} tokens in the vocabulary", file=sys.stderr)
    return run


def _model_config(args, vocab_size):
    dropout = {} if args.dropout is None else {"dropout": args.dropout}
    return TransformerConfig.named(args.config, vocab_size, pre_norm=args.pre_norm, **dropout)


@contextmanager
def _settings_called_options(args):
    """A complaint about rate_factor names it as it was typed: --rate-factor."""
    try:
        yield
    except InputError as error:
        setting, rest = str(error).split(" ", 1)
        raise InputError(f"--{setting.replace('_', '-')} {rest}" if setting in vars(args) else str(error)) from None


def _free_folder(task):
    folder, number = Path("runs") / task, 2
    while folder.exists():
        folder, number = Path("runs") / f"{task}-{number}", number + 1
    return str(folder)
