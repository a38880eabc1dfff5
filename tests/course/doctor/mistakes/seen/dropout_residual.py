"""Mistakes in dropout and in the residual connection."""

from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.makers import DECODER_LAYER, ENCODER_LAYER, RESIDUAL
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import dropout, encoder_layer, leave, through, unchanged
from tests.course.doctor.mistakes.words import IN_PLACE, MISSING, RAISES, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

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


shortcut_twice = encoder_layer(lambda dx, dh: dx + dh + dx)
sublayer_lost = encoder_layer(lambda dx, dh: dx)
subtracted = encoder_layer(lambda dx, dh: dx - dh)
dropout_forgotten = leave(drop=unchanged)
dropout_on_shortcut = leave(dx=lambda dz, dh: dh)


def others_lost(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    dx, _ = through(self, "cross_attention", dx, cache)
    return through(self, "self_attention", dx, cache)


def shortcut_around_norm(self, dy, cache):
    return leave(dx=lambda *_: dy)(self, dy, cache)


def pre_norm_of_sum(self, dy, cache):
    def of_sum(dx, dh):
        return self.feed_forward_residual.enter_backward(dx + dh, cache.feed_forward_entered)
    return encoder_layer(of_sum, pre=False)(self, dy, cache)


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
    Mistake("residual-shortcut-twice", ENCODER_LAYER, shortcut_twice, "encoder-layer", (SKIP, TWICE)),
    Mistake("residual-sublayer-lost", ENCODER_LAYER, sublayer_lost, "encoder-layer", (SUBLAYER, MISSING)),
    Mistake("residual-subtracted", ENCODER_LAYER, subtracted, "encoder-layer", ((*SIGN, "subtract"),)),
    Mistake("residual-dropout-forgotten", RESIDUAL + "backward", dropout_forgotten, "residual", (("dropout", "mask"), MISSING)),
    Mistake("residual-dropout-on-shortcut", RESIDUAL + "backward", dropout_on_shortcut, "residual", (("dropout", "mask"), (*SKIP, "both", "dy"))),
    Mistake("residual-shortcut-around-norm", RESIDUAL + "backward", shortcut_around_norm, "residual", (("norm",), (*SKIP, "dy"))),
    Mistake("residual-pre-norm-of-sum", ENCODER_LAYER, pre_norm_of_sum, "encoder-layer-pre-norm", (("norm",), (*SKIP, "sum", "dy", "both")),
            in_model="transformer-pre-norm"),
    Mistake("residual-others-lost", DECODER_LAYER, others_lost, "decoder-layer",
            (("memory", "other", "unpack", "two", "number of", "missing", *RAISES),)),
]
