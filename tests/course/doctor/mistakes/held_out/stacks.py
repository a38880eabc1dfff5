"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import decoder, encoder, feed_forward, through, transformer
from tests.course.doctor.mistakes.words import ASSIGNED, MISSING, ORDER, SELF, SWAPPED, TWICE

activation_forgotten = feed_forward(activate=lambda backward, dh, cache: dh)
activation_twice = feed_forward(activate=lambda backward, dh, cache: backward(backward(dh, cache), cache))
inner_forgotten = feed_forward(inner=lambda layer, dh, cache: dh @ layer.weight.data.T)


def encoder_parallel(self, dy, cache):
    return through(self, "feed_forward", dy, cache) + through(self, "self_attention", dy, cache)


def encoder_order(self, dy, cache):
    dx = through(self, "self_attention", dy, cache)
    return through(self, "feed_forward", dx, cache)


def decoder_self_attention_skipped(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    return through(self, "cross_attention", dx, cache)


memory_of_last_layer = decoder(lambda memories: memories[0])
encoder_caches_forwards = encoder(order=lambda layers, caches: zip(reversed(layers), caches))
encoder_first_layer_skipped = encoder(order=lambda layers, caches: zip(layers[:0:-1], caches[:0:-1]))
model_without_encoder = transformer(encode=lambda *_: None, source=False)


MISTAKES = [
    makers.feed_forward("feed-forward-activation-forgotten", activation_forgotten, ("activation", "relu"), MISSING),
    makers.feed_forward("feed-forward-activation-twice", activation_twice, ("activation", "gelu"), TWICE,
            block="encoder-layer-pre-norm", in_model="transformer-pre-norm", comment="with ReLU twice is once"),
    makers.feed_forward("feed-forward-inner-forgotten", inner_forgotten, ("inner", "W1", "b1"), MISSING),
    makers.encoder_layer("encoder-layer-parallel", encoder_parallel, SELF,
            ("dy", "chain", "parallel", "feed_forward", "feed-forward", "sum", "one after", "output")),
    makers.encoder_layer("encoder-layer-order", encoder_order, ORDER),
    makers.decoder_layer("decoder-layer-self-attention-skipped", decoder_self_attention_skipped, SELF, MISSING),
    makers.decoder_layer("decoder-layer-returns-swapped", ("return dx, dmemory", "return dmemory, dx"), SWAPPED),
    makers.decoder("decoder-memory-of-last-layer", memory_of_last_layer, ("memory",),
            (*ASSIGNED, "one layer", "only", "sum", "last", "layers.1", "layers", *MISSING)),
    makers.decoder("decoder-memory-of-last-layer-twice", decoder(lambda memories: memories[0] + sum(memories)), ("memory",), TWICE),
    makers.decoder("decoder-layers-forwards",
            ("zip(reversed(self.layers), reversed(cache.layers))", "zip(self.layers, cache.layers)"), ORDER),
    makers.encoder("encoder-caches-forwards", encoder_caches_forwards, (*ORDER, "cache")),
    makers.encoder("encoder-first-layer-skipped", encoder_first_layer_skipped, ("layer",), ("first", "layers.0", "layer 0", *MISSING)),
    makers.encoder("encoder-same-dy",
            ("dy = layer.backward(dy, layer_cache)\n    return dy", "dx = layer.backward(dy, layer_cache)\n    return dx"),
            ("dy", "layer"),
            ("chain", "last layer", "same dy", "handed", "pass", "one after", "not that of", "layers.1", "layers", *MISSING)),
    makers.transformer("transformer-without-encoder", model_without_encoder, ("encoder", "memory", "source"), MISSING),
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
