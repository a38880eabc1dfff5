"""Mistakes in dropout and in the residual connection."""

import numpy as np

from minitransformer.functional import dropout_backward
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.makers import DECODER_LAYER, ENCODER_LAYER, RESIDUAL
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import decoder_layer, dropout, encoder_layer, leave, leave_forward
from tests.course.doctor.mistakes.seen.dropout_residual import mask_for
from tests.course.doctor.mistakes.words import IN_PLACE, MISSING, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

BUFFERS = {}

mask_ignored = lambda dy, cache: dy
scale_divided = dropout(lambda dy, mask: dy * (mask > 0) / mask.max())
dropped_for_kept = dropout(lambda dy, mask: dy * (mask == 0) * mask.max())


@dropout
def new_mask(dy, mask):
    keep = np.random.default_rng().random(dy.shape) < (mask > 0).mean()
    return dy * keep * mask.max()


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


sublayer_twice = encoder_layer(lambda dx, dh: dx + 2 * dh)
averaged = encoder_layer(lambda dx, dh: (dx + dh) / 2)
norm_skipped = leave(post=False)
pre_norm_skipped = encoder_layer(pre=False)
others_zero = decoder_layer(np.zeros_like)
sublayer_gets_undropped_sum = leave(drop=lambda d, cache: dropout_backward(dropout_backward(d, cache), cache))
forward_in_place = leave_forward(lambda x, h: np.add(x, h, out=x))
shortcut_forgotten_pre_norm = encoder_layer(lambda dx, dh: dh)


MISTAKES = [
    Mistake("dropout-mask-ignored", "dropout_backward", mask_ignored, "dropout", (("mask", "dropout"), (*MISSING, "unchanged", "as it is"))),
    Mistake("dropout-scale-divided", "dropout_backward", scale_divided, "dropout",
            (("scal", "1 / (1 - ", "1 - ", "factor", "keep"), (*SIGN, "divid", "multipl", "inverse", "too small", "instead", "times"))),
    Mistake("dropout-new-mask", "dropout_backward", new_mask, "dropout", (RANDOM,)),
    Mistake("dropout-dropped-for-kept", "dropout_backward", dropped_for_kept, "dropout",
            (("mask", "dropped", "kept"), ("invert", "complement", "opposite", "swap", "instead", "exactly where", "wrong way", "where", "1 - "))),
    Mistake("dropout-forward-own-numbers", "dropout_forward", forward_own_numbers, "dropout", ((*RANDOM, "rng"),)),
    Mistake("dropout-forward-unscaled", "dropout_forward", forward_unscaled, "dropout",
            (("scal", "1 / (1 - ", "1/(1 - ", "keep", "factor"),)),
    Mistake("dropout-one-object", "dropout_forward", forward_one_object, "encoder-layer",
            (("mask", "dropout", "cache"), ("shared", "overwr", "last", "other", "another", "same", "later", "in place", "in-place", "reuse", "changed")),
            comment="numpy-transformer: one Dropout object in several places of a layer"),
    Mistake("residual-sublayer-twice", ENCODER_LAYER, sublayer_twice, "encoder-layer", (SUBLAYER, TWICE)),
    Mistake("residual-averaged", ENCODER_LAYER, averaged, "encoder-layer", (("half", "averag", "mean", "halv", "0.5", "1/2", "divided by 2", "factor 2", "twice"),)),
    Mistake("residual-norm-skipped", RESIDUAL + "backward", norm_skipped, "residual", (("norm",), MISSING)),
    Mistake("residual-pre-norm-skipped", ENCODER_LAYER, pre_norm_skipped, "encoder-layer-pre-norm", (("norm",), MISSING),
            in_model="transformer-pre-norm"),
    Mistake("residual-shortcut-forgotten-pre-norm", ENCODER_LAYER, shortcut_forgotten_pre_norm, "encoder-layer-pre-norm",
            (SKIP, MISSING), in_model="transformer-pre-norm"),
    Mistake("residual-others-zero", DECODER_LAYER, others_zero, "decoder-layer",
            (("memory", "other", "encoder", "cross"), MISSING)),
    Mistake("residual-dropout-twice", RESIDUAL + "backward", sublayer_gets_undropped_sum, "residual", (("dropout", "mask", "scale"), TWICE)),
    Mistake("residual-forward-in-place", RESIDUAL + "forward", forward_in_place, "residual", (IN_PLACE,)),
]
