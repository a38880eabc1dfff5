"""Cross-entropy with label smoothing (section 5.4 of the paper), from logits."""

from typing import NamedTuple

import numpy as np

from minitransformer.backend import Array, module_of, to_device
from minitransformer.checks import check_dloss, check_floats, check_fraction, check_ids, is_integer
from minitransformer.errors import InputError
from minitransformer.dispatch import replaceable


class CrossEntropyCache(NamedTuple):
    p: Array                # (..., V) softmax of the logits
    targets: Array          # (...) the correct token ids
    real: Array             # (...) bool: where the target is not padding
    smoothing: float
    count: Array            # type: ignore[assignment]    # () how many targets are real; tuple has a method of that name
    log_likelihood: Array   # (...) log p of each target, 0 at padding: its sum gives the perplexity


@replaceable
def cross_entropy_forward(logits: Array, targets: Array, smoothing: float = 0.0, *,
                          padding: int | None) -> tuple[Array, CrossEntropyCache]:
    """The summed loss -sum_i q_i log p_i over the real targets; cache.count is their number.

    logits: (..., V); targets: (...) ids. q puts 1 - smoothing on the target and spreads
    `smoothing` evenly over all V classes. padding: the id that marks a missing target, such as PAD; None if
    every class counts. The training step divides by the count: sums can be added over the shards of a batch.
    Raises InputError for targets that do not fit the logits.
    """
    check_floats("cross-entropy: logits", logits, ..., "V")
    check_targets(targets, logits.shape, smoothing, padding)
    xp = module_of(logits)
    targets = to_device(targets, xp)                                             # (...)
    shifted = logits - logits.real.max(axis=-1, keepdims=True)                   # (..., V)
    target = xp.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]    # (...)
    mean = shifted.mean(axis=-1) if smoothing else 0                             # (...)
    with np.errstate(under="ignore"):                                            # far below the peak, 0 is meant
        p = xp.exp(shifted, out=shifted)                                         # in place: target and mean are known
        total = p.sum(axis=-1, keepdims=True)                                    # (..., 1)
        p /= total
    log_total = xp.log(total[..., 0])                                            # log p_i = shifted_i - log_total
    real = xp.ones(targets.shape, bool) if padding is None else targets != padding
    log_likelihood = (target - log_total) * real
    # With smoothing s: sum_i q_i log p_i = (1 - s) log p_target + s mean_i(log p_i).
    loss = -(1 - smoothing) * log_likelihood.sum() - smoothing * ((mean - log_total) * real).sum()
    return loss, CrossEntropyCache(p, targets, real, smoothing, real.sum(), log_likelihood)


def check_targets(targets: Array, shape: tuple[int, ...],
                  smoothing: float, padding: int | None) -> None:
    """Raise InputError unless `targets` are ids for logits of that shape, `smoothing` a share and `padding` an id or None."""
    check_fraction("smoothing", smoothing)
    if padding is not None and not is_integer(padding, 0):
        raise InputError(f"cross-entropy: padding is {padding!r}, expected the id of missing targets, such as PAD, or None")
    check_ids("cross-entropy: targets", targets, shape[-1])
    if shape[:-1] != targets.shape:
        raise InputError(f"cross-entropy: targets has shape {targets.shape}, "
                         f"expected {shape[:-1]} for logits of shape {shape}")


@replaceable
def cross_entropy_backward(dloss: float | Array, cache: CrossEntropyCache) -> Array:
    """dlogits = (p - q) dloss, and 0 at padding.

    From log p_i = x_i - log sum_j exp(x_j): ∂(-sum_i q_i log p_i)/∂x_j = p_j - q_j, as q sums to 1.
    """
    check_dloss(dloss)
    p, targets, real, smoothing, _, _ = cache
    size = p.shape[-1]
    dlogits = p.reshape(-1, size) - smoothing / size             # (tokens, V)
    dlogits[module_of(p).arange(len(dlogits)), targets.reshape(-1)] -= 1 - smoothing
    dlogits *= real.reshape(-1, 1) * dloss
    return dlogits.reshape(p.shape)
