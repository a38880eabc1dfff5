"""Snapshots: the weights of some steps, kept for the explorer. Nothing is averaged over them, and no
run resumes from them.
"""

from pathlib import Path

from minitransformer.backend import Array
from minitransformer.errors import InputError
from minitransformer.files import make_folder, write_durably
from minitransformer.interchange.weights import WeightsFile, to_bytes
from minitransformer.layers.layer import Layer

FOLDER = "snapshots"


def save_snapshot(run_folder: Path, step: int, model: Layer) -> None:
    """Write the weights of `step`, 0 for the initial ones."""
    make_folder(run_folder / FOLDER)
    weights = {name: one.data for name, one in model.parameters().items()}
    write_durably(_file(run_folder, step), to_bytes(weights))


def snapshot_steps(run_folder: Path) -> list[int]:
    """The steps of all snapshots in a run folder, the first one first."""
    paths = (run_folder / FOLDER).glob("step-*.safetensors")
    numbers = [path.stem.removeprefix("step-") for path in paths]
    return sorted(int(number) for number in numbers if number.isdecimal())


def load_snapshot(run_folder: Path, step: int) -> dict[str, Array]:
    """{parameter name: array}. Raises InputError if the file is damaged."""
    try:
        return dict(WeightsFile(_file(run_folder, step), "a snapshot of weights"))
    except InputError as error:
        raise InputError(f"{error}; delete it") from None


def _file(run_folder: Path, step: int) -> Path:
    return run_folder / FOLDER / f"step-{step:08d}.safetensors"
