"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

import numpy as np

from tests.course.doctor.mistakes.makers import DECODER, DECODER_LAYER, ENCODER, ENCODER_LAYER, FF, MODELS, TRANSFORMER
from tests.course.doctor.mistakes.mistake import Mistake
from tests.course.doctor.mistakes.right import changed, decoder, encoder, feed_forward, through, transformer, unchanged
from tests.course.doctor.mistakes.words import ASSIGNED, AVERAGED, CROSS, FEED, MISSING, ORDER, SELF, TWICE

dropout_forgotten = feed_forward(drop=unchanged)
plus_dy = changed(feed_forward(), lambda dx, self, dy, cache: dy + dx)


def encoder_feed_forward_skipped(self, dy, cache):
    return through(self, "self_attention", dy, cache)


def encoder_attention_skipped(self, dy, cache):
    return through(self, "feed_forward", dy, cache)


def decoder_memory_zero(self, dy, cache):
    dx = through(self, "feed_forward", dy, cache)
    dx, dmemory = through(self, "cross_attention", dx, cache)
    return through(self, "self_attention", dx, cache), np.zeros_like(dmemory)


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
model_halves_memory = transformer(lambda dmemory, self: dmemory / len(self.decoder.layers))


def language_model_without_input(self, dy, cache):
    self.stack.backward(dy, cache.stack)


def classifier_pooling_repeated(self, dlogits, cache):
    dx = self.output.backward(dlogits, cache.output)
    length = cache.input.positions.length
    dx = np.repeat(dx[:, None], length, axis=1) / length
    dx = self.encoder.backward(dx, cache.encoder)
    self.input.backward(dx, cache.input)


MISTAKES = [
    Mistake("feed-forward-dropout-forgotten", FF, dropout_forgotten, "feed-forward", (("dropout", "mask"), MISSING)),
    Mistake("feed-forward-plus-dy", FF, plus_dy, "feed-forward",
            (("dy", "residual", "skip", "shortcut", "identity"), ("added", "plus", "+", "too much", *TWICE, "extra", "not in", "superfluous", "residual"))),
    Mistake("encoder-layer-feed-forward-skipped", ENCODER_LAYER, encoder_feed_forward_skipped, "encoder-layer", (FEED, MISSING)),
    Mistake("encoder-layer-attention-skipped", ENCODER_LAYER, encoder_attention_skipped, "encoder-layer", (SELF, MISSING)),
    Mistake("decoder-layer-memory-zero", DECODER_LAYER, decoder_memory_zero, "decoder-layer", (("memory",), MISSING)),
    Mistake("decoder-layer-around-cross-attention", DECODER_LAYER, decoder_around_cross, "decoder-layer",
            (CROSS, (*MISSING, "around", "dx"))),
    Mistake("decoder-layer-order", DECODER_LAYER, decoder_order, "decoder-layer", (ORDER,)),
    Mistake("decoder-memory-of-first-layer", DECODER, memory_of_first_layer, "decoder",
            (("memory",), (*ASSIGNED, "one layer", "only", "sum", "first", "layers.0", "layers", *MISSING))),
    Mistake("decoder-memory-averaged", DECODER, memory_averaged, "decoder",
            (("memory",), (*AVERAGED, "half", "halv", "0.5", "number of layers"))),
    Mistake("encoder-layers-forwards", ENCODER, encoder_layers_forwards, "encoder", (ORDER,)),
    Mistake("encoder-last-layer-skipped", ENCODER, encoder_last_layer_skipped, "encoder", (("layer",), ("last", "layers.1", "layer 1", *MISSING))),
    Mistake("encoder-summed", ENCODER, encoder_summed, "encoder",
            (("dy", "residual", "skip", "shortcut", "layer"), ("added", "plus", "+", "sum", *TWICE, "extra", "too much"))),
    Mistake("encoder-final-norm-forgotten", ENCODER, encoder_norm_forgotten, "transformer-pre-norm", (("norm",), MISSING),
            in_model="transformer-pre-norm"),
    Mistake("transformer-without-source-input", TRANSFORMER, model_without_source_input, "transformer",
            (("source", "embedding", "encode"), MISSING)),
    Mistake("transformer-without-target-input", TRANSFORMER, model_without_target_input, "transformer",
            (("target", "embedding", "decode"), MISSING)),
    Mistake("transformer-memory-halved", TRANSFORMER, model_halves_memory, "transformer",
            (("memory", "encoder"), (*AVERAGED, "half", "halv", "0.5", "number of layers", "factor"))),
    Mistake("language-model-without-input", MODELS + "language_model:LanguageModel.hidden_backward", language_model_without_input,
            "language-model", (("embedding", "input"), MISSING), in_model="language-model"),
    Mistake("classifier-pooling-repeated", MODELS + "classifier:Classifier.backward", classifier_pooling_repeated, "classifier",
            (("pool", "pad", "real", "length", "mean"),), in_model="classifier"),
]
