"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

from tests.course.doctor.mistakes import makers
from tests.course.doctor.mistakes.right import decoder, encoder, feed_forward, last_first, through, transformer
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


def decoder_returns_swapped(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    dx, dmemory = through(self, "cross_attention", dx, cache)
    return dmemory, through(self, "self_attention", dx, cache)


memory_of_last_layer = decoder(lambda memories: memories[0])
encoder_caches_forwards = encoder(order=lambda layers, caches: zip(reversed(layers), caches))
encoder_first_layer_skipped = encoder(order=lambda layers, caches: zip(layers[:0:-1], caches[:0:-1]))
model_without_encoder = transformer(encode=lambda *_: None, source=False)


def decoder_layers_forwards(self, dy, cache):
    dmemory = 0
    for layer, layer_cache in zip(self.layers, cache.layers):
        dy, dlayer = layer.backward(dy, layer_cache)
        dmemory = dmemory + dlayer
    return dy, dmemory


def encoder_same_dy(self, dy, cache):
    if self.norm:
        dy = self.norm.backward(dy, cache.norm)
    for layer, layer_cache in last_first(self.layers, cache.layers):
        dx = layer.backward(dy, layer_cache)
    return dx


def model_around_encoder(self, dy, cache):
    dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
    self.target_input.backward(dx, cache.decode.input)
    self.encoder.backward(dmemory, cache.encode.encoder)
    self.source_input.backward(dmemory, cache.encode.input)


def model_target_input_twice(self, dy, cache):
    transformer()(self, dy, cache)
    self.target_input.backward(dy, cache.decode.input)


def language_model_input_from_dy(self, dy, cache):
    self.stack.backward(dy, cache.stack)
    self.input.backward(dy, cache.input)


def classifier_encoder_skipped(self, dlogits, cache):
    dx = self.pooling.backward(self.output.backward(dlogits, cache.output), cache.pooling)
    self.input.backward(dx, cache.input)


MISTAKES = [
    makers.feed_forward("feed-forward-activation-forgotten", activation_forgotten, ("activation", "relu"), MISSING),
    makers.feed_forward("feed-forward-activation-twice", activation_twice, ("activation", "gelu"), TWICE,
            block="encoder-layer-pre-norm", in_model="transformer-pre-norm", comment="with ReLU twice is once"),
    makers.feed_forward("feed-forward-inner-forgotten", inner_forgotten, ("inner", "W1", "b1"), MISSING),
    makers.encoder_layer("encoder-layer-parallel", encoder_parallel, SELF,
            ("dy", "chain", "parallel", "feed_forward", "feed-forward", "sum", "one after", "output")),
    makers.encoder_layer("encoder-layer-order", encoder_order, ORDER),
    makers.decoder_layer("decoder-layer-self-attention-skipped", decoder_self_attention_skipped, SELF, MISSING),
    makers.decoder_layer("decoder-layer-returns-swapped", decoder_returns_swapped, SWAPPED),
    makers.decoder("decoder-memory-of-last-layer", memory_of_last_layer, ("memory",),
            (*ASSIGNED, "one layer", "only", "sum", "last", "layers.1", "layers", *MISSING)),
    makers.decoder("decoder-memory-of-last-layer-twice", decoder(lambda memories: memories[0] + sum(memories)), ("memory",), TWICE),
    makers.decoder("decoder-layers-forwards", decoder_layers_forwards, ORDER),
    makers.encoder("encoder-caches-forwards", encoder_caches_forwards, (*ORDER, "cache")),
    makers.encoder("encoder-first-layer-skipped", encoder_first_layer_skipped, ("layer",), ("first", "layers.0", "layer 0", *MISSING)),
    makers.encoder("encoder-same-dy", encoder_same_dy, ("dy", "layer"),
            ("chain", "last layer", "same dy", "handed", "pass", "one after", "not that of", "layers.1", "layers", *MISSING)),
    makers.transformer("transformer-without-encoder", model_without_encoder, ("encoder", "memory", "source"), MISSING),
    makers.transformer("transformer-around-encoder", model_around_encoder, ("source", "encoder", "memory"),
            ("dmemory", "dx", "embedding", "source_input", "input", *MISSING)),
    makers.transformer("transformer-target-input-twice", model_target_input_twice, ("target", "embedding", "input"),
            (*TWICE, "more", "extra", "two", "dy")),
    makers.language_model("language-model-input-from-dy", language_model_input_from_dy, ("embedding", "input"),
            ("dy", "stack", "chain", "skip", *MISSING)),
    makers.classifier("classifier-encoder-skipped", classifier_encoder_skipped, ("encoder",), MISSING),
]
