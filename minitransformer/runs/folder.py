"""A run's folder: its files are complete from the start, and nothing in it is ever overwritten by
another run.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any


from minitransformer.shell import quote_path
from minitransformer.backend import Array
from minitransformer.errors import InputError
from minitransformer.files import (
    MANIFEST,
    as_json,
    as_path,
    check_manifest,
    make_folder,
    sync_folder,
    write_durably,
    write_manifest,
)
from minitransformer.interchange.weights import WeightsFile, as_safetensors

SETTINGS = "config.json"
INITIAL = "initial.safetensors"
WEIGHTS = "weights.safetensors"
LICENCE = "LICENSE"  # of an imported model


class RunFolder:
    """The files of a run:

    config.json            the task, the model's configuration and the training settings
    tokenizer.json         the vocabulary (vocabulary.json if it does not consist of subwords)
    initial.safetensors    until training has ended: the first weights, if the seed does not draw them
    manifest.json          the sha256 of these three, and of the weights once training has ended
    metrics.jsonl          the log
    checkpoints/step-N/    what a stopped run resumes from, each with its own manifest.json
    snapshots/             weights of some steps, for the explorer (snapshot_every)
    weights.safetensors    the trained weights, {parameter name: array}, a shared one once; and how they were obtained
    train.lock             locked while a process trains the run
    LICENSE                the licence of an imported model, and of what is trained from it
    report.html            one self-contained page about the training run and the model's outputs
    """

    def __init__(self, path: str | Path):
        self.path = as_path(path)

    def make(self, files: Mapping[str, bytes]) -> None:
        """Make the folder with these files, which do not change any more. Raises InputError if
        something is already there, or if they cannot be written.
        """
        check_free(self.path)
        try:
            with ExitStack() as undo:  # even Ctrl-C leaves nothing behind
                new = self._new(files, undo)
                for name, data in files.items():
                    write_durably(new / name, data)
                write_manifest(new, files)
                if new != self.path:
                    os.rename(new, self.path)
                    sync_folder(self.path.parent)
                undo.pop_all()
        except OSError as error:
            check_free(self.path)  # another process may have taken it in the meantime
            raise InputError(f"{self.path}: {error.strerror}; choose a writable folder") from None

    def _new(self, names: Iterable[str], undo: ExitStack) -> Path:
        """The folder to write to. An empty one that exists stays: it may be a link, and it has its
        permissions.
        """
        if self.path.exists():
            # of two processes that found it empty, one gets it
            (self.path / SETTINGS).touch(exist_ok=False)
            for name in (*names, MANIFEST):
                undo.callback((self.path / name).unlink, missing_ok=True)
            return self.path
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        shutil.rmtree(new, ignore_errors=True)  # left by a killed process with the same number
        undo.callback(shutil.rmtree, new, ignore_errors=True)
        make_folder(new)
        return new

    @property
    def finished(self) -> bool:
        """Whether training has ended."""
        return WEIGHTS in check_manifest(self.path, unchecked=[WEIGHTS])

    def write_weights(
        self,
        shapes: Mapping[str, tuple[Any, tuple[int, ...]]],
        arrays: Iterable[Array],
        provenance: Any = None,
    ) -> None:
        """Write the trained weights, `arrays` described by `shapes` as in as_safetensors, and list
        them in manifest.json. `provenance`: how they were obtained, as JSON.
        """
        self.invalidate_weights()  # before they change
        metadata = {"provenance": as_json(provenance)}
        write_durably(self.path / WEIGHTS, as_safetensors(shapes, arrays, metadata))
        kept = [name for name in self._fixed_files() if name != INITIAL]
        write_manifest(self.path, [*kept, WEIGHTS])
        (self.path / INITIAL).unlink(missing_ok=True)

    def invalidate_weights(self) -> None:
        """Unlist the trained weights, if there are any: training resumes."""
        write_manifest(self.path, self._fixed_files())

    def trained_weights(self) -> tuple[WeightsFile, dict[str, Any] | None]:
        """({name: array}, their provenance). Raises InputError if they are missing or damaged."""
        if WEIGHTS not in check_manifest(self.path):
            raise InputError(f"{self.path}: the run has no trained model")
        weights = WeightsFile(self.path / WEIGHTS)
        try:
            return weights, json.loads(weights.metadata.get("provenance", "null"))
        except ValueError as error:
            raise InputError(f"{self.path / WEIGHTS}: cannot be read ({error})") from None

    def _fixed_files(self) -> list[str]:
        return [name for name in check_manifest(self.path, unchecked=[WEIGHTS]) if name != WEIGHTS]

    def pass_on_licence(self, other: "RunFolder") -> None:
        """Copy the licence of an imported model, if this is one, to a run that begins with its
        weights.
        """
        if (self.path / LICENCE).exists():
            shutil.copyfile(self.path / LICENCE, other.path / LICENCE)


def check_free(path: str | Path) -> None:
    """Raise InputError unless the folder `path` is free for a new run: nothing is overwritten."""
    path = Path(path)
    if (path / SETTINGS).exists():
        raise InputError(
            f"{path} already exists and holds a run; choose another folder, or resume it: minitransformer train "
            f"--resume {quote_path(path)}, or in Python: train(Run.open({str(path)!r}), ..., resume=True)"
        )
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path} already exists and is not an empty folder; choose another")


def check_is_run(path: Path) -> None:
    """Raise InputError unless there is a run in the folder `path`."""
    if _is_pretrained(path):
        raise InputError(
            f"{path}: a pretrained model, not a run; first run minitransformer import "
            f"{quote_path(path)} --run DIR"
        )
    if not (path / SETTINGS).is_file():
        raise InputError(
            f"{path}: no run here (no {SETTINGS}); give a folder that minitransformer train wrote"
        )


def _is_pretrained(path: Path) -> bool:
    """Whether it is a GGUF file or a Hugging Face folder."""
    config = path / SETTINGS
    try:
        return path.suffix == ".gguf" or (
            config.is_file() and b'"model_type"' in config.read_bytes()
        )
    except OSError:  # whoever opens the run says so
        return False
