"""minitransformer train: train a model on a toy task or on parallel text, or go on with a training that was stopped."""

import argparse
import sys
from dataclasses import asdict, fields
from pathlib import Path
from shlex import quote

from minitransformer.backend import get_module
from minitransformer.cli.evaluate import evaluate_toy
from minitransformer.cli.option_names import options_named_as_typed
from minitransformer.cli.train_options import add_task, defaults
from minitransformer.data import toy
from minitransformer.data.parallel import read_pairs
from minitransformer.data.subwords import SubwordVocabulary
from minitransformer.errors import InputError
from minitransformer.layers import Transformer, TransformerConfig
from minitransformer.training.config import TrainingConfig
from minitransformer.training.files import digest
from minitransformer.training.report import write_report
from minitransformer.training.run import Run, check_free
from minitransformer.training.task import make_data
from minitransformer.training.trainer import train

MAX_VOCABULARY = 1_000_000
MAX_BATCH = 1_000_000
HELP = {
    "copy": "copy letters: c a b -> c a b",
    "reverse": "reverse letters: c a b -> b a c",
    "sort": "sort letters: c a b -> a b c",
    "numbers": "translate English number words to German or Korean ones",
    "translate": "translate text: aligned files, or a two-column TSV",
}


def add_parser(commands):
    parser = commands.add_parser("train", help="train a model on a toy task or on your own parallel text",
                                 description="Train a Transformer; see `minitransformer train TASK --help`. A training "
                                             "that was stopped goes on with `minitransformer train --resume RUN`.")
    parser.add_argument("--resume", metavar="RUN", help="go on with the training of this run folder")
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    for task, text in HELP.items():
        add_task(tasks.add_parser(task, help=text, description=f"Train a Transformer to {text}.",
                                  argument_default=argparse.SUPPRESS), task)
    parser.set_defaults(execute=execute)


def execute(args):
    if args.resume is not None:
        if args.task:
            raise InputError(f"--resume {args.resume} goes on with the run's own task and settings; "
                             f"leave {args.task} and its options out")
        return _resume(args.resume)
    if not args.task:
        raise InputError(f"train: no TASK is given; choose from {', '.join(HELP)} (see minitransformer train --help)")
    given = vars(args)
    options = {**defaults(args.task, given.get("preset")), **given}
    if options["schedule"] == "paper":
        options["peak_rate"] = given.get("peak_rate")    # a preset's belongs to its own schedule
    elif "rate_factor" in given:
        raise InputError(f"--rate-factor multiplies the paper's schedule; {options['schedule']} has --peak-rate")
    return _start(argparse.Namespace(**options))


def _start(args):
    """A new run."""
    _check(args)    # what can fail at once does, before any work
    folder = args.run or _free_folder(args.task)
    check_free(folder)
    get_module(args.backend)
    with options_named_as_typed(args):
        config = TrainingConfig(**{field.name: getattr(args, field.name) for field in fields(TrainingConfig)})
        _model_config(args, vocab_size=1)
    settings = {name: getattr(args, name) for name in ("task", "language", "batch", "max_length", "backend")}
    vocabulary = _vocabulary(args, settings)
    settings["training"] = asdict(config)
    data = make_data(settings, vocabulary)
    model = Transformer(_model_config(args, vocabulary.size), args.seed).to(args.backend)
    run = Run.create(folder, settings, model, vocabulary)
    print(f"{args.task}: {args.config} Transformer with {model.num_parameters():,} parameters, "
          f"{vocabulary.size:,} tokens in the vocabulary", file=sys.stderr)
    return _train(run, config, data)


def _resume(folder):
    """An old run, from its newest good checkpoint."""
    run = Run.open(folder)
    try:
        config = TrainingConfig(**run.settings["training"])
        backend = run.settings["backend"]
        data = make_data(run.settings, run.vocabulary)
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: config.json does not say how it was trained ({error})") from None
    run.model = run.model.to(backend)
    return _train(run, config, data, resume=True)


def _train(run, config, data, resume=False):
    folder = quote(str(run.path))
    steps = train(run, config, data.batches, data.valid, data.measure, resume)
    if not run.finished:
        print(f"stopped after {steps} of {config.steps} steps; go on: {run.resume_command}", file=sys.stderr)
        print(f"measure what there is: minitransformer evaluate {folder}", file=sys.stderr)
        return 130
    print(f"saved in {run.path}")
    try:
        write_report(run, data.examples)
    except (ImportError, OSError, ValueError, MemoryError) as error:    # a matplotlib that cannot draw; the training is done
        print(f"report.html was not written: {error}", file=sys.stderr)
    if run.settings["task"] != "translate":
        scores = evaluate_toy(run)
        print(f"exact match {scores['exact_match']:.1%} on {scores['examples']:,} examples never trained on")
    print(f"next: minitransformer evaluate {folder}, or minitransformer translate {folder} \"...\"")
    return 0


def _vocabulary(args, settings):
    """The vocabulary of a new run; for text `settings` gets the names and checksums of its files."""
    if args.task != "translate":
        return toy.make_task(args.task, args.language).vocabulary
    for file in args.train + args.valid:
        if Path(file).is_fifo():
            raise InputError(f"{file}: a pipe, expected a file, since a training that goes on reads it again")
    texts = read_pairs(args.train, "--train")
    read_pairs(args.valid, "--valid")
    for name in ("train", "valid"):
        settings[name] = [str(Path(file).resolve()) for file in getattr(args, name)]
    settings["sha256"] = {file: digest(Path(file)) for file in settings["train"] + settings["valid"]}
    return SubwordVocabulary.learn((text for pair in texts for text in pair), args.vocab_size)


def _check(args):
    if not 1 <= args.batch <= MAX_BATCH:
        raise InputError(f"--batch is {args.batch}, expected 1 to {MAX_BATCH:,}")
    if not 1 <= args.vocab_size <= MAX_VOCABULARY:
        raise InputError(f"--vocab-size is {args.vocab_size}, expected 1 to {MAX_VOCABULARY:,}")
    if args.max_length < 1:
        raise InputError(f"--max-length is {args.max_length}, expected at least 1")
    if args.task == "translate" and args.max_length + 1 > args.batch:
        raise InputError(f"--batch is {args.batch} tokens, expected at least --max-length + 1 = {args.max_length + 1}")


def _model_config(args, vocab_size):
    dropouts = {name: getattr(args, name) for name in ("dropout", "embedding_dropout", "attention_dropout",
                                                       "feed_forward_dropout")}
    return TransformerConfig.named(args.config, vocab_size, pre_norm=args.pre_norm,
                                   **{name: rate for name, rate in dropouts.items() if rate is not None})


def _free_folder(task):
    folder, number = Path("runs") / task, 2
    while folder.exists():
        folder, number = Path("runs") / f"{task}-{number}", number + 1
    return str(folder)
