"""Which checkpoints a run keeps, and which weights it ends with."""

from minitransformer.backend import Array
from minitransformer.training import checkpoint


def regular(steps, config) -> list[int]:
    """Of the checkpoints at `steps` those whose mean may be taken: not the ones that Ctrl-C left between two."""
    kept = [step for step in steps if step and (step % config.validate_every == 0 or step == config.steps)]
    return kept[:config.average]


def forget_old(run_folder, config, step, best_step) -> None:
    """Remove the checkpoints that are no longer needed after the one of `step`."""
    steps = [old for old in checkpoint.steps(run_folder) if old <= step]    # later ones are damaged
    best = {best_step} if config.patience else set()
    checkpoint.keep_only(run_folder, {*steps[:2], *regular(steps, config), *best})


def averaged_weights(run_folder, config) -> tuple[dict[str, Array], int]:
    """(the mean weights of the last regular checkpoints, how many they are): section 6.1 of the paper."""
    found = [whole.weights for whole in checkpoint.undamaged(run_folder, regular(checkpoint.steps(run_folder), config))]
    return {name: sum(weights[name] / len(found) for weights in found) for name in found[0]}, len(found)


def best_weights(run_folder, log) -> dict[str, Array]:
    """The weights of the checkpoint with the lowest validation loss in the log."""
    losses = {record["step"]: record["valid_nll"] for record in log if "valid_nll" in record}
    best_first = sorted(losses.keys() & set(checkpoint.steps(run_folder)), key=lambda step: (losses[step], step))
    return next(checkpoint.undamaged(run_folder, best_first)).weights
