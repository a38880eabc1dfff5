"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

import numpy as np

from research.mistakes import makers
from research.mistakes.makers import through
from research.mistakes.words import ASSIGNED, AVERAGED, CROSS, FEED, MISSING, ORDER, SELF, TWICE


def decoder_around_cross(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    _, dmemory = through(self, "cross_attention", dx, cache)
    return through(self, "self_attention", dx, cache), dmemory


def decoder_order(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    dx = through(self, "self_attention", dx, cache)
    return through(self, "cross_attention", dx, cache)


def classifier_pooling_repeated(self, dlogits, cache):
    dx = self.output.backward(dlogits, cache.output)
    length = cache.input.positions.length
    dx = np.repeat(dx[:, None], length, axis=1) / length
    dx = self.encoder.backward(dx, cache.encoder)
    self.input.backward(dx, cache.input)


MISTAKES = [
    makers.feed_forward("feed-forward-dropout-forgotten", ("cache.dropout)", "type(cache.dropout)(None))"), ("dropout", "mask"),
            MISSING),
    makers.feed_forward("feed-forward-plus-dy", ("return self.inner", "return dy + self.inner"),
            ("dy", "residual", "skip", "shortcut", "identity"),
            ("added", "plus", "+", "too much", *TWICE, "extra", "not in", "superfluous", "residual")),
    makers.encoder_layer("encoder-layer-feed-forward-skipped", lambda self, dy, cache: through(self, "self_attention", dy, cache),
            FEED, MISSING),
    makers.encoder_layer("encoder-layer-attention-skipped",
            ("dx, dh = self.self_attention", "return dx\n    dx, dh = self.self_attention"), SELF, MISSING),
    makers.decoder_layer("decoder-layer-memory-zero", ("return dx, dmemory", "return dx, 0 * dmemory"), ("memory",), MISSING),
    makers.decoder_layer("decoder-layer-around-cross-attention", decoder_around_cross, CROSS, (*MISSING, "around", "dx")),
    makers.decoder_layer("decoder-layer-order", decoder_order, ORDER),
    makers.decoder("decoder-memory-of-first-layer", ("dmemory + dlayer", "dlayer"), ("memory",),
            (*ASSIGNED, "one layer", "only", "sum", "first", "layers.0", "layers", *MISSING)),
    makers.decoder("decoder-memory-averaged", ("return dy, dmemory", "return dy, dmemory / len(self.layers)"), ("memory",),
            (*AVERAGED, "half", "halv", "0.5", "number of layers")),
    makers.encoder("encoder-layers-forwards",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers, cache.layers)"), ORDER),
    makers.encoder("encoder-last-layer-skipped",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers[-2::-1], cache.layers[-2::-1])"), ("layer",),
            ("last", "layers.1", "layer 1", *MISSING)),
    makers.encoder("encoder-summed", ("dy = layer", "dy = dy + layer"), ("dy", "residual", "skip", "shortcut", "layer"),
            ("added", "plus", "+", "sum", *TWICE, "extra", "too much")),
    makers.encoder("encoder-final-norm-forgotten", ("if self.norm", "if False"), ("norm",), MISSING, block="transformer-pre-norm",
            in_model="transformer-pre-norm"),
    makers.transformer("transformer-without-source-input", ("self.source_input.backward(dx, cache.encode.input)", "pass"),
            ("source", "embedding", "encode"), MISSING),
    makers.transformer("transformer-without-target-input", ("self.target_input.backward(dx, cache.decode.input)", "pass"),
            ("target", "embedding", "decode"), MISSING),
    makers.transformer("transformer-memory-halved", ("backward(dmemory", "backward(dmemory / len(self.decoder.layers)"),
            ("memory", "encoder"), (*AVERAGED, "half", "halv", "0.5", "number of layers", "factor")),
    makers.language_model("language-model-without-input", ("self.input.backward(dx, cache.input)", "pass"), ("embedding", "input"),
            MISSING),
    makers.classifier("classifier-pooling-repeated", classifier_pooling_repeated, ("pool", "pad", "real", "length", "mean")),
]
