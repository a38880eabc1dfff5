"""Mistakes in dropout and in the residual connection."""

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes import right
from tests.course.doctor.mistakes.right import dropout, encoder_layer, leave, unchanged
from tests.course.doctor.mistakes.words import IN_PLACE, MISSING, RAISES, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

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


def shortcut_around_norm(self, dy, cache):
    return leave(dx=lambda *_: dy)(self, dy, cache)


def pre_norm_of_sum(self, dy, cache):
    def of_sum(dx, dh):
        return self.feed_forward_residual.enter_backward(dx + dh, cache.feed_forward_entered)
    return encoder_layer(of_sum, pre=False)(self, dy, cache)


MISTAKES = [
    makers.dropout("dropout-rescales-only", dropout(lambda dy, mask: dy * mask.max()), ("mask", "drop", "zero"),
            (*MISSING, "everywhere", "scale"), comment="numpy-ml, its issue 94"),
    makers.dropout("dropout-scale-forgotten", scale_forgotten, ("scal", "1 / (1 - ", "1/(1 - ", "1/(1-", "keep", "factor"),
            excludes=("scale applied twice",)),
    makers.dropout("dropout-scale-twice", scale_twice, ("scal", "1 / (1 - ", "mask", "factor"), (*TWICE, "too large")),
    makers.dropout("dropout-in-place", in_place, IN_PLACE, comment="the shortcut loses what was dropped"),
    makers.dropout("dropout-mask-of-first-sentence", mask_of_first_sentence, ("mask",),
            ("batch", "first", "sentence", "example", "shared", "same for", "one", "other")),
    makers.dropout_forward("dropout-forward-draws-twice", forward_draws_twice, ("mask", "draw", "drawn"),
            (*RANDOM, "other", "another", "different", "not the", "cache", "wrong mask")),
    makers.encoder_layer("residual-shortcut-twice", shortcut_twice, SKIP, TWICE),
    makers.encoder_layer("residual-sublayer-lost", sublayer_lost, SUBLAYER, MISSING),
    makers.encoder_layer("residual-subtracted", subtracted, (*SIGN, "subtract")),
    makers.residual("residual-dropout-forgotten", dropout_forgotten, ("dropout", "mask"), MISSING),
    makers.residual("residual-dropout-on-shortcut", dropout_on_shortcut, ("dropout", "mask"), (*SKIP, "both", "dy")),
    makers.residual("residual-shortcut-around-norm", shortcut_around_norm, ("norm",), (*SKIP, "dy")),
    makers.encoder_layer_pre_norm("residual-pre-norm-of-sum", pre_norm_of_sum, ("norm",), (*SKIP, "sum", "dy", "both")),
    makers.decoder_layer("residual-others-lost", ("return dx, dmemory", "return dx"),
            ("memory", "other", "unpack", "two", "number of", "missing", *RAISES)),
]
