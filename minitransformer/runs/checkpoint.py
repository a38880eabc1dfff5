"""Checkpoints, from which a stopped run resumes as if it had never stopped; and snapshots, weights
kept for the explorer.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.numpy import load as from_bytes, save as to_bytes

from minitransformer.backend import Array, to_host
from minitransformer.errors import InputError
from minitransformer.files import (
    check_manifest,
    make_folder,
    sync_folder,
    write_durably,
    write_manifest,
)
from minitransformer.interchange.weights import WeightsFile
from minitransformer.stderr import stderr
from minitransformer.runs.log import parse_log

FOLDER, SNAPSHOTS = "checkpoints", "snapshots"
FILES = ("weights.safetensors", "optimizer.safetensors", "state.json", "metrics.jsonl")
STATE = {
    "position": object,
    "terms": int,
    "best_step": int | None,
    "best_nll": float | None,
    "worse": int,
}  # in state.json


class Checkpoint(NamedTuple):
    step: int
    weights: dict  # {parameter name: array}
    # {"m": (P,), "v": (P,), "loss": (), "nll": ()}; the last two: sums since the last line of the
    # log
    optimizer: dict
    state: dict  # the rest of the trainer's state, as JSON
    metrics: bytes  # the log so far


def save(run_folder, checkpoint) -> None:
    """Write a Checkpoint as the folder checkpoints/step-N, which gets its name only once it is
    complete.
    """
    folder = run_folder / FOLDER
    new, final = folder / "new", _folder(run_folder, checkpoint.step)
    files = {
        "weights.safetensors": to_bytes(
            {name: to_host(a) for name, a in checkpoint.weights.items()}
        ),
        "optimizer.safetensors": to_bytes(
            {name: to_host(a) for name, a in checkpoint.optimizer.items()}
        ),
        "state.json": json.dumps(checkpoint.state, indent=1).encode(),
        "metrics.jsonl": checkpoint.metrics,
    }
    shutil.rmtree(new, ignore_errors=True)  # left by a process that was killed while saving
    try:
        make_folder(folder)
        new.mkdir()
        for name, data in files.items():
            write_durably(new / name, data)
        write_manifest(new, files)
        shutil.rmtree(final, ignore_errors=True)  # a damaged checkpoint of the same step
        os.rename(new, final)
    finally:
        shutil.rmtree(new, ignore_errors=True)  # it still exists only if something failed
    sync_folder(folder)


def steps(run_folder) -> list[int]:
    """The steps of all checkpoints in a run folder, damaged or not, the newest first.

    Raises OSError if the folder of checkpoints cannot be read: it may be full of them.
    """
    try:
        names = os.listdir(run_folder / FOLDER)
    except FileNotFoundError:
        return []
    return sorted(
        (int(name[5:]) for name in names if name.startswith("step-") and name[5:].isdigit()),
        reverse=True,
    )


def load(run_folder, step) -> Checkpoint:
    """The Checkpoint of a step. Raises InputError, naming the file, if one is damaged, missing or
    not a checkpoint's.
    """
    folder = _folder(run_folder, step)
    check_manifest(folder)
    read = {name: (folder / name).read_bytes() for name in FILES}
    try:
        found = Checkpoint(
            step,
            from_bytes(read["weights.safetensors"]),
            from_bytes(read["optimizer.safetensors"]),
            json.loads(read["state.json"]),
            read["metrics.jsonl"],
        )
        parse_log(found.metrics.decode())
        parameters = sum(array.size for array in found.weights.values())
        sizes = {"m": parameters, "v": parameters, "loss": 1, "nll": 1}
        if not (
            all(isinstance(found.state[name], kind) for name, kind in STATE.items())
            and all(found.optimizer[name].size == size for name, size in sizes.items())
        ):
            raise ValueError(f"expected {', '.join(STATE)}, and m and v of {parameters:,} numbers")
    except (
        SafetensorError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        RecursionError,
    ) as error:
        raise InputError(f"{folder}: not the checkpoint of a training run ({error})") from None
    return found


def newest(run_folder) -> Checkpoint | None:
    """The newest intact Checkpoint, or None."""
    return next(undamaged(run_folder, steps(run_folder)), None)


def undamaged(run_folder, steps) -> Iterator[Checkpoint]:
    """Yield the intact Checkpoints of `steps`; damaged ones are reported on stderr."""
    for step in steps:
        try:
            found = load(run_folder, step)
        except (
            InputError,
            FileNotFoundError,
        ) as error:  # the latter: a process that trains the run has just removed it
            print(f"{error}; skipped", file=stderr)
        else:
            yield found


def regular(steps, config) -> list[int]:
    """Those checkpoints at `steps` that may be averaged: not the ones that Ctrl-C added in between."""
    kept = [
        step
        for step in steps
        if step and (step % config.validate_every == 0 or step == config.steps)
    ]
    return kept[: config.average]


def forget_old(run_folder, config, step, best_step) -> None:
    """Remove the checkpoints that are no longer needed once that of `step` is saved."""
    known, old = steps(run_folder), run_folder / FOLDER / "old"
    intact = [other for other in known if other <= step]  # later ones are damaged
    for other in set(known) - {
        *intact[:2],
        *regular(intact, config),
        *({best_step} if config.patience else ()),
    }:
        shutil.rmtree(old, ignore_errors=True)
        os.rename(
            _folder(run_folder, other), old
        )  # a partial checkpoint never has a checkpoint's name
        shutil.rmtree(old, ignore_errors=True)


def averaged_weights(run_folder, config) -> tuple[dict[str, Array], int]:
    """(the mean weights of the last regular checkpoints, their number): section 6.1 of the paper."""
    found = [whole.weights for whole in undamaged(run_folder, regular(steps(run_folder), config))]
    return {name: sum(weights[name] / len(found) for weights in found) for name in found[0]}, len(
        found
    )


def best_weights(run_folder, log) -> dict[str, Array]:
    """The weights of the checkpoint with the lowest validation loss in the log."""
    losses = {record["step"]: record["valid_nll"] for record in log if "valid_nll" in record}
    best_first = sorted(
        losses.keys() & set(steps(run_folder)), key=lambda step: (losses[step], step)
    )
    return next(undamaged(run_folder, best_first)).weights


# ---- snapshots: they do not count for averaging or resuming


def save_snapshot(run_folder, step, model) -> None:
    """Write the weights of `step`, 0 for the initial ones."""
    make_folder(run_folder / SNAPSHOTS)
    write_durably(
        _snapshot(run_folder, step),
        to_bytes({name: to_host(one.data) for name, one in model.parameters().items()}),
    )


def snapshot_steps(run_folder) -> list[int]:
    """The steps of all snapshots in a run folder, the first one first."""
    names = [
        path.stem.removeprefix("step-")
        for path in (run_folder / SNAPSHOTS).glob("step-*.safetensors")
    ]
    return sorted(int(name) for name in names if name.isdigit())


def load_snapshot(run_folder, step) -> dict:
    """{parameter name: array}. Raises InputError if the file is damaged."""
    try:
        return dict(WeightsFile(_snapshot(run_folder, step), "a snapshot of weights"))
    except InputError as error:
        raise InputError(f"{error}; delete it") from None


def _snapshot(run_folder, step) -> Path:
    return run_folder / SNAPSHOTS / f"step-{step:08d}.safetensors"


def _folder(run_folder, step) -> Path:
    return run_folder / FOLDER / f"step-{step:08d}"
