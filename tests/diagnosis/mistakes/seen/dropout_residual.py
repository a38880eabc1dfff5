"""Mistakes in dropout and in the residual connection."""

from minitransformer.functional import dropout_backward
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import RESIDUAL
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.right import dropout, residual, unchanged
from tests.diagnosis.mistakes.words import IN_PLACE, MISSING, RAISES, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

rescales_only = dropout(lambda dy, mask: dy * mask.max())
scale_forgotten = dropout(lambda dy, mask: dy * (mask > 0))
scale_twice = dropout(lambda dy, mask: dy * mask * mask)
mask_of_first_sentence = dropout(lambda dy, mask: dy * mask[:1])


@dropout
def in_place(dy, mask):
    dy *= mask
    return dy


def mask_for(x, dropout_rate, rng):
    return (rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)


@right.dropout_forward
def forward_draws_twice(x, dropout_rate, rng):
    return x * mask_for(x, dropout_rate, rng), mask_for(x, dropout_rate, rng)


shortcut_twice = residual(lambda dy, dh: dy + dh + dy)
sublayer_lost = residual(lambda dy, dh: dy)
subtracted = residual(lambda dy, dh: dy - dh)
dropout_forgotten = residual(drop=unchanged)
others_lost = residual(others=lambda others: [])


def dropout_on_shortcut(self, dy, cache):
    return residual(lambda dy, dh: dropout_backward(dy, cache.dropout) + dh)(self, dy, cache)


def shortcut_around_norm(self, dy, cache):
    return residual(lambda _, dh: dy + dh)(self, dy, cache)


def pre_norm_of_sum(self, dy, cache):
    return residual(lambda dy, dh: self.norm.backward(dy + dh, cache.norm) if self.pre_norm else dy + dh, pre=False)(self, dy, cache)


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
