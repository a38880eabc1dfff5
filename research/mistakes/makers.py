"""Makers of the mistakes in one operation, for the tables: what they share is said here."""

import inspect
import math
import pkgutil
import textwrap

import numpy as np

from minitransformer.dispatch import TABLE
from research.mistakes.mistake import Mistake

LAYERS, MODELS = "minitransformer.layers.", "minitransformer.models."
POSITIONS = LAYERS + "positions:"
LEARNED = POSITIONS + "LearnedPositions.backward"
INPUT = LAYERS + "input:Input.backward"
MEAN = LAYERS + "pooling:MeanOverTokens."
FIRST = LAYERS + "pooling:FirstToken.backward"
FF = LAYERS + "feed_forward:FeedForward.backward"
RESIDUAL = LAYERS + "residual:Residual."
ENCODER_LAYER = LAYERS + "encoder:EncoderLayer.backward"
DECODER_LAYER = LAYERS + "decoder:DecoderLayer.backward"
ENCODER = LAYERS + "encoder:Encoder.backward"
DECODER = LAYERS + "decoder:Decoder.backward"
OUTPUT = LAYERS + "output_projection:OutputProjection."
RECURRENT = "minitransformer.zoo.recurrent."
CONVOLUTIONAL = "minitransformer.zoo.convolutional."
TRANSFORMER = MODELS + "transformer:Transformer.hidden_backward"
BIAS_GRADIENT = "module_of(dy).ones(len(drows), dy.dtype) @ drows"    # in Linear.backward


def mistake(name, replaces, wrong, block, says, **more):
    """wrong: a function, or what the library's one becomes: (right, wrong) parts of its text, or several such pairs in a row."""
    return Mistake(name, replaces, _edit(replaces, *wrong) if isinstance(wrong, tuple) else wrong, block, says, **more)


def _edit(replaces, *texts):
    function = TABLE[replaces].textbook if replaces in TABLE else pkgutil.resolve_name(replaces)
    source = textwrap.dedent(inspect.getsource(function))
    head, quotes, body = source[source.index("def "):].rpartition('"""')
    for right, wrong in zip(texts[::2], texts[1::2]):
        assert right in body, f"{replaces} has changed: it does not contain {right!r}"
        body = body.replace(right, wrong)
    body = body.replace("super()", f"super({function.__qualname__.partition('.')[0]}, self)")    # no class is around it now
    namespace = dict(function.__globals__, math=math, np=np)    # as a learner imports them
    exec(head + quotes + body, namespace)
    return namespace[function.__name__]


def through(layer, name, dy, cache):
    """What a sub-layer in its residual returns: (dx, *gradients of the sub-layer's other inputs), or dx."""
    residual = getattr(layer, f"{name}_residual")
    past, dh = residual.backward(dy, getattr(cache, f"{name}_residual"))
    dh = getattr(layer, name).backward(dh, getattr(cache, name))
    dh, *others = dh if isinstance(dh, tuple) else (dh,)
    dx = past + residual.enter_backward(dh, getattr(cache, f"{name}_entered"))
    return (dx, *others) if others else dx


def _maker(replaces, block, in_model="transformer"):
    """make(name, wrong, *says, ...): a mistake in the operation that shows in these blocks."""
    def make(name, wrong, *says, block=block, in_model=in_model, **more):
        return mistake(name, replaces, wrong, block, says, in_model=in_model, **more)
    return make


PRE_NORM, WITHOUT_LOSS = "transformer-pre-norm", ""    # no model of blocks() ends in its loss

linear, linear_forward = _maker("Linear.backward", "linear"), _maker(LAYERS + "linear:Linear.forward", "linear")
embedding, embedding_forward = _maker("Embedding.backward", "embedding"), _maker("Embedding.forward", "embedding")
output, output_forward = _maker(OUTPUT + "backward", "output-projection"), _maker(OUTPUT + "forward", "output-projection")
learned_positions = _maker(LEARNED, "learned-positions", "transformer-unshared")
sinusoidal = _maker(POSITIONS + "SinusoidalPositions.backward", "sinusoidal-positions")
input = _maker(INPUT, "input")
relu, relu_forward = _maker("relu_backward", "relu"), _maker("relu_forward", "relu")
gelu, gelu_forward = _maker("gelu_backward", "gelu", PRE_NORM), _maker("gelu_forward", "gelu", PRE_NORM)
dropout, dropout_forward = _maker("dropout_backward", "dropout"), _maker("dropout_forward", "dropout")
norm, norm_forward = _maker("layer_norm_backward", "layer-norm"), _maker("layer_norm_forward", "layer-norm")
layer_norm = _maker(LAYERS + "layer_norm:LayerNorm.backward", "layer-norm")
softmax, softmax_forward = _maker("softmax_backward", "softmax"), _maker("softmax_forward", "softmax")
attention, attention_forward = _maker("attention_backward", "attention"), _maker("attention_forward", "attention")
heads = _maker("MultiHeadAttention.backward", "multi-head-attention")
self_attention = _maker(LAYERS + "attention:SelfAttention.backward", "self-attention")
cross_attention = _maker(LAYERS + "attention:CrossAttention.backward", "cross-attention")
feed_forward = _maker(FF, "feed-forward")
residual, residual_forward = _maker(RESIDUAL + "backward", "residual"), _maker("Residual.forward", "residual")
encoder_layer, decoder_layer = _maker(ENCODER_LAYER, "encoder-layer"), _maker(DECODER_LAYER, "decoder-layer")
encoder_layer_pre_norm = _maker(ENCODER_LAYER, "encoder-layer-pre-norm", PRE_NORM)
encoder, decoder = _maker(ENCODER, "encoder"), _maker(DECODER, "decoder")
mean_over_tokens, mean_forward = (_maker(MEAN + name, "mean-over-tokens", "classifier") for name in ("backward", "forward"))
first_token = _maker(FIRST, "first-token", "classifier-first-token")
transformer = _maker(TRANSFORMER, "transformer")
language_model = _maker(MODELS + "language_model:LanguageModel.hidden_backward", "language-model", "language-model")
classifier = _maker(MODELS + "classifier:Classifier.backward", "classifier", "classifier")
loss, loss_forward = (_maker("cross_entropy_" + name, "cross-entropy", WITHOUT_LOSS) for name in ("backward", "forward"))


def edited(name, replaces, right, wrong, block, *says, **more):
    """The mistake of writing `wrong` for `right` in the library's function."""
    return mistake(name, replaces, (right, wrong), block, says, **more)
