"""A run: everything about one training run, and everything needed to use its model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.shell import quote_path
from minitransformer.backend import Array, get_module, to_host
from minitransformer.checks import check_kind
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.decoding import Search
from minitransformer.decoding.translation import check_texts
from minitransformer.errors import InputError, counted
from minitransformer.files import as_path, check_manifest, reason
from minitransformer.interchange.weights import WeightsFile, set_weights, to_bytes
from minitransformer.layers.initial import undrawn
from minitransformer.lookup import find
from minitransformer.models.model import Model
from minitransformer.runs import checkpoint
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.folder import INITIAL, SETTINGS, WEIGHTS, RunFolder, check_is_run
from minitransformer.runs.settings import UNREADABLE, RunSettings
from minitransformer.tasks.files import Places
from minitransformer.tasks.task import Task


class Run:
    """A task, a model and a vocabulary, with the folder that keeps them: `folder` has the files
    (folder.py lists them), `settings` what config.json says.
    """

    def __init__(self, path: str | Path, settings: RunSettings, model: Any, vocabulary: Any):
        self.folder = RunFolder(path)
        self.settings = settings
        self.model = model
        self.vocabulary = vocabulary

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def places(self) -> Places:
        """Where the files that it learns from may be by now."""
        return Places(self.path, self.settings.made_in)

    def places_given(self, options: Mapping[str, list[str]]) -> Places:
        """The same if {"train" or "valid": names} says where they are. Raises InputError unless
        there are as many as the run has.
        """
        given: dict[str, str] = {}
        for name, files in options.items():
            own = getattr(self.task, name, [])
            if len(files) != len(own):
                raise InputError(
                    f"--{name} names {counted(len(files), 'file')}, but the run has {len(own)}"
                )
            given.update(zip(own, files))
        return self.places._replace(given=given)

    @property
    def finished(self) -> bool:
        """Whether training has ended."""
        return self.folder.finished

    @property
    def task(self) -> Any:  # a Task; its other methods depend on its kind
        return self.settings.task

    def __repr__(self) -> str:
        try:
            last = max(checkpoint.steps(self.path), default=0)
            state = f"{counted(last, 'step')} saved" if last else "not trained yet"
            if self.finished:
                state = "trained"
        except (InputError, OSError):
            state = "its folder cannot be read"
        return (
            f"Run({str(self.path)!r}): {self.task.name}, {type(self.model).__name__} with "
            f"{counted(self.model.num_parameters(), 'parameter')}, {state}"
        )

    def answer(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The model's output for each of `texts`: a translation, a continuation or a class,
        depending on the task.
        """
        check_kind(
            search is None or isinstance(search, Search),
            "search",
            search,
            "a Search such as Search(beam=5)",
        )
        return self.task.answer(self, check_texts(texts), search)

    @classmethod
    def create(
        cls,
        path: str | Path,
        task: Task,
        model: Model,
        vocabulary: Any,
        training: TrainingConfig | None = None,
        backend: str = "numpy",
    ) -> "Run":
        """Make a new folder with settings and vocabulary.

        training: the TrainingConfig with which a command can resume. Raises InputError if something
        is already there, or if the task, model or vocabulary is not registered or they do not fit
        each other.
        """
        settings = RunSettings.of(task, model, vocabulary, training, backend)
        settings.check_parameters(model)
        return cls.make(path, settings, vocabulary, model)

    @classmethod
    def make(
        cls, path: str | Path, settings: RunSettings, vocabulary: Any, model: Model | None = None
    ) -> "Run":
        """Like `create`, from RunSettings; without a model, if the weights come from elsewhere."""
        settings.check_vocabulary(vocabulary, path)
        settings = replace(settings, made_in=str(as_path(path).resolve()))
        run = cls(path, settings, model, vocabulary)
        files = {
            SETTINGS: settings.to_json().encode(),
            vocabulary.file_name: vocabulary.to_json().encode(),
        }
        if model is not None and not settings.draws(model):
            files[INITIAL] = to_bytes({name: one.data for name, one in model.parameters().items()})
        run.folder.make(files)
        return run

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """Open the run in the folder `path`, with the model's initial weights; those of a run whose
        training has ended are drawn from its seed.

        Raises InputError like `load`.
        """
        run = cls._open(path)
        if INITIAL in check_manifest(run.path, unchecked=[WEIGHTS]):
            run._begin_with(WeightsFile(run.path / INITIAL))
        return run

    @classmethod
    def _open(cls, path: str | Path) -> "Run":
        """Open it with weights drawn from its seed."""
        path = as_path(path)
        check_is_run(path)
        check_manifest(path, unchecked=[WEIGHTS])  # damaged ones may be restored
        try:
            settings = RunSettings.from_json((path / SETTINGS).read_text(encoding="utf-8"))
            model = settings.make_model()
            kind = find(VOCABULARIES, settings.vocabulary)
            vocabulary = kind.load(path / kind.file_name)
        except InputError as error:
            raise InputError(f"{path}: the run cannot be read: {error}") from None
        except OSError as error:
            raise InputError(f"{path}: the run cannot be read: {reason(error)}") from None
        except UNREADABLE as error:
            raise InputError(
                f"{path}: the run cannot be read ({type(error).__name__}: {error})"
            ) from None
        settings.check_vocabulary(vocabulary, path)
        return cls(path, settings, model, vocabulary)

    @classmethod
    def load(cls, path: str | Path, backend: str = "numpy") -> "Run":
        """Open the run in the folder `path`, with its model on `backend`.

        Its weights are the trained ones or, if training has not ended, those of the newest intact
        checkpoint; a damaged one is reported on stderr. Raises InputError if there are none.
        """
        with undrawn():
            run = cls._open(path)
        run._begin_with(run._saved_weights())
        if get_module(backend) is not run.model.xp:
            run.model = run.model.to(backend)
        return run

    def _saved_weights(self) -> Mapping[str, Array]:
        """{parameter name: array}: the trained ones, or those of the newest checkpoint."""
        if self.finished:
            try:
                return self.folder.trained_weights()[0]
            except InputError as error:
                again = f"; make it again from its checkpoints: {self.resume_command}"
                raise InputError(f"{error}{again if checkpoint.steps(self.path) else ''}") from None
        last = checkpoint.newest(self.path)
        if last is None:
            raise InputError(
                f"{self.path}: no trained model yet; wait for its first validation, or start it: {self.resume_command}"
            )
        return last.weights

    @property
    def resume_command(self) -> str:
        """How to resume it: by a command if a command started it, otherwise by a Python call."""
        if self.settings.training:
            return f"minitransformer train --resume {quote_path(self.path)}"
        return "train(..., resume=True)"

    def save_weights(self, provenance: Any = None) -> None:
        """Save the model's weights as the trained ones, with how they were obtained."""
        self.settings.check_parameters(self.model)
        parameters = self.model.parameters()
        shapes = {name: (one.data.dtype, one.shape) for name, one in parameters.items()}
        arrays = (to_host(one.data) for one in parameters.values())
        self.folder.write_weights(shapes, arrays, provenance)

    def _begin_with(self, weights: Mapping[str, Array]) -> None:
        """Like `set_weights`, in a model of their dtype."""
        if all(array.dtype == np.float64 for array in weights.values()):
            self.model = self.model.astype(np.float64)
        self.set_weights(weights)

    def set_weights(self, weights: Mapping[str, Array]) -> None:
        """Load {parameter name: array} into the model. Raises InputError if they do not fit it."""
        try:
            set_weights(self.model, weights)
        except InputError as error:
            raise InputError(
                f"{self.path}: the weights do not fit the run's model: {error}"
            ) from None
