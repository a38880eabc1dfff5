"""Mistakes in dropout and in the residual connection."""

import numpy as np

from minitransformer.functional import dropout_backward, dropout_forward
from minitransformer.functional.dropout import DropoutCache
from minitransformer.layers.residual import ResidualCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import RESIDUAL
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import IN_PLACE, MISSING, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

BUFFERS = {}


def mask_ignored(dy, cache):
    return dy


def scale_divided(dy, cache):
    return dy if cache.mask is None else dy * (cache.mask > 0) / cache.mask.max()


def new_mask(dy, cache):
    if cache.mask is None:
        return dy
    keep = np.random.default_rng().random(dy.shape) < (cache.mask > 0).mean()
    return dy * keep * cache.mask.max()


def dropped_for_kept(dy, cache):
    return dy if cache.mask is None else dy * (cache.mask == 0) * cache.mask.max()


def forward_own_numbers(x, dropout_rate, rng=None):
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    mask = (np.random.random(x.shape) >= dropout_rate) / (1 - dropout_rate)
    return x * mask, DropoutCache(mask)


def forward_unscaled(x, dropout_rate, rng=None):
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    keep = rng.random(x.shape) >= dropout_rate
    return x * keep, DropoutCache(keep / (1 - dropout_rate))


def forward_one_object(x, dropout_rate, rng=None):
    """One mask for all places of a shape: who asks for it later finds the last one."""
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    mask = BUFFERS.setdefault(x.shape, np.empty(x.shape))
    mask[...] = (rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)
    return x * mask, DropoutCache(mask)


def sublayer_twice(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy + 2 * dh, others)


def averaged(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others((dy + dh) / 2, others)


def norm_skipped(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache, post=False)
    return right.with_others(dy + dh, others)


def pre_norm_skipped(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache, pre=False)
    return right.with_others(dy + dh, others)


def shortcut_forgotten_pre_norm(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dh if self.pre_norm else dy + dh, others)


def others_zero(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy + dh, [np.zeros_like(other) for other in others])


def sublayer_gets_undropped_sum(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache, drop=lambda d, c: dropout_backward(dropout_backward(d, c), c))
    return right.with_others(dy + dh, others)


def forward_in_place(self, x, *others, rng=None):
    h, norm = self.norm.forward(x) if self.pre_norm else (x, None)
    h, sublayer = self.sublayer.forward(h, *others, rng=rng)
    h, dropout = dropout_forward(h, self.dropout, rng)
    x += h
    y = x
    if not self.pre_norm:
        y, norm = self.norm.forward(y)
    return y, ResidualCache(norm, sublayer, dropout)


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
    Mistake("residual-sublayer-twice", RESIDUAL + "backward", sublayer_twice, "residual", (SUBLAYER, TWICE)),
    Mistake("residual-averaged", RESIDUAL + "backward", averaged, "residual", (("half", "averag", "mean", "halv", "0.5", "1/2", "divided by 2", "factor 2", "twice"),)),
    Mistake("residual-norm-skipped", RESIDUAL + "backward", norm_skipped, "residual", (("norm",), MISSING)),
    Mistake("residual-pre-norm-skipped", RESIDUAL + "backward", pre_norm_skipped, "residual-pre-norm", (("norm",), MISSING),
            in_model="transformer-pre-norm"),
    Mistake("residual-shortcut-forgotten-pre-norm", RESIDUAL + "backward", shortcut_forgotten_pre_norm, "residual-pre-norm",
            (SKIP, MISSING), in_model="transformer-pre-norm"),
    Mistake("residual-others-zero", RESIDUAL + "backward", others_zero, "decoder-layer",
            (("memory", "other", "encoder", "cross"), MISSING)),
    Mistake("residual-dropout-twice", RESIDUAL + "backward", sublayer_gets_undropped_sum, "residual", (("dropout", "mask", "scale"), TWICE)),
    Mistake("residual-forward-in-place", RESIDUAL + "forward", forward_in_place, "residual", (IN_PLACE,)),
]
