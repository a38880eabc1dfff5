"""The settings of a run, as stored in its config.json: read, written and checked in one place."""

import json
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.backend import check_backend, to_host
from minitransformer.checks import check_kind
from minitransformer.errors import InputError, counted
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.data.vocabularies.vocabulary import Vocabulary
from minitransformer.files import MALFORMED, as_json
from minitransformer.layers.initial import undrawn
from minitransformer.layers.layer import Layer
from minitransformer.lookup import find, name_of
from minitransformer.memory import TO_USE, check_fits
from minitransformer.models import MODELS
from minitransformer.models.model import Model
from minitransformer.tasks import TASKS
from minitransformer.runs.config import TrainingConfig
from minitransformer.tasks.task import Task

UNREADABLE = (*MALFORMED, MemoryError)


@dataclass(frozen=True, repr=False)
class RunSettings:
    """What defines a run: its task, its model and, if a command started it or `training` is given,
    its training settings.
    """

    task: Any  # a Task
    model: str  # a name in MODELS
    config: Any  # the model's configuration
    vocabulary: str  # a name in VOCABULARIES
    training: TrainingConfig | None = None
    backend: str = "numpy"
    made_in: str = ""  # the absolute name of the run's folder when it was made

    @classmethod
    def of(
        cls,
        task: Task,
        model: Model,
        vocabulary: Vocabulary,
        training: TrainingConfig | None = None,
        backend: str = "numpy",
    ) -> "RunSettings":
        """The settings of these objects. Raises InputError if one is not registered, since it could
        not be loaded again.
        """
        name_of(TASKS, task, "TASKS")
        check_kind(
            training is None or isinstance(training, TrainingConfig),
            "training",
            training,
            "a TrainingConfig",
        )
        check_backend(backend)
        return cls(
            task,
            name_of(MODELS, model, "MODELS"),
            model.config,
            name_of(VOCABULARIES, vocabulary, "VOCABULARIES"),
            training,
            backend,
        )

    @property
    def seed(self) -> int:
        """The seed of the model's initial weights; 0 if no TrainingConfig is stored."""
        return self.training.seed if self.training else 0

    def check_parameters(self, model: Layer) -> None:
        """Raise InputError unless a new model with these settings has the same parameters: a tie or a
        layer that the configuration cannot express would make the run unreadable.
        """
        with undrawn():
            made = {name: one.shape for name, one in self.make_model().parameters().items()}
        own = {name: one.shape for name, one in model.parameters().items()}
        for name in sorted(own.keys() | made.keys()):
            if own.get(name) != made.get(name):
                raise InputError(
                    f"{name} is {own.get(name, 'not a parameter of its own')} in this model, and "
                    f"{made.get(name, 'no such parameter')} in a new one of its configuration, so the run could not be "
                    "opened again; change the configuration, or keep the weights with save_weights"
                )

    def draws(self, model: Layer) -> bool:
        """Whether the weights of `model` are those that are drawn from the seed."""
        made = self.make_model().parameters()
        return all(
            one.data.dtype == made[name].data.dtype
            and np.array_equal(to_host(one.data), made[name].data)
            for name, one in model.parameters().items()
        )

    def make_model(self) -> Model:
        """The model with its initial weights. Raises InputError if it cannot fit into memory."""
        check_fits(vars(self.config), TO_USE)
        return find(MODELS, self.model)(self.config, self.seed)

    def check_vocabulary(self, vocabulary: Any, path: str | Path) -> None:
        """Raise InputError unless the model's sizes match the task and the vocabulary of the run in
        the folder `path`.
        """
        sizes = self.task.model_sizes(vocabulary)
        expected = sizes.get("target_vocab", sizes.get("vocab_size"))
        found = getattr(self.config, "target_vocab", None) or getattr(
            self.config, "vocab_size", None
        )
        if expected != found:
            raise InputError(
                f"{path}: the vocabulary has {counted(expected, 'token')}, the model {found}; "
                "they are not from the same run"
            )
        expected, found = sizes.get("num_classes"), getattr(self.config, "num_classes", None)
        if expected != found:
            raise InputError(
                f"{path}: the task has {expected} classes, the model {found}; they are not from the same run"
            )

    def __repr__(self) -> str:
        return f"RunSettings {self.to_json().strip()}"

    def to_json(self) -> str:
        return (
            as_json(
                {
                    "task": {"name": self.task.name, **self.task.settings()},
                    "model": {"name": self.model, **asdict(self.config)},
                    "vocabulary": self.vocabulary,
                    "training": asdict(self.training) if self.training else None,
                    "backend": self.backend,
                    "made_in": self.made_in,
                },
                indent=2,
            )
            + "\n"
        )

    @classmethod
    def from_json(cls, text: str) -> "RunSettings":
        """The settings from their JSON text. Raises InputError or one of UNREADABLE if it is not
        one.
        """
        kept = json.loads(text)
        task, model = dict(kept["task"]), dict(kept["model"])
        task = _made("task", find(TASKS, task.pop("name")), task)
        name = model.pop("name")
        find(VOCABULARIES, kept["vocabulary"])
        check_backend(kept["backend"])
        made_in = kept.get("made_in", "")  # older versions did not write it
        check_kind(isinstance(made_in, str), "made_in", made_in, "the name of a folder")
        training = kept["training"]
        return cls(
            task,
            name,
            _made("model", find(MODELS, name).Config, model),
            kept["vocabulary"],
            None if training is None else _made("training", TrainingConfig, training),
            kept["backend"],
            made_in,
        )


def _made(what: str, kind: type, values: Any) -> Any:
    """A `kind` of these values. Raises InputError for a field that it lacks, or does not have."""
    check_kind(isinstance(values, dict), what, values, "an object")
    known = {one.name for one in fields(kind)}
    needed = {one.name for one in fields(kind) if one.default is one.default_factory is MISSING}
    for names, problem in (values.keys() - known, "unknown"), (needed - values.keys(), "missing"):
        if names:
            raise InputError(
                f"{what}: the field {min(names)!r} is {problem}; if another version of "
                "minitransformer wrote it, use that version"
            )
    return kind(**values)
