"""What the options of `minitransformer train TASK`, and their defaults, say about a new run."""

import argparse
from dataclasses import MISSING, fields
from typing import Any

from minitransformer.errors import InputError
from minitransformer.layers.attention_kinds import ATTENTIONS
from minitransformer.layers.config import StackConfig
from minitransformer.lookup import find
from minitransformer.memory import TO_TRAIN, check_fits
from minitransformer.models import MODELS
from minitransformer.runs.config import TrainingConfig, default_threads
from minitransformer.runs.start import Plan
from minitransformer.tasks import TASKS
from minitransformer.tasks.task import Task

# The settings of a StackConfig. Those that only one kind of model or of attention has come from
# their tables.
STACK = {one.name: one.default for one in fields(StackConfig) if one.metadata}


def new_run(args: argparse.Namespace) -> Plan:
    """The Plan of `train TASK`, with the task's defaults or its preset's, checked."""
    if not args.task:
        raise InputError(
            f"train: no TASK given; choose from {', '.join(TASKS)} (see minitransformer train --help)"
        )
    given, task = vars(args), find(TASKS, args.task)
    options = {**defaults(task, given.get("preset")), **given}
    if options["schedule"] == "paper":
        # a preset's value belongs to its own schedule
        options["peak_rate"] = given.get("peak_rate")
    elif "rate_factor" in given:
        raise InputError(
            f"--rate-factor multiplies the paper's schedule; with {options['schedule']} use --peak-rate"
        )
    if base := given.get("base"):
        for name in [*model_settings(), "config", "model", "vocabulary", "vocab_size", "preset"]:
            if name in given:
                raise InputError(
                    f"--{name.replace('_', '-')} is of no use with --from: the model is that of {base}; leave it out"
                )
    changes = {} if base else _changes(options, given)
    made = _made(task, options)
    config = find(MODELS, options["model"]).Config.smallest(options["config"], **changes)
    check_fits({**vars(config), **made.sizes()}, TO_TRAIN)  # before the vocabulary is learned
    return Plan(
        task=made,
        model=options["model"],
        config=options["config"],
        changes=changes,
        training=_made(TrainingConfig, options),
        backend=options["backend"],
        folder=options["run"],
        base=base,
    )


def _changes(options: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The changes to the model's named configuration. Raises InputError if the user has `given` one
    that the model lacks.
    """
    config = find(MODELS, options["model"]).Config
    known = {
        *(field.name for field in fields(config)),
        *(attention_settings() if issubclass(config, StackConfig) else ()),
    }
    changes = {name: options[name] for name in model_settings() if options[name] is not None}
    for name in changes:
        if name in given and name not in known:  # a default, or a preset's, is left out silently
            raise InputError(
                f"--{name.replace('_', '-')} is of no use to the model {options['model']}; leave it out"
            )
    return {name: changes[name] for name in changes if name in known}


def _made(kind: type, options: dict[str, Any]) -> Any:
    """An object of a dataclass, from the options named like its fields."""
    return kind(
        **{field.name: options[field.name] for field in fields(kind) if field.name in options}
    )


def defaults(task: type[Task], preset: str | None = None) -> dict[str, Any]:
    """{option: value} for a task, a class of TASKS, with or without a preset; None: the value of
    the model size.
    """
    known = {
        field.name: field.default
        for field in (*fields(TrainingConfig), *fields(task))
        if field.default is not MISSING
    }
    return {
        **known,
        **dict.fromkeys(model_settings()),
        "model": task.model,
        "pre_norm": False,
        "backend": "numpy",
        "run": None,
        "threads": default_threads(),
        **task.defaults,
        **task.presets.get(preset, {}),
    }


def model_settings() -> list[str]:
    """The settings of models that have an option."""
    return [*STACK, "attention", *attention_settings()]


def attention_settings() -> dict[str, str]:
    """{a setting that only one kind of attention has: what it means}, if it has an option; of the
    kinds that are loaded.
    """
    return {
        name: text
        for kind in ATTENTIONS.loaded.values()
        for name, text in kind.settings.items()
        if text
    }
