"""Mistakes in dropout and in the residual connection."""

from minitransformer.functional import dropout_backward
from minitransformer.functional.dropout import DropoutCache
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import RESIDUAL
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import IN_PLACE, MISSING, RAISES, RANDOM, SIGN, SKIP, SUBLAYER, TWICE


def rescales_only(dy, cache):
    return dy if cache.mask is None else dy * cache.mask.max()


def scale_forgotten(dy, cache):
    return dy if cache.mask is None else dy * (cache.mask > 0)


def scale_twice(dy, cache):
    return dy if cache.mask is None else dy * cache.mask * cache.mask


def in_place(dy, cache):
    if cache.mask is not None:
        dy *= cache.mask
    return dy


def mask_of_first_sentence(dy, cache):
    return dy if cache.mask is None else dy * cache.mask[:1]


def forward_draws_twice(x, dropout_rate, rng=None):
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    y = x * (rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)
    return y, DropoutCache((rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate))


def shortcut_twice(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy + dh + dy, others)


def sublayer_lost(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy, others)


def subtracted(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy - dh, others)


def dropout_forgotten(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache, drop=lambda d, _: d)
    return right.with_others(dy + dh, others)


def dropout_on_shortcut(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dropout_backward(dy, cache.dropout) + dh, others)


def shortcut_around_norm(self, dy, cache):
    _, dh, others = right.residual_paths(self, dy, cache)
    return right.with_others(dy + dh, others)


def pre_norm_of_sum(self, dy, cache):
    dy, dh, others = right.residual_paths(self, dy, cache, pre=False)
    dx = dy + dh
    return right.with_others(self.norm.backward(dx, cache.norm) if self.pre_norm else dx, others)


def others_lost(self, dy, cache):
    dy, dh, _ = right.residual_paths(self, dy, cache)
    return dy + dh


MISTAKES = [
    Mistake("dropout-rescales-only", "dropout_backward", rescales_only, "dropout",
            (("mask", "drop", "zero"), (*MISSING, "everywhere", "scale")), comment="numpy-ml, its issue 94"),
    Mistake("dropout-scale-forgotten", "dropout_backward", scale_forgotten, "dropout",
            (("scal", "1 / (1 - ", "1/(1 - ", "1/(1-", "keep", "factor"),), excludes=("scale applied twice",)),
    Mistake("dropout-scale-twice", "dropout_backward", scale_twice, "dropout",
            (("scal", "1 / (1 - ", "mask", "factor"), (*TWICE, "too large"))),
    Mistake("dropout-in-place", "dropout_backward", in_place, "dropout", (IN_PLACE,), comment="the shortcut loses what was dropped"),
    Mistake("dropout-mask-of-first-sentence", "dropout_backward", mask_of_first_sentence, "dropout",
            (("mask",), ("batch", "first", "sentence", "example", "shared", "same for", "one", "other"))),
    Mistake("dropout-forward-draws-twice", "dropout_forward", forward_draws_twice, "dropout",
            (("mask", "draw", "drawn"), (*RANDOM, "other", "another", "different", "not the", "cache", "wrong mask"))),
    Mistake("residual-shortcut-twice", RESIDUAL + "backward", shortcut_twice, "residual", (SKIP, TWICE)),
    Mistake("residual-sublayer-lost", RESIDUAL + "backward", sublayer_lost, "residual", (SUBLAYER, MISSING)),
    Mistake("residual-subtracted", RESIDUAL + "backward", subtracted, "residual", ((*SIGN, "subtract"),)),
    Mistake("residual-dropout-forgotten", RESIDUAL + "backward", dropout_forgotten, "residual", (("dropout", "mask"), MISSING)),
    Mistake("residual-dropout-on-shortcut", RESIDUAL + "backward", dropout_on_shortcut, "residual", (("dropout", "mask"), (*SKIP, "both", "dy"))),
    Mistake("residual-shortcut-around-norm", RESIDUAL + "backward", shortcut_around_norm, "residual", (("norm",), (*SKIP, "dy"))),
    Mistake("residual-pre-norm-of-sum", RESIDUAL + "backward", pre_norm_of_sum, "residual-pre-norm", (("norm",), (*SKIP, "sum", "dy", "both")),
            in_model="transformer-pre-norm"),
    Mistake("residual-others-lost", RESIDUAL + "backward", others_lost, "decoder-layer",
            (("memory", "other", "unpack", "two", "number of", "missing", *RAISES),)),
]
