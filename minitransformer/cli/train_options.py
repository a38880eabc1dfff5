"""The options of `minitransformer train TASK`."""

from argparse import BooleanOptionalAction
from collections.abc import Collection
from dataclasses import Field, fields
from typing import Any, get_args

from minitransformer.backend import BACKENDS
from minitransformer.cli.new_run import STACK, attention_settings, defaults
from minitransformer.cli.parser import Group, Parser
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import NAMED, ModelConfig, StackConfig
from minitransformer.lookup import find
from minitransformer.models import MODELS
from minitransformer.tables import choices_of
from minitransformer.tasks import TASKS
from minitransformer.runs.config import TrainingConfig
from minitransformer.tasks.task import Task

# the other settings are the optimiser's
RUN = ("validate_every", "snapshot_every", "patience", "average", "seed", "threads")
HELP = {"-h", "--help"}


def _other_configs(task: type[Task]) -> list[type[ModelConfig]]:
    """The configurations of the task's models that are not Transformers, as far as they are loaded."""
    known = [MODELS[name].Config for name in task.models if name in MODELS.loaded]
    return list(dict.fromkeys(config for config in known if not issubclass(config, StackConfig)))


def _settings(kind: type) -> list[Any]:
    """The fields of a dataclass that are options."""
    return [one for one in fields(kind) if one.metadata]


def _sizes(examples: dict[str, dict[str, Any]]) -> str:
    return ", ".join(
        "{name} {num_layers} x {d_model}".format(name=name, **sizes)
        for name, sizes in examples.items()
    )


def add_task(parser: Parser, name: str, words: Collection[str]) -> None:
    """Add the options to the parser of `train TASK`; the arguments hold only those that a user
    gives.

    Of models and kinds of attention that are not loaded, the options are added only if one of the
    `words` that the user typed asks for help, or is an option that the others do not have.
    """
    probe = Parser(description="")
    _add_options(probe, name)
    known = {*probe.options, *parser.options} - HELP
    if name in words and any(
        word.startswith("-") and word.partition("=")[0] not in known for word in words
    ):
        for table in MODELS, ATTENTIONS:
            dict(table)  # loads the zoo's
    _add_options(parser, name)


def _add_options(parser: Parser, name: str) -> None:
    task = find(TASKS, name)
    known = defaults(task)
    sizes = dict.fromkeys(NAMED["base"], "that of the model size")
    shown = {
        **STACK,
        **sizes,
        **{name: value for name, value in known.items() if value is not None},
    }

    def option(group: Group, name: str, kind: Any, text: str) -> None:
        """kind: a type, or the values to choose from."""
        how: dict[str, Any] = (
            {"action": BooleanOptionalAction} if kind is bool else {"choices": kind}
        )
        if isinstance(kind, type) and kind is not bool:
            how = {"type": kind, "metavar": kind.__name__.upper()}
        default = shown.get(name)
        group.add_argument(
            f"--{name.replace('_', '-')}",
            **how,
            help=text if default is None or default is False else f"{text} (default: {default})",
        )

    def add_setting(group: Group, one: Field) -> None:
        option(
            group,
            one.name,
            choices_of(one) or (get_args(one.type) or [one.type])[0],
            one.metadata["meaning"],
        )

    data, model, optimiser, run = map(parser.add_group, ("data", "model", "optimiser", "run"))
    task.add_arguments(data)
    for one in _settings(task):
        add_setting(data, one)
    if task.presets:
        option(
            run,
            "preset",
            task.presets,
            "settings that are known to work well, instead of the defaults",
        )
    if task.models:
        model.add_argument(
            "--model",
            choices=task.models,
            metavar="NAME",
            help=f"{', '.join(task.models)} (default: {task.model}); the others have sizes of their own: "
            + "; ".join(f"{kind.kind} {_sizes(kind.examples)}" for kind in _other_configs(task)),
        )
    model.add_argument(
        "--config",
        metavar="NAME",
        help=f"model size (default: {known['config']}), as layers x d_model, heads, d_ff: "
        + "; ".join(
            "{name} {num_layers} x {d_model}, {num_heads}, {d_ff}".format(name=name, **sizes)
            for name, sizes in NAMED.items()
        )
        + "; the next five options change them individually:",
    )
    for one in _settings(StackConfig):
        add_setting(model, one)
    option(
        model,
        "attention",
        list(ATTENTIONS),
        "; ".join(f"{name}: {kind.description}" for name, kind in sorted(ATTENTIONS.loaded.items()))
        + " (default: scaled)",
    )
    for setting, text in attention_settings().items():
        option(model, setting, int, text)
    for one in _settings(TrainingConfig):
        add_setting(run if one.name in RUN else optimiser, one)
    option(run, "backend", BACKENDS, "array module: numpy for the CPU, cupy for a GPU")
    run.add_argument(
        "--run",
        metavar="DIR",
        help=f"folder to write (default: runs/{name}, or {name}-2 and so on)",
    )
    parser.usage = "%(prog)s [options]"
    parser.description = f"{parser.description}\n\nExamples:\n{_examples(parser, task)}"


def _examples(parser: Parser, task: type[Task]) -> str:
    """Two commands to begin with."""
    needed = [
        " ".join(
            [
                action.option_strings[0],
                *([action.metavar] if isinstance(action.metavar, str) else action.metavar or []),
            ]
        )
        for action in parser.actions
        if action.required
    ]
    command = " ".join([parser.prog, *needed])
    return f"  {command}\n  {command} --" + (
        f"preset {next(iter(task.presets))}" if task.presets else "num-heads 1 --run one-head"
    )
