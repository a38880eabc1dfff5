"""From a pretrained model's files to a run folder."""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minitransformer.data.special import EOS
from minitransformer.decoding import generate
from minitransformer.errors import InputError
from minitransformer.files import check_regular
from minitransformer.interchange.weights import check_finite
from minitransformer.layers.initial import undrawn
from minitransformer.models import LanguageModelConfig
from minitransformer.runs.folder import LICENCE, RunFolder, check_free
from minitransformer.runs.run import Run
from minitransformer.runs.settings import UNREADABLE, RunSettings
from minitransformer.tasks.language import Language
from minitransformer.zoo.pretrained import gguf_file, hugging_face
from minitransformer.zoo.pretrained.checkpoint import Checkpoint, Tensor
from minitransformer.zoo.pretrained.decodes import check_decodes
from minitransformer.zoo.pretrained.vocabulary import PretrainedVocabulary

WINDOW, BATCH = 512, 4  # what `evaluate` reads at once


def import_model(
    path: str | Path, folder: str | Path, report: Callable[[str], Any] = lambda line: None
) -> Run:
    """Make the run folder `folder` of the pretrained model at `path`: a Hugging Face folder, or a
    GGUF file.

    Each array is read, checked and written on its own; the run is then loaded, and asked for a
    token, before it gets its name. `report(line)` is called with what the tokenizer does
    differently here. Raises InputError, and leaves nothing behind, if anything in the files cannot
    be used.
    """
    check_free(folder)
    path, folder = Path(path), Path(folder)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    new = folder.with_name(f".{folder.name}.{os.getpid()}.import")
    try:
        notes = _write(path, new)
        run = _tried(new, path)
        os.replace(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    run.folder = RunFolder(folder)
    for note in notes:
        report(note)
    return run


def _write(path: Path, folder: Path) -> list[str]:
    """Make the run folder. Returns what the tokenizer does differently here."""
    source, config, tensors, vocabulary, notes = _read(path)
    task = Language(
        train=[],
        valid=[],
        vocabulary="subwords",
        window=min(WINDOW, config.max_length),
        batch=BATCH,
    )
    settings = RunSettings(task, "language-model", config, "pretrained")
    try:
        with undrawn():
            settings.make_model()
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    run = Run.make(folder, settings, vocabulary)
    shapes = {tensor.ours: (np.float32, _shape(tensor)) for tensor in tensors}
    provenance = {"imported_from": str(path), "licence": source.licence}
    run.folder.write_weights(shapes, _arrays(tensors, source, vocabulary.rows), provenance)
    about = f"{path.name}: {source.licence or 'its files name no licence'}\n\n{source.licence_text}"
    (folder / LICENCE).write_text(about, encoding="utf-8")
    return notes


def _read(
    path: Path,
) -> tuple[Checkpoint, LanguageModelConfig, list[Tensor], PretrainedVocabulary, list[str]]:
    """What is at `path`: its files, the configuration, the arrays that it has, the vocabulary, and
    what the tokenizer does differently here.
    """
    try:
        for file in (path, *path.glob("*")):
            check_regular(file, "a Hugging Face folder or a GGUF file")
        source = hugging_face.read(path) if path.is_dir() else gguf_file.read(path)
        config = source.architecture.configuration(source.options)
        source.options.finish()
        tensors = _checked(source.architecture.tensors(config), source, path)
        vocabulary = PretrainedVocabulary.arrange(size=config.vocab_size, **source.vocabulary)
        return (
            source,
            config,
            tensors,
            vocabulary,
            [*source.notes, *check_decodes(vocabulary, path)],
        )
    except InputError:
        raise
    except UNREADABLE as error:  # JSON of another form than expected
        raise InputError(f"{path}: cannot be read ({type(error).__name__}: {error})") from None


def _tried(folder: Path, path: Path) -> Run:
    """The run in `folder` as every command loads it, once it has written a token."""
    try:
        run = Run.load(folder)
        for _ in generate(run.model, [EOS], 1, np.random.default_rng(0), ends=True):
            pass
    except InputError as error:
        raise InputError(
            f"{path}: what was imported cannot be used: {str(error).removeprefix(f'{folder}: ')}"
        ) from None
    return run


def _checked(expected: Iterable[Tensor], source: Checkpoint, path: Path) -> list[Tensor]:
    """The expected Tensors, with their names in the file. Raises InputError unless the file has
    them and no others, before any is read.
    """
    arrays, used, tensors = source.arrays, set(), []
    for tensor in expected:  # one by one: a damaged file may say that there are millions of layers
        name = arrays.find(tensor.theirs)
        if name is None or name not in arrays:
            raise InputError(f"{path}: the array {name or tensor.theirs} is missing")
        if arrays.shape_of(name) != tensor.shape:
            raise InputError(
                f"{path}: {name} has shape {arrays.shape_of(name)}, expected {tensor.shape}"
            )
        used.add(name)
        tensors.append(tensor._replace(theirs=name))
    head = arrays.find("lm_head.weight")
    for name in sorted(set(arrays) - used):
        # a copy of the embedding
        copied = name == head and np.array_equal(arrays[name], arrays[tensors[0].theirs])
        if not copied and not re.fullmatch(
            f"({source.architecture.PREFIX})?{source.architecture.BUFFERS}", name
        ):
            raise InputError(
                f"{path}: the array {name} belongs to nothing that is known here, and may change the results"
            )
    return tensors


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a parameter here."""
    if tensor.part is not None:
        return *tensor.shape[:-1], tensor.shape[-1] // 3
    return tensor.shape[::-1] if tensor.transposed else tensor.shape


def _arrays(tensors: Iterable[Tensor], source: Checkpoint, rows: list[int]) -> Iterator[np.ndarray]:
    moved = rows != sorted(rows)
    for tensor in tensors:
        array = source.arrays[tensor.theirs]
        check_finite(tensor.theirs, array)
        if array.dtype == np.float64:
            with np.errstate(over="ignore"):
                array = array.astype(np.float32)
            if not np.isfinite(array).all():
                raise InputError(f"{tensor.theirs} contains a number that is too large for float32")
        if tensor.part is not None:
            array = np.split(array, 3, axis=-1)[tensor.part]
        if tensor.of_tokens and moved:
            array = array[rows]
        yield (array.T if tensor.transposed else array).astype(np.float32, copy=False)
