"""Mistakes in the feed-forward network, in layers, stacks and whole models."""

import numpy as np

from minitransformer.functional import dropout_backward
from minitransformer.layers.feed_forward import ACTIVATIONS
from tests.diagnosis.mistakes import right
from tests.diagnosis.mistakes.makers import DECODER, DECODER_LAYER, ENCODER, ENCODER_LAYER, FF, MODELS, TRANSFORMER
from tests.diagnosis.mistakes.mistake import Mistake
from tests.diagnosis.mistakes.words import ASSIGNED, AVERAGED, CROSS, FEED, MISSING, ORDER, SELF, TWICE


def dropout_forgotten(self, dy, cache):
    _, activate_backward = ACTIVATIONS[self.activation]
    dh = activate_backward(self.outer.backward(dy, cache.outer), cache.activation)
    return self.inner.backward(dh, cache.inner)


def plus_dy(self, dy, cache):
    _, activate_backward = ACTIVATIONS[self.activation]
    dh = dropout_backward(self.outer.backward(dy, cache.outer), cache.dropout)
    return dy + self.inner.backward(activate_backward(dh, cache.activation), cache.inner)


def encoder_feed_forward_skipped(self, dy, cache):
    return self.self_attention_residual.backward(dy, cache.self_attention)


def encoder_attention_skipped(self, dy, cache):
    return self.feed_forward_residual.backward(dy, cache.feed_forward)


def decoder_memory_zero(self, dy, cache):
    dx = self.feed_forward_residual.backward(dy, cache.feed_forward)
    dx, dmemory = self.cross_attention_residual.backward(dx, cache.cross_attention)
    return self.self_attention_residual.backward(dx, cache.self_attention), np.zeros_like(dmemory)


def decoder_around_cross(self, dy, cache):
    dx = self.feed_forward_residual.backward(dy, cache.feed_forward)
    _, dmemory = self.cross_attention_residual.backward(dx, cache.cross_attention)
    return self.self_attention_residual.backward(dx, cache.self_attention), dmemory


def decoder_order(self, dy, cache):
    dx = self.feed_forward_residual.backward(dy, cache.feed_forward)
    dx = self.self_attention_residual.backward(dx, cache.self_attention)
    return self.cross_attention_residual.backward(dx, cache.cross_attention)


def memory_of_first_layer(self, dy, cache):
    dx, memories = right.decoder_layers(self, dy, cache)
    return dx, memories[-1]


def memory_averaged(self, dy, cache):
    dx, memories = right.decoder_layers(self, dy, cache)
    return dx, sum(memories) / len(memories)


def encoder_layers_forwards(self, dy, cache):
    if self.norm:
        dy = self.norm.backward(dy, cache.norm)
    for layer, layer_cache in zip(self.layers, cache.layers):
        dy = layer.backward(dy, layer_cache)
    return dy


def encoder_last_layer_skipped(self, dy, cache):
    if self.norm:
        dy = self.norm.backward(dy, cache.norm)
    for i in range(len(self.layers) - 2, -1, -1):
        dy = self.layers[i].backward(dy, cache.layers[i])
    return dy


def encoder_summed(self, dy, cache):
    if self.norm:
        dy = self.norm.backward(dy, cache.norm)
    for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
        dy = dy + layer.backward(dy, layer_cache)
    return dy


def encoder_norm_forgotten(self, dy, cache):
    for layer, layer_cache in zip(reversed(self.layers), reversed(cache.layers)):
        dy = layer.backward(dy, layer_cache)
    return dy


def model_without_source_input(self, dy, cache):
    dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
    self.target_input.backward(dx, cache.decode.input)
    self.encoder.backward(dmemory, cache.encode.encoder)


def model_without_target_input(self, dy, cache):
    dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
    dx = self.encoder.backward(dmemory, cache.encode.encoder)
    self.source_input.backward(dx, cache.encode.input)


def model_halves_memory(self, dy, cache):
    dx, dmemory = self.decoder.backward(dy, cache.decode.decoder)
    self.target_input.backward(dx, cache.decode.input)
    dx = self.encoder.backward(dmemory / len(self.decoder.layers), cache.encode.encoder)
    self.source_input.backward(dx, cache.encode.input)


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
