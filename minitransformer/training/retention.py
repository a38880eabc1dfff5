"""The checkpoints that a run keeps, and the weights that it ends with."""

from minitransformer.backend import Array
from minitransformer.training import checkpoint


def regular(steps, config) -> list[int]:
    """Those checkpoints at `steps` that may be averaged: not the ones that Ctrl-C added in between."""
    kept = [step for step in steps if step and (step % config.validate_every == 0 or step == config.steps)]
    return kept[:config.average]


def forget_old(run_folder, config, step, best_step) -> None:
    """Remove the checkpoints that are no longer needed once that of `step` is saved."""
    steps = [old for old in checkpoint.steps(run_folder) if old <= step]    # later ones are damaged
    best = {best_step} if config.patience else set()
    checkpoint.keep_only(run_folder, {*steps[:2], *regular(steps, config), *best})


def averaged_weights(run_folder, config) -> tuple[dict[str, Array], int]:
    """(the mean weights of the last regular checkpoints, their number): section 6.1 of the paper."""
    found = [whole.weights for whole in checkpoint.undamaged(run_folder, regular(checkpoint.steps(run_folder), config))]
    return {name: sum(weights[name] / len(found) for weights in found) for name in found[0]}, len(found)


def best_weights(run_folder, log) -> dict[str, Array]:
    """The weights of the checkpoint with the lowest validation loss in the log."""
    losses = {record["step"]: record["valid_nll"] for record in log if "valid_nll" in record}
    best_first = sorted(losses.keys() & set(checkpoint.steps(run_folder)), key=lambda step: (losses[step], step))
    return next(checkpoint.undamaged(run_folder, best_first)).weights
