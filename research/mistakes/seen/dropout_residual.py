"""Mistakes in dropout and in the residual connection."""

from research.mistakes import makers
from research.mistakes.words import IN_PLACE, MISSING, RAISES, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

MISTAKES = [
    makers.dropout("dropout-rescales-only", ("dy * cache.mask", "dy * cache.mask.max()"), ("mask", "drop", "zero"),
            (*MISSING, "everywhere", "scale"), comment="numpy-ml, its issue 94"),
    makers.dropout("dropout-scale-forgotten", ("dy * cache.mask", "dy * (cache.mask > 0)"),
            ("scal", "1 / (1 - ", "1/(1 - ", "1/(1-", "keep", "factor"), excludes=("scale applied twice",)),
    makers.dropout("dropout-scale-twice", ("dy * cache.mask", "dy * cache.mask * cache.mask"),
            ("scal", "1 / (1 - ", "mask", "factor"), (*TWICE, "too large")),
    makers.dropout("dropout-in-place", ("return dy * cache.mask", "dy *= cache.mask\n    return dy"), IN_PLACE,
            comment="the shortcut loses what was dropped"),
    makers.dropout("dropout-mask-of-first-sentence", ("dy * cache.mask", "dy * cache.mask[:1]"), ("mask",),
            ("batch", "first", "sentence", "example", "shared", "same for", "one", "other")),
    makers.dropout_forward("dropout-forward-draws-twice",
            ("dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)", "(rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)",
             "DropoutCache(mask)", "DropoutCache((rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate))"),
            ("mask", "draw", "drawn"), (*RANDOM, "other", "another", "different", "not the", "cache", "wrong mask")),
    makers.encoder_layer("residual-shortcut-twice", ("dx + self.feed_forward", "dx + dx + self.feed_forward"), SKIP, TWICE),
    makers.encoder_layer("residual-sublayer-lost", ("dx + self.feed_forward", "dx + 0 * self.feed_forward"), SUBLAYER, MISSING),
    makers.encoder_layer("residual-subtracted", ("dx + self.feed_forward", "dx - self.feed_forward"), (*SIGN, "subtract")),
    makers.residual("residual-dropout-forgotten", ("dropout_backward(dy, cache.dropout)", "dy"), ("dropout", "mask"),
            MISSING),
    makers.residual("residual-dropout-on-shortcut",
            ("dy, dropout_backward(dy, cache.dropout)", "2 * (dropout_backward(dy, cache.dropout),)"),
            ("dropout", "mask"), (*SKIP, "both", "dy")),
    makers.residual("residual-shortcut-around-norm",
            ("dy = self.norm", "dh = self.norm", "dropout_backward(dy, cache.dropout)", "dropout_backward(dh, cache.dropout)"),
            ("norm",), (*SKIP, "dy")),
    makers.encoder_layer_pre_norm("residual-pre-norm-of-sum",
            ("dx + self.feed_forward_residual.enter_backward(dh", "self.feed_forward_residual.enter_backward(dx + dh"), ("norm",),
            (*SKIP, "sum", "dy", "both")),
    makers.decoder_layer("residual-others-lost", ("return dx, dmemory", "return dx"),
            ("memory", "other", "unpack", "two", "number of", "missing", *RAISES)),
]
