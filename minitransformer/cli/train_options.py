"""The options of `minitransformer train TASK`, their defaults, and presets of them."""

from argparse import BooleanOptionalAction
from dataclasses import MISSING, fields

from minitransformer.layers.config import NAMED
from minitransformer.training.config import SCHEDULES, TrainingConfig, default_threads

# What each task trains with unless a preset or an option says otherwise.
COMMON = dict(
    {field.name: field.default for field in fields(TrainingConfig) if field.default is not MISSING},
    dropout=None, embedding_dropout=None, attention_dropout=None, feed_forward_dropout=None, pre_norm=False,
    backend="numpy", run=None, language=None, vocab_size=6000, max_length=256)
TOY = dict(config="toy", steps=500, batch=64, warmup=50, rate_factor=0.3)
DEFAULTS = {
    "copy": {**TOY, "steps": 350},
    "reverse": TOY,
    "sort": {**TOY, "steps": 3000, "rate_factor": 0.2},
    "numbers": {**TOY, "steps": 1600, "language": "german"},
    "translate": dict(config="tiny", steps=2500, batch=2048, warmup=500, rate_factor=0.5),
}
PRESETS = {
    # Multi30K, with the sizes and the dropout of the text-only model of Wu et al. 2021
    # (https://aclanthology.org/2021.acl-long.480). With this dropout a post-norm model did not learn to look at its
    # source here (docs/translation.md). A batch holds sentences of one length, so two small ones make a
    # better update than a large one. Their warm-up, and three fifths of their peak rate for a quarter of their batch.
    "multi30k": dict(config="tiny", pre_norm=True, vocab_size=6000, dropout=0.3, schedule="inverse-sqrt", peak_rate=0.003,
                     warmup=2000, steps=24_000, batch=1024, accumulate=2, validate_every=1000),
}


def defaults(task, preset=None):
    """{option: value} of a task, with a preset or without."""
    return {**COMMON, "threads": default_threads(), **DEFAULTS[task], **PRESETS.get(preset, {})}


def add_task(parser, task):
    """Give the parser of `train TASK` its options; those that a user leaves out do not appear in the arguments."""
    known = defaults(task)

    def option(name, kind, text):
        default = "" if known[name] is None else f" (default: {known[name]})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=kind.__name__.upper(), help=text + default)

    if task == "translate":
        parser.add_argument("--train", nargs="+", required=True, metavar=("SOURCE", "TARGET"),
                            help="aligned text files, plain or .gz, or one two-column TSV")
        parser.add_argument("--valid", nargs="+", required=True, metavar=("SOURCE", "TARGET"),
                            help="the same for validation")
        parser.add_argument("--preset", choices=PRESETS, help="settings of a known good training, instead of the defaults")
        option("vocab_size", int, "subwords learned on both languages together")
        option("max_length", int, "longest sentence, in subwords")
        option("batch", int, "tokens in a batch, padding included")
    else:
        option("batch", int, "examples in a batch")
    if task == "numbers":
        parser.add_argument("--language", choices=("german", "korean"), help="default: german")
    parser.add_argument("--config", metavar="NAME",
                        help=f"model size: {', '.join(NAMED)} (default: {known['config']})")
    option("steps", int, "updates")
    option("accumulate", int, "batches whose gradients are added up for each update")
    parser.add_argument("--schedule", choices=SCHEDULES, help="how the learning rate changes; inverse-sqrt and constant "
                        "rise to --peak-rate (default: paper)")
    option("warmup", int, "steps until the learning rate peaks")
    option("rate_factor", float, "multiplies the learning rate of the paper's schedule")
    option("peak_rate", float, "the highest learning rate of the other schedules")
    option("cooldown", float, "share of the steps, at the end, in which the learning rate falls to 0")
    option("dropout", float, "dropout rate after each sub-layer and on the embeddings (default: the model size's own)")
    option("embedding_dropout", float, "dropout rate on the embeddings (default: as --dropout)")
    option("attention_dropout", float, "dropout rate on attention weights (default: 0.0)")
    option("feed_forward_dropout", float, "dropout rate inside the feed-forward networks (default: 0.0)")
    option("smoothing", float, "label smoothing")
    option("clip", float, "largest norm of the gradient")
    parser.add_argument("--pre-norm", action=BooleanOptionalAction,
                        help="LayerNorm before each sub-layer, not after as the paper")
    option("validate_every", int, "steps between validations; after each a checkpoint is saved")
    option("patience", int, "stop after so many validations without a lower loss, and take the best weights (or the --average); "
           "0: never")
    option("average", int, "how many of the last checkpoints are averaged into the trained weights")
    option("seed", int, "the same seed repeats a run bit for bit, with the same number of threads")
    option("threads", int, "threads that share each batch")
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"),
                        help="array module: numpy for the CPU, cupy for a GPU (default: numpy)")
    parser.add_argument("--run", metavar="DIR", help=f"folder to write (default: runs/{task}, or {task}-2 and so on)")
