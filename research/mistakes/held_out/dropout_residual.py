"""Mistakes in dropout and in the residual connection."""

import numpy as np

from minitransformer.functional.dropout import DropoutCache
from research.mistakes import makers
from research.mistakes.words import IN_PLACE, MISSING, RANDOM, SIGN, SKIP, SUBLAYER, TWICE

BUFFERS = {}


def forward_one_object(x, dropout_rate, rng=None):
    """One mask for all places of a shape: who asks for it later finds the last one."""
    if rng is None or dropout_rate == 0:
        return x, DropoutCache(None)
    mask = BUFFERS.setdefault(x.shape, np.empty(x.shape))
    mask[...] = (rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)
    return x * mask, DropoutCache(mask)


MISTAKES = [
    makers.dropout("dropout-mask-ignored", ("dy * cache.mask", "dy"), ("mask", "dropout"), (*MISSING, "unchanged", "as it is")),
    makers.dropout("dropout-scale-divided", ("dy * cache.mask", "dy * (cache.mask > 0) / cache.mask.max()"),
            ("scal", "1 / (1 - ", "1 - ", "factor", "keep"),
            (*SIGN, "divid", "multipl", "inverse", "too small", "instead", "times")),
    makers.dropout("dropout-new-mask",
            ("dy * cache.mask", "dy * (np.random.default_rng().random(dy.shape) < (cache.mask > 0).mean()) * cache.mask.max()"),
            RANDOM),
    makers.dropout("dropout-dropped-for-kept", ("dy * cache.mask", "dy * (cache.mask == 0) * cache.mask.max()"),
            ("mask", "dropped", "kept"),
            ("invert", "complement", "opposite", "swap", "instead", "exactly where", "wrong way", "where", "1 - ")),
    makers.dropout_forward("dropout-forward-own-numbers",
            ("dropout_mask(x.shape, dropout_rate, rng, x.real.dtype)", "(np.random.random(x.shape) >= dropout_rate) / (1 - dropout_rate)"),
            (*RANDOM, "rng")),
    makers.dropout_forward("dropout-forward-unscaled", ("x * mask", "x * (mask > 0)"),
            ("scal", "1 / (1 - ", "1/(1 - ", "keep", "factor")),
    makers.dropout_forward("dropout-one-object", forward_one_object, ("mask", "dropout", "cache"),
            ("shared", "overwr", "last", "other", "another", "same", "later", "in place", "in-place", "reuse", "changed"),
            block="encoder-layer", comment="numpy-transformer: one Dropout object in several places of a layer"),
    makers.encoder_layer("residual-sublayer-twice", ("dx + self.feed_forward", "dx + 2 * self.feed_forward"), SUBLAYER, TWICE),
    makers.encoder_layer("residual-averaged", ("self_attention_residual.backward(dx", "self_attention_residual.backward(dx / 2"),
            ("half", "averag", "mean", "halv", "0.5", "1/2", "divided by 2", "factor 2", "twice")),
    makers.residual("residual-norm-skipped", ("not self.pre_norm", "False"), ("norm",), MISSING),
    makers.encoder_layer_pre_norm("residual-pre-norm-skipped",
            ("self.feed_forward_residual.enter_backward(dh, cache.feed_forward_entered)", "dh"), ("norm",), MISSING),
    makers.encoder_layer_pre_norm("residual-shortcut-forgotten-pre-norm", ("dx + self.feed_forward", "self.feed_forward"), SKIP,
            MISSING),
    makers.decoder_layer("residual-others-zero", ("return dx, dmemory", "return dx, 0 * dmemory"),
            ("memory", "other", "encoder", "cross"), MISSING),
    makers.residual("residual-dropout-twice",
            ("dropout_backward(dy, cache.dropout)", "dropout_backward(dropout_backward(dy, cache.dropout), cache.dropout)"),
            ("dropout", "mask", "scale"), TWICE),
    makers.residual_forward("residual-forward-in-place", ("y, norm = (x + h, None) if self.pre_norm else self.norm.forward(x + h)",
            "x += h\n    y, norm = (x, None) if self.pre_norm else self.norm.forward(x)"), IN_PLACE),
]
