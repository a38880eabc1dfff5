"""A run folder: everything about one training, and what is needed to use its model."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from minitransformer.backend import to_host
from minitransformer.data.subwords import SubwordVocabulary
from minitransformer.data.vocabulary import SymbolVocabulary
from minitransformer.decoding import translate
from minitransformer.errors import InputError
from minitransformer.layers import Transformer, TransformerConfig

VOCABULARIES = {kind.__name__: kind for kind in (SymbolVocabulary, SubwordVocabulary)}


def read_metrics(path):
    """The records of the metrics.jsonl in the run folder `path`. Raises InputError where there is none to read."""
    path = Path(path) / "metrics.jsonl"
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if not records or not all("step" in record for record in records):
            raise InputError(f"{path}: no records, expected those of a training")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a folder that minitransformer train wrote") from None
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: cannot be read ({error})") from None
    return records


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
        """A new folder with configuration and vocabulary. Raises InputError where one already holds a run."""
        settings = {**settings, "vocabulary": type(vocabulary).__name__, "model": asdict(model.config)}
        run = cls(path, settings, model, vocabulary)
        if (run.path / "config.json").exists():
            raise InputError(f"{path} already holds a run; choose another --run, or remove it first")
        try:
            run.path.mkdir(parents=True, exist_ok=True)
            text = json.dumps(settings, indent=2, ensure_ascii=False)
            (run.path / "config.json").write_text(text + "\n", encoding="utf-8")
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
            kind = VOCABULARIES[settings["vocabulary"]]
            settings["task"], settings["max_length"]    # what evaluate and translate need
            model = Transformer(TransformerConfig(**settings["model"]))
            vocabulary = kind.load(path / kind.file_name)
        except InputError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: the run cannot be read ({type(error).__name__}: {error})") from None
        run = cls(path, settings, model, vocabulary)
        run._load_weights()
        run.model = model.to(backend)
        return run

    def translate(self, texts):
        """The model's output text for each of `texts`. Raises InputError for one that is too long."""
        return translate(self.model, self.vocabulary, texts, self.settings["max_length"])

    def save_weights(self):
        """Write weights.safetensors: {parameter name: array}, a shared one once. The old file stays until it is whole."""
        from safetensors.numpy import save

        new = self.path / "weights.safetensors.new"
        new.write_bytes(save({name: to_host(p.data) for name, p in self.model.parameters().items()}))
        os.replace(new, self.path / "weights.safetensors")

    def _load_weights(self):
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self.path / "weights.safetensors"
        if not path.is_file():
            raise InputError(f"{self.path}: the run holds no trained model (no weights.safetensors)")
        try:
            weights = load_file(path)
        except (SafetensorError, OSError) as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
        parameters = self.model.parameters()
        for name in sorted(parameters.keys() | weights.keys()):
            expected = parameters[name].shape if name in parameters else "no such array"
            found = weights[name].shape if name in weights else "no such array"
            if expected != found:
                raise InputError(f"{path}: {name}: found {found}, expected {expected} by config.json")
            parameters[name].data[...] = weights[name]
