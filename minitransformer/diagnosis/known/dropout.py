"""Dropout: dx = dy mask, where the mask is 0 for dropped elements and 1 / (1 - rate) for the others."""

from collections.abc import Callable

from minitransformer.backend import Array
from minitransformer.diagnosis.mistakes import mistake


def with_mask(change) -> Callable:
    return lambda dy, cache: dy if cache.mask is None else change(dy, cache.mask)


for sentence, change in (
        ("the dropout mask is not applied in backward: dx = dy (the mask is forgotten, dropout is skipped)",
         lambda dy, mask: dy),
        ("the dropout's scale 1 / (1 - rate) is forgotten in backward: the mask is applied without it (only zeros and "
         "ones)",
         lambda dy, mask: dy * (mask > 0)),
        ("the dropout mask and its scale 1 / (1 - rate) are applied twice (squared)",
         lambda dy, mask: dy * mask * mask),
        ("the dropout's scale is inverted: multiplied by 1 - rate, not divided by it",
         lambda dy, mask: dy * (mask > 0) / mask.max(initial=1)),
        ("the dropout mask is not applied in backward, only its scale 1 / (1 - rate)",
         lambda dy, mask: dy * mask.max(initial=1)),
        ("the dropout mask is inverted: dropped elements get the gradient, kept ones get none, with the scale",
         lambda dy, mask: dy * (mask == 0) * mask.max(initial=1)),
        ("the dropout mask is inverted (complement): dropped elements get the gradient, kept ones get none",
         lambda dy, mask: dy * (mask == 0)),
        ("the scale is 1 / rate, not 1 / (1 - rate)",
         lambda dy, mask: dy * (mask > 0) / max(1 - 1 / mask.max(initial=1), 1e-9)),
        ("the scale is the rate, not 1 / (1 - rate)", lambda dy, mask: dy * (mask > 0) * (1 - 1 / mask.max(initial=1))),
        ("one mask is shared by the whole batch: the first sentence's dropout mask is used for every one",
         lambda dy, mask: dy * mask[:1]),
        ("one mask is shared by the whole batch: the last sentence's dropout mask is used for every one",
         lambda dy, mask: dy * mask[-1:]),
        ("one mask is shared by all positions: the first position's dropout mask is used for every one",
         lambda dy, mask: dy * mask[..., :1, :]),
        ("the dropout mask is reversed or flipped along the last axis", lambda dy, mask: dy * mask[..., ::-1]),
        ("dropout is scaled by sqrt(1 / (1 - rate)), not 1 / (1 - rate)",
         lambda dy, mask: dy * mask / mask.max(initial=1) ** 0.5)):
    mistake("dropout", sentence)(with_mask(change))


@mistake("dropout",
         "the exact rate scales the gradient in backward, but the forward's mask has the rounded scale 256 / (256 - k)")
def exact_rate(dy, cache, dropout_rate) -> Array:
    return dy if cache.mask is None else dy * (cache.mask > 0) / (1 - dropout_rate)
