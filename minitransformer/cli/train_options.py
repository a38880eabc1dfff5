"""The options of `minitransformer train TASK`, and their defaults."""

from argparse import BooleanOptionalAction
from dataclasses import MISSING, fields
from typing import Any

from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import NAMED
from minitransformer.rivals.convolutional.model import NAMED as CONVOLUTIONAL
from minitransformer.rivals.recurrent.model import NAMED as RECURRENT
from minitransformer.tasks import TASKS
from minitransformer.training.config import SCHEDULES, TrainingConfig, default_threads

SIZES = ("num_layers", "d_model", "num_heads", "d_ff", "d_k", "kernel_size")
CHOICES = ("dropout", "embedding_dropout", "attention_dropout", "feed_forward_dropout", "activation", "positions", "attention",
           "pre_norm")


def defaults(task, preset=None) -> dict[str, Any]:
    """{option: value} for a task, a class of TASKS, with or without a preset; None: the value of the model size."""
    known = {field.name: field.default for field in (*fields(TrainingConfig), *fields(task)) if field.default is not MISSING}
    return {**known, **dict.fromkeys((*SIZES, *CHOICES, *attention_settings())), "model": task.model, "pre_norm": False,
            "backend": "numpy", "run": None, "threads": default_threads(), **task.defaults, **task.presets.get(preset, {})}


def attention_settings() -> list[str]:
    """The options of single kinds of attention."""
    return [name for kind in ATTENTIONS for name in ATTENTIONS[kind].settings]


def _sizes(named) -> str:
    return ", ".join("{name} {num_layers} x {d_model}".format(name=name, **sizes) for name, sizes in named.items())


def add_task(parser, name) -> None:
    """Add the options to the parser of `train TASK`; the arguments hold only those that a user gives."""
    task = TASKS[name]
    known = defaults(task)

    def option(name, kind, text) -> None:
        default = "" if known[name] is None else f" (default: {known[name]})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=kind.__name__.upper(), help=text + default)

    task.add_arguments(parser, option)
    if task.presets:
        parser.add_argument("--preset", choices=task.presets,
                            help="settings that are known to work well, instead of the defaults")
    if task.models:
        parser.add_argument("--model", choices=task.models, metavar="NAME",
                            help=f"{', '.join(task.models)} (default: {task.model}); the others have sizes of their own: recurrent "
                                 + _sizes(RECURRENT) + "; conv " + _sizes(CONVOLUTIONAL))
    parser.add_argument("--config", metavar="NAME",
                        help=f"model size (default: {known['config']}), as layers x d_model, heads, d_ff: "
                             + "; ".join("{name} {num_layers} x {d_model}, {num_heads}, {d_ff}".format(name=name, **sizes)
                                         for name, sizes in NAMED.items())
                             + "; the next five options change them individually:")
    option("num_layers", int, "layers of each stack (default: that of the model size, as for the next three)")
    option("d_model", int, "width of the model")
    option("num_heads", int, "attention heads")
    option("d_ff", int, "width of the feed-forward networks")
    option("d_k", int, "width of a head's queries and keys (default: d_model / heads)")
    if task.models:
        option("kernel_size", int, "how many positions a convolution sees, of --model conv (default: 3)")
    parser.add_argument("--attention", choices=list(ATTENTIONS), help="; ".join(
        f"{kind}: {ATTENTIONS[kind].description}" for kind in ATTENTIONS) + " (default: scaled)")
    for kind in ATTENTIONS:
        for setting, text in ATTENTIONS[kind].settings.items():
            option(setting, int, text)
    option("steps", int, "updates")
    option("accumulate", int, "batches whose gradients are added up for each update")
    parser.add_argument("--schedule", choices=SCHEDULES, help="how the learning rate changes; inverse-sqrt and constant "
                        f"rise to --peak-rate (default: {known['schedule']})")
    option("warmup", int, "steps until the learning rate peaks")
    option("rate_factor", float, "multiplies the learning rate of the paper's schedule")
    option("peak_rate", float, "the highest learning rate, for the other schedules")
    option("cooldown", float, "fraction of the steps, at the end, during which the learning rate falls to 0")
    option("dropout", float, "dropout rate after each sub-layer and on the embeddings"
                             + (" (default: that of the model size)" if known["dropout"] is None else ""))
    option("embedding_dropout", float, "dropout rate on the embeddings (default: the value of --dropout)")
    option("attention_dropout", float, "dropout rate on the attention weights (default: 0.0)")
    option("feed_forward_dropout", float, "dropout rate inside the feed-forward networks (default: 0.0)")
    parser.add_argument("--activation", choices=("relu", "gelu"), help="activation of the feed-forward networks (default: relu)")
    parser.add_argument("--positions", choices=("sinusoidal", "learned"), help="default: "
                        + (known["positions"] or "sinusoidal"))
    option("smoothing", float, "label smoothing")
    option("clip", float, "maximum norm of the gradient; a larger one is scaled down")
    parser.add_argument("--pre-norm", action=BooleanOptionalAction,
                        help="LayerNorm before each sub-layer (in the paper it comes after)"
                             + (" (default: before)" if known["pre_norm"] else ""))
    option("validate_every", int, "steps between validations, each followed by a checkpoint")
    option("patience", int, "stop after this many validations without a lower loss, and keep the best weights (or the "
           "--average); 0: never")
    option("average", int, "number of last checkpoints whose average becomes the trained weights")
    option("seed", int, "random seed; the same seed and number of threads repeat a run bit for bit")
    option("threads", int, "threads that share each batch")
    parser.add_argument("--backend", choices=("numpy", "cupy", "auto"),
                        help="array module: numpy for the CPU, cupy for a GPU (default: numpy)")
    parser.add_argument("--run", metavar="DIR", help=f"folder to write (default: runs/{name}, or {name}-2 and so on)")
