"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

from research.mistakes import makers
from research.mistakes.makers import through
from research.mistakes.words import ASSIGNED, MISSING, ORDER, SELF, SWAPPED, TWICE


def encoder_parallel(self, dy, cache):
    return through(self, "feed_forward", dy, cache) + through(self, "self_attention", dy, cache)


def encoder_order(self, dy, cache):
    dx = through(self, "self_attention", dy, cache)
    return through(self, "feed_forward", dx, cache)


MISTAKES = [
    makers.feed_forward("feed-forward-activation-forgotten",
            ("activate_backward(dh, cache.activation)", "dh"),
            ("activation", "relu"), MISSING),
    makers.feed_forward("feed-forward-activation-twice",
            ("activate_backward(dh, ", "activate_backward(activate_backward(dh, cache.activation), "),
            ("activation", "gelu"), TWICE, block="encoder-layer-pre-norm", in_model="transformer-pre-norm",
            comment="with ReLU twice is once"),
    makers.feed_forward("feed-forward-inner-forgotten", ("self.inner.backward(dh, cache.inner)", "dh @ self.inner.weight.data.T"),
            ("inner", "W1", "b1"), MISSING),
    makers.encoder_layer("encoder-layer-parallel", encoder_parallel, SELF,
            ("dy", "chain", "parallel", "feed_forward", "feed-forward", "sum", "one after", "output")),
    makers.encoder_layer("encoder-layer-order", encoder_order, ORDER),
    makers.decoder_layer("decoder-layer-self-attention-skipped",
            ("dx, dh = self.self_attention", "return dx, dmemory\n    dx, dh = self.self_attention"), SELF, MISSING),
    makers.decoder_layer("decoder-layer-returns-swapped", ("return dx, dmemory", "return dmemory, dx"), SWAPPED),
    makers.decoder("decoder-memory-of-last-layer", ("dmemory + dlayer", "dlayer if layer is self.layers[-1] else dmemory"),
            ("memory",), (*ASSIGNED, "one layer", "only", "sum", "last", "layers.1", "layers", *MISSING)),
    makers.decoder("decoder-memory-of-last-layer-twice",
            ("dmemory + dlayer", "dmemory + dlayer * (2 if layer is self.layers[-1] else 1)"), ("memory",), TWICE),
    makers.decoder("decoder-layers-forwards",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers, cache.layers)"), ORDER),
    makers.encoder("encoder-caches-forwards", ("reversed(cache.layers)", "cache.layers"), (*ORDER, "cache")),
    makers.encoder("encoder-first-layer-skipped",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers[:0:-1], cache.layers[:0:-1])"), ("layer",),
            ("first", "layers.0", "layer 0", *MISSING)),
    makers.encoder("encoder-same-dy",
            ("dy = layer.backward(dy, layer_cache)\n    return dy", "dx = layer.backward(dy, layer_cache)\n    return dx"),
            ("dy", "layer"),
            ("chain", "last layer", "same dy", "handed", "pass", "one after", "not that of", "layers.1", "layers", *MISSING)),
    makers.transformer("transformer-without-encoder", ("dx = self.encoder", "return\n    dx = self.encoder"),
            ("encoder", "memory", "source"), MISSING),
    makers.transformer("transformer-around-encoder", ("source_input.backward(dx", "source_input.backward(dmemory"),
            ("source", "encoder", "memory"), ("dmemory", "dx", "embedding", "source_input", "input", *MISSING)),
    makers.transformer("transformer-target-input-twice",
            ("dx = self.encoder", "self.target_input.backward(dy, cache.decode.input); dx = self.encoder"),
            ("target", "embedding", "input"), (*TWICE, "more", "extra", "two", "dy")),
    makers.language_model("language-model-input-from-dy", ("self.input.backward(dx", "self.input.backward(dy"),
            ("embedding", "input"), ("dy", "stack", "chain", "skip", *MISSING)),
    makers.classifier("classifier-encoder-skipped", ("dx = self.encoder.backward(dx, cache.encoder)", "pass"), ("encoder",),
            MISSING),
]
