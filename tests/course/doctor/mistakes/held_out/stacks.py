"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

from tests.course.doctor.mistakes.makers import DECODER, DECODER_LAYER, ENCODER, ENCODER_LAYER, FF, MODELS, TRANSFORMER
from tests.course.doctor.mistakes.mistake import Mistake
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
memory_weighted_twice = decoder(lambda memories: memories[0] + sum(memories))
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
    Mistake("feed-forward-activation-forgotten", FF, activation_forgotten, "feed-forward", (("activation", "relu"), MISSING)),
    Mistake("feed-forward-activation-twice", FF, activation_twice, "encoder-layer-pre-norm", (("activation", "gelu"), TWICE),
            in_model="transformer-pre-norm", comment="with ReLU twice is once"),
    Mistake("feed-forward-inner-forgotten", FF, inner_forgotten, "feed-forward", (("inner", "W1", "b1"), MISSING)),
    Mistake("encoder-layer-parallel", ENCODER_LAYER, encoder_parallel, "encoder-layer",
            (SELF, ("dy", "chain", "parallel", "feed_forward", "feed-forward", "sum", "one after", "output"))),
    Mistake("encoder-layer-order", ENCODER_LAYER, encoder_order, "encoder-layer", (ORDER,)),
    Mistake("decoder-layer-self-attention-skipped", DECODER_LAYER, decoder_self_attention_skipped, "decoder-layer", (SELF, MISSING)),
    Mistake("decoder-layer-returns-swapped", DECODER_LAYER, decoder_returns_swapped, "decoder-layer", (SWAPPED,)),
    Mistake("decoder-memory-of-last-layer", DECODER, memory_of_last_layer, "decoder",
            (("memory",), (*ASSIGNED, "one layer", "only", "sum", "last", "layers.1", "layers", *MISSING))),
    Mistake("decoder-memory-of-last-layer-twice", DECODER, memory_weighted_twice, "decoder", (("memory",), TWICE)),
    Mistake("decoder-layers-forwards", DECODER, decoder_layers_forwards, "decoder", (ORDER,)),
    Mistake("encoder-caches-forwards", ENCODER, encoder_caches_forwards, "encoder", ((*ORDER, "cache"),)),
    Mistake("encoder-first-layer-skipped", ENCODER, encoder_first_layer_skipped, "encoder", (("layer",), ("first", "layers.0", "layer 0", *MISSING))),
    Mistake("encoder-same-dy", ENCODER, encoder_same_dy, "encoder",
            (("dy", "layer"), ("chain", "last layer", "same dy", "handed", "pass", "one after", "not that of", "layers.1", "layers", *MISSING))),
    Mistake("transformer-without-encoder", TRANSFORMER, model_without_encoder, "transformer", (("encoder", "memory", "source"), MISSING)),
    Mistake("transformer-around-encoder", TRANSFORMER, model_around_encoder, "transformer",
            (("source", "encoder", "memory"), ("dmemory", "dx", "embedding", "source_input", "input", *MISSING))),
    Mistake("transformer-target-input-twice", TRANSFORMER, model_target_input_twice, "transformer",
            (("target", "embedding", "input"), (*TWICE, "more", "extra", "two", "dy"))),
    Mistake("language-model-input-from-dy", MODELS + "language_model:LanguageModel.hidden_backward", language_model_input_from_dy,
            "language-model", (("embedding", "input"), ("dy", "stack", "chain", "skip", *MISSING)), in_model="language-model"),
    Mistake("classifier-encoder-skipped", MODELS + "classifier:Classifier.backward", classifier_encoder_skipped, "classifier",
            (("encoder",), MISSING), in_model="classifier"),
]
