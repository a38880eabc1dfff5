"""Mistakes in dropout and in the residual connection."""

import numpy as np

from minitransformer.functional import dropout_backward
from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.right import decoder_layer, dropout, encoder_layer, leave, leave_forward
from tests.course.doctor.mistakes.seen.dropout_residual import mask_for
from tests.course.doctor.mistakes.words import IN_PLACE, MISSING, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

BUFFERS = {}

mask_ignored = lambda dy, cache: dy
scale_divided = dropout(lambda dy, mask: dy * (mask > 0) / mask.max())
dropped_for_kept = dropout(lambda dy, mask: dy * (mask == 0) * mask.max())


@right.dropout_forward
def forward_own_numbers(x, dropout_rate, rng):
    mask = mask_for(x, dropout_rate, np.random)
    return x * mask, mask


@right.dropout_forward
def forward_unscaled(x, dropout_rate, rng):
    keep = rng.random(x.shape) >= dropout_rate
    return x * keep, keep / (1 - dropout_rate)


@right.dropout_forward
def forward_one_object(x, dropout_rate, rng):
    """One mask for all places of a shape: who asks for it later finds the last one."""
    mask = BUFFERS.setdefault(x.shape, np.empty(x.shape))
    mask[...] = mask_for(x, dropout_rate, rng)
    return x * mask, mask


averaged = encoder_layer(lambda dx, dh: (dx + dh) / 2)
norm_skipped = leave(post=False)
pre_norm_skipped = encoder_layer(pre=False)
others_zero = decoder_layer(np.zeros_like)
sublayer_gets_undropped_sum = leave(drop=lambda d, cache: dropout_backward(dropout_backward(d, cache), cache))


MISTAKES = [
    makers.dropout("dropout-mask-ignored", mask_ignored, ("mask", "dropout"), (*MISSING, "unchanged", "as it is")),
    makers.dropout("dropout-scale-divided", scale_divided, ("scal", "1 / (1 - ", "1 - ", "factor", "keep"),
            (*SIGN, "divid", "multipl", "inverse", "too small", "instead", "times")),
    makers.dropout("dropout-new-mask",
            ("dy * cache.mask", "dy * (np.random.default_rng().random(dy.shape) < (cache.mask > 0).mean()) * cache.mask.max()"),
            RANDOM),
    makers.dropout("dropout-dropped-for-kept", dropped_for_kept, ("mask", "dropped", "kept"),
            ("invert", "complement", "opposite", "swap", "instead", "exactly where", "wrong way", "where", "1 - ")),
    makers.dropout_forward("dropout-forward-own-numbers", forward_own_numbers, (*RANDOM, "rng")),
    makers.dropout_forward("dropout-forward-unscaled", forward_unscaled, ("scal", "1 / (1 - ", "1/(1 - ", "keep", "factor")),
    makers.dropout_forward("dropout-one-object", forward_one_object, ("mask", "dropout", "cache"),
            ("shared", "overwr", "last", "other", "another", "same", "later", "in place", "in-place", "reuse", "changed"),
            block="encoder-layer", comment="numpy-transformer: one Dropout object in several places of a layer"),
    makers.encoder_layer("residual-sublayer-twice", encoder_layer(lambda dx, dh: dx + 2 * dh), SUBLAYER, TWICE),
    makers.encoder_layer("residual-averaged", averaged, ("half", "averag", "mean", "halv", "0.5", "1/2", "divided by 2", "factor 2", "twice")),
    makers.residual("residual-norm-skipped", norm_skipped, ("norm",), MISSING),
    makers.encoder_layer_pre_norm("residual-pre-norm-skipped", pre_norm_skipped, ("norm",), MISSING),
    makers.encoder_layer_pre_norm("residual-shortcut-forgotten-pre-norm", encoder_layer(lambda dx, dh: dh), SKIP, MISSING),
    makers.decoder_layer("residual-others-zero", others_zero, ("memory", "other", "encoder", "cross"), MISSING),
    makers.residual("residual-dropout-twice", sublayer_gets_undropped_sum, ("dropout", "mask", "scale"), TWICE),
    makers.residual_forward("residual-forward-in-place", leave_forward(lambda x, h: np.add(x, h, out=x)), IN_PLACE),
]
