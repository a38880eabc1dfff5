"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

import numpy as np

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import changed, decoder, encoder, feed_forward, through, transformer, unchanged
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, CROSS, FEED, MISSING, ORDER, SELF, TWICE

dropout_forgotten = feed_forward(drop=unchanged)
plus_dy = changed(feed_forward(), lambda dx, self, dy, cache: dy + dx)


def decoder_around_cross(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    _, dmemory = through(self, "cross_attention", dx, cache)
    return through(self, "self_attention", dx, cache), dmemory


def decoder_order(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    dx = through(self, "self_attention", dx, cache)
    return through(self, "cross_attention", dx, cache)


memory_of_first_layer = decoder(lambda memories: memories[-1])
memory_averaged = decoder(lambda memories: sum(memories) / len(memories))
encoder_layers_forwards = encoder(order=zip)
encoder_last_layer_skipped = encoder(order=lambda layers, caches: zip(layers[-2::-1], caches[-2::-1]))
encoder_summed = encoder(step=lambda dx, dy: dy + dx)
encoder_norm_forgotten = encoder(norm=False)
model_without_source_input = transformer(source=False)
model_without_target_input = transformer(target=False)


def classifier_pooling_repeated(self, dlogits, cache):
    dx = self.output.backward(dlogits, cache.output)
    length = cache.input.positions.length
    dx = np.repeat(dx[:, None], length, axis=1) / length
    dx = self.encoder.backward(dx, cache.encoder)
    self.input.backward(dx, cache.input)


MISTAKES = [
    makers.feed_forward("feed-forward-dropout-forgotten", dropout_forgotten, ("dropout", "mask"), MISSING),
    makers.feed_forward("feed-forward-plus-dy", plus_dy, ("dy", "residual", "skip", "shortcut", "identity"),
            ("added", "plus", "+", "too much", *TWICE, "extra", "not in", "superfluous", "residual")),
    makers.encoder_layer("encoder-layer-feed-forward-skipped", lambda self, dy, cache: through(self, "self_attention", dy, cache),
            FEED, MISSING),
    makers.encoder_layer("encoder-layer-attention-skipped", lambda self, dy, cache: through(self, "feed_forward", dy, cache), SELF,
            MISSING),
    makers.decoder_layer("decoder-layer-memory-zero", ("return dx, dmemory", "return dx, 0 * dmemory"), ("memory",), MISSING),
    makers.decoder_layer("decoder-layer-around-cross-attention", decoder_around_cross, CROSS, (*MISSING, "around", "dx")),
    makers.decoder_layer("decoder-layer-order", decoder_order, ORDER),
    makers.decoder("decoder-memory-of-first-layer", memory_of_first_layer, ("memory",),
            (*ASSIGNED, "one layer", "only", "sum", "first", "layers.0", "layers", *MISSING)),
    makers.decoder("decoder-memory-averaged", memory_averaged, ("memory",), (*AVERAGED, "half", "halv", "0.5", "number of layers")),
    makers.encoder("encoder-layers-forwards", encoder_layers_forwards, ORDER),
    makers.encoder("encoder-last-layer-skipped", encoder_last_layer_skipped, ("layer",), ("last", "layers.1", "layer 1", *MISSING)),
    makers.encoder("encoder-summed", encoder_summed, ("dy", "residual", "skip", "shortcut", "layer"),
            ("added", "plus", "+", "sum", *TWICE, "extra", "too much")),
    makers.encoder("encoder-final-norm-forgotten", encoder_norm_forgotten, ("norm",), MISSING, block="transformer-pre-norm",
            in_model="transformer-pre-norm"),
    makers.transformer("transformer-without-source-input", model_without_source_input, ("source", "embedding", "encode"), MISSING),
    makers.transformer("transformer-without-target-input", model_without_target_input, ("target", "embedding", "decode"), MISSING),
    makers.transformer("transformer-memory-halved", transformer(lambda dmemory, self: dmemory / len(self.decoder.layers)),
            ("memory", "encoder"), (*AVERAGED, "half", "halv", "0.5", "number of layers", "factor")),
    makers.language_model("language-model-without-input", ("self.input.backward(dx, cache.input)", "pass"), ("embedding", "input"),
            MISSING),
    makers.classifier("classifier-pooling-repeated", classifier_pooling_repeated, ("pool", "pad", "real", "length", "mean")),
]
