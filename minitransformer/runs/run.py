"""A run folder: everything about one training run, and everything needed to use its model."""

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.backend import Array, get_module, to_host
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.decoding.translation import check_texts
from minitransformer.errors import InputError, counted, quote
from minitransformer.files import (
    MANIFEST,
    as_json,
    check_manifest,
    make_folder,
    sync_folder,
    write_durably,
    write_manifest,
)
from minitransformer.interchange.weights import WeightsFile, as_safetensors, set_weights
from minitransformer.layers.initial import undrawn
from minitransformer.lookup import find
from minitransformer.runs import checkpoint
from minitransformer.runs.settings import UNREADABLE, RunSettings

WEIGHTS = "weights.safetensors"
LICENCE = "LICENSE"  # of an imported model


class Run:
    """A folder with everything about one training run:

    config.json            `settings`: the task, the model's configuration and the training settings
    tokenizer.json         the vocabulary (vocabulary.json if it does not consist of subwords)
    manifest.json          the sha256 of these two, and of the weights once training has ended
    metrics.jsonl          the log
    checkpoints/step-N/    what a stopped run resumes from, each with its own manifest.json
    snapshots/             weights of some steps, for the explorer (snapshot_every)
    weights.safetensors    the trained weights, {parameter name: array}, a shared one once; and how they were obtained
    train.lock             locked while a process trains the run
    LICENSE                the licence of an imported model, and of what is trained from it
    report.html            one self-contained page about the training run and the model's outputs
    """

    def __init__(self, path, settings, model, vocabulary):
        self.path = Path(path)
        self.settings = settings
        self.model = model
        self.vocabulary = vocabulary

    def __repr__(self) -> str:
        try:
            last = max(checkpoint.steps(self.path), default=0)
            state = (
                "trained"
                if self.finished
                else f"{counted(last, 'step')} saved"
                if last
                else "not trained yet"
            )
        except (InputError, OSError):
            state = "its folder cannot be read"
        return (
            f"Run({str(self.path)!r}): {self.task.name}, {type(self.model).__name__} with "
            f"{self.model.num_parameters():,} parameters, {state}"
        )

    @property
    def task(self) -> Any:  # a Task; its other methods depend on its kind
        return self.settings.task

    def answer(self, texts, search=None) -> list[str]:
        """The model's output for each of `texts`: a translation, a continuation or a class,
        depending on the task.
        """
        return self.task.answer(self, check_texts(texts), search)

    @classmethod
    def create(cls, path, task, model, vocabulary, training=None, backend="numpy") -> "Run":
        """Make a new folder with settings and vocabulary.

        training: the TrainingConfig with which a command can resume. Raises InputError if something
        is already there, or if the task, model or vocabulary is not registered or they do not fit
        each other.
        """
        return cls.make(
            path, RunSettings.of(task, model, vocabulary, training, backend), vocabulary, model
        )

    @classmethod
    def make(cls, path, settings, vocabulary, model=None) -> "Run":
        """Like `create`, from RunSettings; without a model, if the weights come from elsewhere."""
        _check_vocabulary(path, settings, vocabulary)
        run = cls(path, settings, model, vocabulary)
        check_free(path)
        try:
            with ExitStack() as undo:  # even Ctrl-C leaves nothing behind
                if (
                    run.path.exists()
                ):  # an empty folder stays: it may be a link, and it has its permissions
                    new = run.path
                    (new / "config.json").touch(
                        exist_ok=False
                    )  # of two processes that found it empty, one gets it
                    for name in (*run._fixed_files(), MANIFEST):
                        undo.callback((new / name).unlink, missing_ok=True)
                else:
                    new = run.path.with_name(f".{run.path.name}.{os.getpid()}")
                    shutil.rmtree(
                        new, ignore_errors=True
                    )  # left by a killed process with the same number
                    undo.callback(shutil.rmtree, new, ignore_errors=True)
                    make_folder(new)
                write_durably(new / "config.json", settings.to_json().encode())
                write_durably(new / vocabulary.file_name, vocabulary.to_json().encode())
                write_manifest(new, run._fixed_files())
                if new != run.path:
                    os.rename(new, run.path)  # a run folder is complete from the start
                    sync_folder(run.path.parent)
                undo.pop_all()
        except OSError as error:
            check_free(path)  # another process may have taken it in the meantime
            raise InputError(f"{path}: {error.strerror}; choose a writable folder") from None
        return run

    @classmethod
    def load(cls, path, backend="numpy") -> "Run":
        """Open the run in the folder `path`, with its model on `backend`.

        Its weights are the trained ones or, if training has not ended, those of the newest intact
        checkpoint; a damaged one is reported on stderr. Raises InputError if there are none.
        """
        with undrawn():
            run = cls.open(path)
        if run.finished:
            try:
                weights: Mapping[str, Array] = run.trained_weights()[0]
            except InputError as error:
                hint = (
                    f"; make it again from its checkpoints: {run.resume_command}"
                    if checkpoint.steps(run.path)
                    else ""
                )
                raise InputError(f"{error}{hint}") from None
        elif last := checkpoint.newest(run.path):
            weights = last.weights
        else:
            raise InputError(
                f"{path}: no trained model yet; wait for its first validation, or start it: {run.resume_command}"
            )
        if all(array.dtype == np.float64 for array in weights.values()):
            run.model = run.model.astype(np.float64)
        run.set_weights(weights)
        if get_module(backend) is not run.model.xp:
            run.model = run.model.to(backend)
        return run

    @classmethod
    def open(cls, path) -> "Run":
        """Open the run in the folder `path`, with the model's initial weights, drawn from its seed.

        Raises InputError like `load`.
        """
        path = Path(path)
        if _is_pretrained(path):
            raise InputError(
                f"{path}: a pretrained model, not a run; first run minitransformer import "
                f"{quote(str(path))} --run DIR"
            )
        if not (path / "config.json").is_file():
            raise InputError(
                f"{path}: no run here (no config.json); give a folder that minitransformer train wrote"
            )
        check_manifest(
            path, unchecked=[WEIGHTS]
        )  # damaged weights can be restored from the checkpoints
        try:
            settings = RunSettings.from_json((path / "config.json").read_text(encoding="utf-8"))
            model = settings.make_model()
            kind = find(VOCABULARIES, settings.vocabulary)
            vocabulary = kind.load(path / kind.file_name)
        except InputError as error:
            raise InputError(f"{path}: the run cannot be read: {error}") from None
        except (OSError, *UNREADABLE) as error:
            raise InputError(
                f"{path}: the run cannot be read ({type(error).__name__}: {error})"
            ) from None
        _check_vocabulary(path, settings, vocabulary)
        return cls(path, settings, model, vocabulary)

    @property
    def finished(self) -> bool:
        """Whether training has ended."""
        return WEIGHTS in check_manifest(self.path, unchecked=[WEIGHTS])

    @property
    def resume_command(self) -> str:
        """How to resume it: by a command if a command started it, otherwise by a Python call."""
        return (
            f"minitransformer train --resume {quote(str(self.path))}"
            if self.settings.training
            else "train(..., resume=True)"
        )

    def save_weights(self, provenance=None) -> None:
        """Save the model's weights as the trained ones: write weights.safetensors, and list it in
        manifest.json.

        `provenance`: how they were obtained, as JSON, stored in the file.
        """
        parameters = self.model.parameters()
        self.write_weights(
            {
                name: (parameter.data.dtype, parameter.shape)
                for name, parameter in parameters.items()
            },
            (to_host(parameter.data) for parameter in parameters.values()),
            provenance,
        )

    def write_weights(self, shapes, arrays, provenance=None) -> None:
        """Save `arrays`, described by `shapes` as in interchange.weights.as_safetensors, as the
        trained weights.
        """
        self.invalidate_weights()  # before they change
        write_durably(
            self.path / WEIGHTS, as_safetensors(shapes, arrays, {"provenance": as_json(provenance)})
        )
        write_manifest(self.path, [*self._fixed_files(), WEIGHTS])

    def pass_on_licence(self, run) -> None:
        """Copy the licence of an imported model, if this is one, to a `run` that begins with its
        weights.
        """
        if (self.path / LICENCE).exists():
            shutil.copyfile(self.path / LICENCE, run.path / LICENCE)

    def trained_weights(self) -> tuple[WeightsFile, dict[str, Any] | None]:
        """({name: array}, their provenance) from weights.safetensors. Raises InputError if it is
        missing or damaged.
        """
        if WEIGHTS not in check_manifest(self.path):
            raise InputError(f"{self.path}: the run has no trained model")
        weights = WeightsFile(self.path / WEIGHTS)
        try:
            return weights, json.loads(weights.metadata.get("provenance", "null"))
        except ValueError as error:
            raise InputError(f"{self.path / WEIGHTS}: cannot be read ({error})") from None

    def invalidate_weights(self) -> None:
        """Unlist the trained weights, if there are any: training resumes."""
        write_manifest(self.path, self._fixed_files())

    def set_weights(self, weights) -> None:
        """Load {parameter name: array} into the model. Raises InputError if they do not fit it."""
        try:
            set_weights(self.model, weights)
        except InputError as error:
            raise InputError(
                f"{self.path}: the weights do not fit the run's model: {error}"
            ) from None

    def _fixed_files(self) -> list[str]:
        return ["config.json", self.vocabulary.file_name]


def _check_vocabulary(path, settings, vocabulary) -> None:
    """Raise InputError unless the model's sizes match the task and the vocabulary."""
    sizes = settings.task.model_sizes(vocabulary)
    expected = sizes.get("target_vocab", sizes.get("vocab_size"))
    found = getattr(settings.config, "target_vocab", None) or getattr(
        settings.config, "vocab_size", None
    )
    if expected != found:
        raise InputError(
            f"{path}: the vocabulary has {counted(expected, 'token')}, the model {found}; "
            "they are not from the same run"
        )
    expected, found = sizes.get("num_classes"), getattr(settings.config, "num_classes", None)
    if expected != found:
        raise InputError(
            f"{path}: the task has {expected} classes, the model {found}; they are not from the same run"
        )


def _is_pretrained(path) -> bool:
    """Whether it is a GGUF file or a Hugging Face folder."""
    config = path / "config.json"
    try:
        return path.suffix == ".gguf" or (
            config.is_file() and b'"model_type"' in config.read_bytes()
        )
    except OSError:  # whoever opens the run says so
        return False


def check_free(path) -> None:
    """Raise InputError unless the folder `path` is free for a new run: nothing is ever overwritten."""
    path = Path(path)
    if (path / "config.json").exists():
        raise InputError(
            f"{path} already exists and holds a run; choose another folder, or resume it: minitransformer train "
            f"--resume {quote(str(path))}, or in Python: train(Run.open({str(path)!r}), ..., resume=True)"
        )
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path} already exists and is not an empty folder; choose another")
