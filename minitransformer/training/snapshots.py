"""Weights kept along the way for `minitransformer explore`. They do not count for averaging or resuming."""

from pathlib import Path

from minitransformer.backend import to_host
from minitransformer.errors import InputError
from minitransformer.files import make_folder, write_durably

FOLDER = "snapshots"


def save(run_folder, step, model) -> None:
    """Write the weights of `step`, 0 for the initial ones."""
    from safetensors.numpy import save as to_bytes

    make_folder(run_folder / FOLDER)
    write_durably(_path(run_folder, step), to_bytes({name: to_host(one.data) for name, one in model.parameters().items()}))


def steps(run_folder) -> list[int]:
    """The steps of all snapshots in a run folder, the first one first."""
    names = [path.stem.removeprefix("step-") for path in (run_folder / FOLDER).glob("step-*.safetensors")]
    return sorted(int(name) for name in names if name.isdigit())


def load(run_folder, step) -> dict:
    """{parameter name: array}. Raises InputError if the file is damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    path = _path(run_folder, step)
    try:
        return from_bytes(path.read_bytes())
    except (OSError, SafetensorError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: not a snapshot of weights ({error}); delete it") from None


def _path(run_folder, step) -> Path:
    return run_folder / FOLDER / f"step-{step:08d}.safetensors"
