"""A run folder: everything about one training, and what is needed to use its model."""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np

from minitransformer.backend import to_host
from minitransformer.data import toy
from minitransformer.data.subwords import SubwordVocabulary
from minitransformer.data.vocabulary import SymbolVocabulary
from minitransformer.decoding import translate
from minitransformer.errors import InputError
from minitransformer.layers import Transformer, TransformerConfig

VOCABULARIES = {kind.__name__: kind for kind in (SymbolVocabulary, SubwordVocabulary)}


class Run:
    """A folder with config.json, the vocabulary, weights.safetensors, metrics.jsonl and loss.png.

    `settings` is what config.json holds: the task, the model's configuration and the training's.
    """

    def __init__(self, path, settings, model, vocabulary):
        self.path = Path(path)
        self.settings = settings
        self.model = model
        self.vocabulary = vocabulary

    @classmethod
    def create(cls, path, settings, model, vocabulary):
        """A new folder with configuration and vocabulary. Raises InputError where something is already there."""
        settings = {**settings, "vocabulary": type(vocabulary).__name__, "model": asdict(model.config)}
        run = cls(path, settings, model, vocabulary)
        check_free(path)
        try:
            run.path.mkdir(parents=True, exist_ok=True)
            (run.path / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
            vocabulary.save(run.path / vocabulary.file_name)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; choose a --run folder that can be written") from None
        return run

    @classmethod
    def load(cls, path, backend="numpy"):
        """The run in the folder `path`, its model on `backend`. Raises InputError where there is none."""
        path = Path(path)
        if not (path / "config.json").is_file():
            raise InputError(f"{path}: no run here (no config.json); give the folder that minitransformer train wrote")
        try:
            settings = json.loads((path / "config.json").read_text(encoding="utf-8"))
            _check_settings(settings)
            kind = VOCABULARIES[settings["vocabulary"]]
            model = Transformer(TransformerConfig(**settings["model"]))
            vocabulary = kind.load(path / kind.file_name)
        except InputError as error:
            raise InputError(f"{path}: the run cannot be read: {error}") from None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError,
                OverflowError) as error:
            raise InputError(f"{path}: the run cannot be read ({type(error).__name__}: {error})") from None
        if vocabulary.size != model.config.target_vocab:
            raise InputError(f"{path}: the vocabulary has {vocabulary.size} tokens, the model "
                             f"{model.config.target_vocab}; they are not of one run")
        run = cls(path, settings, model, vocabulary)
        run._load_weights()
        run.model = model.to(backend)
        return run

    def translate(self, texts):
        """The model's output text for each of `texts`. Raises InputError for one that is too long."""
        return translate(self.model, self.vocabulary, texts, self.settings["max_length"])

    def save_weights(self):
        """Write weights.safetensors: {parameter name: array}, a shared one once.

        The old file stays until the new one is whole.
        """
        from safetensors.numpy import save

        new = self.path / "weights.safetensors.new"
        try:
            new.write_bytes(save({name: to_host(p.data) for name, p in self.model.parameters().items()}))
            os.replace(new, self.path / "weights.safetensors")
        finally:
            new.unlink(missing_ok=True)    # there only if the disk is full

    def _load_weights(self):
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self.path / "weights.safetensors"
        if not path.is_file():
            raise InputError(f"{self.path}: the run holds no trained model (no weights.safetensors)")
        try:
            weights = load_file(path)
        except (SafetensorError, OSError, ValueError, TypeError, LookupError) as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
        parameters = self.model.parameters()
        for name in sorted(parameters.keys() | weights.keys()):
            expected = parameters[name].shape if name in parameters else "no such array"
            found = weights[name].shape if name in weights else "no such array"
            if expected != found:
                raise InputError(f"{path}: {name}: found {found}, expected {expected} by config.json")
            if weights[name].dtype.kind != "f" or not np.isfinite(weights[name]).all():
                raise InputError(f"{path}: {name} holds something else than finite real numbers")
            parameters[name].data[...] = weights[name]


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
        usable = records and all(
            isinstance(record, dict) and "step" in record
            and all(isinstance(value, (int, float)) and math.isfinite(value) for value in record.values())
            for record in records)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a folder that minitransformer train wrote") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not usable:
        raise InputError(f"{path}: not the records of a training: expected an object of finite numbers on each line")
    return records


def _check_settings(settings):
    """Raise InputError unless config.json says what evaluate and translate need."""
    task, files = settings["task"], settings.get("valid")
    if task != "translate":
        toy.make_task(task, settings["language"])
    elif not (isinstance(files, list) and files and all(isinstance(file, str) for file in files)):
        raise InputError(f"config.json: valid is {files!r}, expected the names of the validation files")
    if not isinstance(settings["max_length"], int):
        raise InputError(f"config.json: max_length is {settings['max_length']!r}, expected a whole number")
