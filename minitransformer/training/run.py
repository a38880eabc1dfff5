"""A run folder: everything about one training, and what is needed to use its model."""

import json
import math
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from shlex import quote

import numpy as np

from minitransformer.backend import to_device, to_host
from minitransformer.data import toy
from minitransformer.data.subwords import SubwordVocabulary
from minitransformer.data.vocabulary import SymbolVocabulary
from minitransformer.decoding import GREEDY, Search, decode_all, encode, translate
from minitransformer.errors import InputError
from minitransformer.layers import Transformer, TransformerConfig
from minitransformer.training import checkpoint
from minitransformer.training.files import (
    MANIFEST, as_json, check_manifest, make_folder, sync_folder, write_durably, write_manifest)

WEIGHTS = "weights.safetensors"
VOCABULARIES = {kind.__name__: kind for kind in (SymbolVocabulary, SubwordVocabulary)}


class Run:
    """A folder with everything about one training:

        config.json            `settings`: the task, the model's configuration and the training's
        tokenizer.json         the vocabulary (vocabulary.json for a toy task)
        manifest.json          the sha256 of these two, and of the weights when the training has ended
        metrics.jsonl          the log
        checkpoints/step-N/    what a stopped training goes on from, each with a manifest.json of its own
        weights.safetensors    the trained weights, {parameter name: array}, a shared one once; and how they were made
        report.html            how the training went, with curves.png and attention-N.png
    """

    def __init__(self, path, settings, model, vocabulary):
        self.path = Path(path)
        self.settings = settings
        self.model = model
        self.vocabulary = vocabulary

    @classmethod
    def create(cls, path, settings, model, vocabulary):
        """A new folder with configuration and vocabulary.

        `settings`: "task", a toy task's name or "translate"; "language" of the task numbers, else None; "max_length",
        the longest source in tokens; for translate "valid", the names of the validation files; and what else is to be kept.
        Raises InputError for settings that lack one of these, and where something is already there.
        """
        settings = {**settings, "vocabulary": type(vocabulary).__name__, "model": asdict(model.config)}
        _check_settings(settings)
        run = cls(path, settings, model, vocabulary)
        check_free(path)
        new = run.path if run.path.exists() else run.path.with_name(f".{run.path.name}.{os.getpid()}")
        try:
            if new != run.path:
                shutil.rmtree(new, ignore_errors=True)    # of a process of that number that was killed here
                make_folder(new)
            write_durably(new / "config.json", (as_json(settings, indent=2) + "\n").encode())
            write_durably(new / vocabulary.file_name, vocabulary.to_json().encode())
            write_manifest(new, run._fixed_files())
            if new != run.path:
                os.rename(new, run.path)    # a run folder is whole from its first moment
                sync_folder(run.path.parent)
        except BaseException as error:    # Ctrl-C too leaves nothing behind
            if new != run.path:
                shutil.rmtree(new, ignore_errors=True)
            else:
                for name in (*run._fixed_files(), MANIFEST):
                    (new / name).unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            raise InputError(f"{path}: {error.strerror}; choose a --run folder that can be written") from None
        return run

    @classmethod
    def load(cls, path, backend="numpy"):
        """The run in the folder `path`, its model on `backend`.

        Its weights are the trained ones or, while the training has not ended, those of the newest good checkpoint;
        a damaged one is named on stderr. Raises InputError where there is none.
        """
        run = cls.open(path)
        if run.finished:
            weights, _ = _read_weights(run.path)
        elif last := checkpoint.newest(run.path):
            weights = last.weights
        else:
            raise InputError(f"{path}: the run holds no trained model; begin its training with {run.resume_command}")
        if all(array.dtype == np.float64 for array in weights.values()):
            run.model = run.model.astype(np.float64)
        run.set_weights(weights)
        run.model = run.model.to(backend)
        return run

    @classmethod
    def open(cls, path):
        """The run in the folder `path`, its model as the seed of its training draws it (0 where no command began it).

        Raises InputError as `load`.
        """
        path = Path(path)
        if not (path / "config.json").is_file():
            raise InputError(f"{path}: no run here (no config.json); give the folder that minitransformer train wrote")
        check_manifest(path, besides=[WEIGHTS])    # damaged ones can be made again from the checkpoints
        try:
            settings = json.loads((path / "config.json").read_text(encoding="utf-8"))
            _check_settings(settings)
            kind = VOCABULARIES[settings["vocabulary"]]
            model = Transformer(TransformerConfig(**settings["model"]), settings.get("training", {}).get("seed", 0))
            vocabulary = kind.load(path / kind.file_name)
        except InputError as error:
            raise InputError(f"{path}: the run cannot be read: {error}") from None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError,
                OverflowError) as error:
            raise InputError(f"{path}: the run cannot be read ({type(error).__name__}: {error})") from None
        if vocabulary.size != model.config.target_vocab:
            raise InputError(f"{path}: the vocabulary has {vocabulary.size} tokens, the model "
                             f"{model.config.target_vocab}; they are not of one run")
        return cls(path, settings, model, vocabulary)

    @property
    def finished(self):
        """Whether its training has ended."""
        return WEIGHTS in check_manifest(self.path, besides=[WEIGHTS])

    @property
    def resume_command(self):
        """What goes on with its training: a command if a command began it, else a call."""
        return (f"minitransformer train --resume {quote(str(self.path))}" if "training" in self.settings
                else "train(..., resume=True)")

    @property
    def search(self):
        """How its outputs are usually looked for: a beam of 5 for text, greedily for a toy task."""
        return Search(beam=5) if self.settings["task"] == "translate" else GREEDY

    def translate(self, texts, search=None):
        """The model's output text for each of `texts`."""
        return translate(self.model, self.vocabulary, texts, self.settings["max_length"], search or self.search)

    def hypotheses(self, texts, search=None):
        """For each of `texts` [(score, output text)], the best first; a text that is too long is named on stderr."""
        sources = encode(self.vocabulary, texts, self.settings["max_length"])
        return [[(hypothesis.score, self.vocabulary.decode(hypothesis.tokens)) for hypothesis in found]
                for found in decode_all(self.model, sources, search or self.search)]

    def save_weights(self, provenance=None):
        """The model's weights as the trained ones: write weights.safetensors, and list it in manifest.json.

        `provenance`: how they were made, as JSON, which the file keeps.
        """
        from safetensors.numpy import save

        self.disown_weights()    # before they change
        weights = {name: to_host(parameter.data) for name, parameter in self.model.parameters().items()}
        write_durably(self.path / WEIGHTS, save(weights, {"provenance": as_json(provenance)}))
        write_manifest(self.path, [*self._fixed_files(), WEIGHTS])

    def take_trained_weights(self):
        """weights.safetensors into the model; returns the provenance. Raises InputError where it is missing or damaged."""
        weights, provenance = _read_weights(self.path)
        self.set_weights(weights)
        return provenance

    def disown_weights(self):
        """The trained weights, if there are any, are no longer this run's: its training goes on."""
        write_manifest(self.path, self._fixed_files())

    def set_weights(self, weights):
        """Take over {parameter name: array}. Raises InputError where these are not this model's."""
        parameters = self.model.parameters()
        for name in sorted(parameters.keys() | weights.keys()):
            expected = parameters[name].shape if name in parameters else "no such array"
            found = weights[name].shape if name in weights else "no such array"
            if expected != found:
                raise InputError(f"{self.path}: the weights do not fit config.json: {name}: found {found}, "
                                 f"expected {expected}")
            if weights[name].dtype.kind != "f" or not np.isfinite(weights[name]).all():
                raise InputError(f"{self.path}: {name} holds something else than finite real numbers")
            if weights[name].dtype != parameters[name].data.dtype:
                raise InputError(f"{self.path}: {name} is {weights[name].dtype}, but the run's model is "
                                 f"{parameters[name].data.dtype}; give it run.model.astype(...)")
            parameters[name].data[...] = to_device(weights[name], self.model.xp)

    def _fixed_files(self):
        return ["config.json", self.vocabulary.file_name]


def _read_weights(folder):
    """({name: array}, their provenance) of weights.safetensors. Raises InputError where there is none, or a damaged one."""
    from safetensors import SafetensorError, safe_open

    if WEIGHTS not in check_manifest(folder):
        raise InputError(f"{folder}: the run holds no trained model")
    path = folder / WEIGHTS
    try:
        with safe_open(path, framework="np") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}
            return weights, json.loads((file.metadata() or {}).get("provenance", "null"))
    except (SafetensorError, OSError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def check_free(path):
    """Raise InputError unless a new run can have the folder `path`: nothing of anyone's is overwritten."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path} already exists and is not an empty folder; choose another --run")


def read_metrics(path):
    """The records of metrics.jsonl in the run folder `path`. Raises InputError where there is none to read."""
    path = Path(path) / "metrics.jsonl"
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        usable = all(
            isinstance(record, dict) and "step" in record
            and all(isinstance(value, (int, float)) and math.isfinite(value) for value in record.values())
            for record in records)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a folder that minitransformer train wrote") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not records:
        raise InputError(f"{path}: nothing was logged yet; let the training go on for some steps")
    if not usable:
        raise InputError(f"{path}: not the records of a training: expected an object of finite numbers on each line")
    return records


def _check_settings(settings):
    """Raise InputError unless config.json says what evaluate and translate need."""
    for name in ("task", "language", "max_length"):
        if name not in settings:
            raise InputError(f"config.json: there is no {name}")
    task, files = settings["task"], settings.get("valid")
    if task != "translate":
        toy.make_task(task, settings["language"])
    elif not (isinstance(files, list) and files and all(isinstance(file, str) for file in files)):
        raise InputError(f"config.json: valid is {files!r}, expected the names of the validation files")
    if not isinstance(settings["max_length"], int):
        raise InputError(f"config.json: max_length is {settings['max_length']!r}, expected a whole number")
