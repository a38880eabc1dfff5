"""Checkpoints, from which a stopped run resumes as if it had never stopped."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minitransformer.backend import Array
from minitransformer.errors import InputError, counted
from minitransformer.files import (
    MALFORMED,
    check_manifest,
    free_name,
    make_folder,
    sync_folder,
    write_durably,
    write_manifest,
)
from minitransformer.interchange.weights import from_bytes, to_bytes
from minitransformer.runs.config import TrainingConfig
from minitransformer.runs.log import parse_log
from minitransformer.stderr import stderr

FOLDER = "checkpoints"
FILES = ("weights.safetensors", "optimizer.safetensors", "state.json", "metrics.jsonl")
STATE = {  # {what is in state.json: its type}
    "position": object,
    "terms": int,
    "best_step": int | None,
    "best_nll": float | None,
    "worse": int,
}
UNREADABLE_NAME = ".unreadable"  # behind the name of a checkpoint that a resumed run left out


class Checkpoint(NamedTuple):
    step: int
    weights: Mapping[str, Array]  # {parameter name: array}
    # {"m": (P,), "v": (P,), "loss": (), "nll": ()}; the last two: sums since the last line of the log
    optimizer: Mapping[str, Array]
    state: dict[str, Any]  # STATE, and whether this step's validation comes next: "validate"
    metrics: bytes  # the log so far


def save(run_folder: Path, checkpoint: Checkpoint) -> None:
    """Write a Checkpoint as the folder checkpoints/step-N, which gets its name only once it is
    complete.
    """
    folder = run_folder / FOLDER
    new = folder / "new"
    state = {"step": checkpoint.step, **checkpoint.state}
    files = {
        "weights.safetensors": to_bytes(checkpoint.weights),
        "optimizer.safetensors": to_bytes(checkpoint.optimizer),
        "state.json": json.dumps(state, indent=1).encode(),
        "metrics.jsonl": checkpoint.metrics,
    }
    shutil.rmtree(new, ignore_errors=True)  # left by a process that was killed while saving
    try:
        make_folder(folder)
        new.mkdir()
        for name, data in files.items():
            write_durably(new / name, data)
        write_manifest(new, files)
        set_aside(run_folder, [checkpoint.step])
        os.rename(new, _folder(run_folder, checkpoint.step))
    finally:
        shutil.rmtree(new, ignore_errors=True)  # it still exists only if something failed
    sync_folder(folder)


def steps(run_folder: Path) -> list[int]:
    """The steps of all checkpoints in a run folder, damaged or not, the newest first.

    Raises OSError if the folder of checkpoints cannot be read: it may be full of them.
    """
    try:
        names = os.listdir(run_folder / FOLDER)
    except FileNotFoundError:
        return []
    numbers = [name.removeprefix("step-") for name in names if name.startswith("step-")]
    return sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)


def load(run_folder: Path, step: int) -> Checkpoint:
    """The Checkpoint of a step. Raises InputError, naming the file, if one is damaged, missing or
    not a checkpoint's.
    """
    folder = _folder(run_folder, step)
    check_manifest(folder)
    read = {name: (folder / name).read_bytes() for name in FILES}
    try:
        state = json.loads(read["state.json"])
        saved = state.pop("step", step)  # older versions did not write it
        found = Checkpoint(
            saved,
            from_bytes(read["weights.safetensors"]),
            from_bytes(read["optimizer.safetensors"]),
            state,
            read["metrics.jsonl"],
        )
        _check(found, folder)
    except InputError:
        raise
    except MALFORMED as error:
        raise InputError(f"{folder}: not the checkpoint of a training run ({error})") from None
    if saved != step:
        raise InputError(f"{folder}: the checkpoint of step {saved}, renamed")
    return found


def _check(found: Checkpoint, folder: Path) -> None:
    """Raise InputError unless training can resume from it."""
    parse_log(found.metrics.decode())
    for name, kind in STATE.items():
        if name not in found.state or not isinstance(found.state[name], kind):
            raise InputError(f"{folder / 'state.json'}: {name} is not that of a training run")
    parameters = sum(array.size for array in found.weights.values())
    for name, size in {"m": parameters, "v": parameters, "loss": 1, "nll": 1}.items():
        if found.optimizer[name].size != size:
            raise InputError(
                f"{folder / 'optimizer.safetensors'}: {name}: expected {counted(size, 'number')}"
            )


def newest(run_folder: Path) -> Checkpoint | None:
    """The newest intact Checkpoint, after a report on stderr of the ones that are not; None if
    there are none. Raises InputError, naming a file, if none of them can be read.
    """
    found, problems = steps(run_folder), []
    for step in found:
        last = _try(run_folder, step, problems)
        if last:
            _report(problems)
            return last
    if not problems:
        return None
    raise InputError(
        f"{problems[0]}; none of the run's {counted(len(problems), 'checkpoint')} can be read, and nothing was "
        f"changed. To start again at step 1, rename {run_folder / FOLDER}, then resume"
    )


def undamaged(run_folder: Path, steps: Iterable[int]) -> Iterator[Checkpoint]:
    """Yield the intact Checkpoints of `steps`; damaged ones are reported on stderr."""
    for step in steps:
        problems: list[str] = []
        found = _try(run_folder, step, problems)
        _report(problems)
        if found:
            yield found


def _try(run_folder: Path, step: int, problems: list[str]) -> Checkpoint | None:
    """The Checkpoint of a step; None, and one more of the problems, if it is not intact."""
    try:
        return load(run_folder, step)
    # the latter: a process that trains the run has just removed it
    except (InputError, FileNotFoundError) as error:
        problems.append(str(error))
        return None


def _report(problems: list[str]) -> None:
    for problem in problems:
        print(f"{problem}; skipped", file=stderr)


def set_aside(run_folder: Path, steps: Iterable[int]) -> None:
    """Rename what is there instead of checkpoints of `steps`: training goes on without it, but
    never deletes it.
    """
    for step in steps:
        folder = _folder(run_folder, step)
        if folder.exists():
            kept = free_name(folder.with_name(folder.name + UNREADABLE_NAME))
            os.rename(folder, kept)
            print(f"{folder} is kept as {kept.name}", file=stderr)


def regular(steps: Iterable[int], config: TrainingConfig) -> list[int]:
    """Those checkpoints at `steps` that may be averaged, not the ones that Ctrl-C added."""
    kept = [
        step
        for step in steps
        if step and (step % config.validate_every == 0 or step == config.steps)
    ]
    return kept[: config.average]


def forget_old(run_folder: Path, config: TrainingConfig, best_step: int | None) -> None:
    """Remove the checkpoints that are no longer needed: all but the last two, those that may be
    averaged, and the best one if `patience` may need it.
    """
    known = steps(run_folder)
    needed = {*known[:2], *regular(known, config)}
    if config.patience and best_step is not None:
        needed.add(best_step)
    old = run_folder / FOLDER / "old"
    for step in set(known) - needed:
        shutil.rmtree(old, ignore_errors=True)
        # a partial checkpoint never has a checkpoint's name
        os.rename(_folder(run_folder, step), old)
        shutil.rmtree(old, ignore_errors=True)


def averaged_weights(run_folder: Path, config: TrainingConfig) -> tuple[dict[str, Array], int]:
    """(the mean weights of the last regular checkpoints, their number): section 6.1 of the paper."""
    found = [whole.weights for whole in undamaged(run_folder, regular(steps(run_folder), config))]
    count = len(found)
    means: dict[str, Any] = {
        name: sum(weights[name] / count for weights in found) for name in found[0]
    }
    return means, count


def best_weights(run_folder: Path, log: list[dict[str, Any]]) -> Mapping[str, Array]:
    """The weights of the checkpoint with the lowest validation loss in the log."""
    losses = {record["step"]: record["valid_nll"] for record in log if "valid_nll" in record}
    saved = losses.keys() & set(steps(run_folder))
    best_first = sorted(saved, key=lambda step: (losses[step], step))
    return next(undamaged(run_folder, best_first)).weights


def _folder(run_folder: Path, step: int) -> Path:
    return run_folder / FOLDER / f"step-{step:08d}"
