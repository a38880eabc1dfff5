"""Makers of the mistakes in one operation, for the tables: what they share is said here."""

import inspect
import pkgutil
import textwrap

from minitransformer.replaceable import TABLE
from tests.course.doctor.mistakes.mistake import Mistake

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


def _edit(replaces, right, wrong):
    """The library's function with `wrong` for `right`."""
    function = TABLE[replaces].textbook if replaces in TABLE else pkgutil.resolve_name(replaces)
    source = textwrap.dedent(inspect.getsource(function))
    head, quotes, body = source[source.index("def "):].rpartition('"""')
    assert right in body, f"{replaces} has changed: it does not contain {right!r}"
    namespace = dict(function.__globals__)
    exec(head + quotes + body.replace(right, wrong), namespace)
    return namespace[function.__name__]


def _maker(replaces, block, in_model="transformer"):
    """make(name, wrong, *says, ...): a Mistake in the operation that shows in these blocks. A pair (right, wrong) edits it."""
    def make(name, wrong, *says, block=block, in_model=in_model, **more):
        wrong = _edit(replaces, *wrong) if isinstance(wrong, tuple) else wrong
        return Mistake(name, replaces, wrong, block, says, in_model=in_model, **more)
    return make


PRE_NORM, WITHOUT_LOSS = "transformer-pre-norm", ""    # no model of blocks() ends in its loss

linear, linear_forward = _maker("Linear.backward", "linear"), _maker("Linear.forward", "linear")
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
residual, residual_forward = _maker(RESIDUAL + "backward", "residual"), _maker(RESIDUAL + "forward", "residual")
encoder_layer, decoder_layer = _maker(ENCODER_LAYER, "encoder-layer"), _maker(DECODER_LAYER, "decoder-layer")
encoder_layer_pre_norm = _maker(ENCODER_LAYER, "encoder-layer-pre-norm", PRE_NORM)
encoder, decoder = _maker(ENCODER, "encoder"), _maker(DECODER, "decoder")
mean_over_tokens, mean_forward = (_maker(MEAN + name, "mean-over-tokens", "classifier") for name in ("backward", "forward"))
first_token = _maker(FIRST, "first-token", "classifier-first-token")
transformer = _maker(TRANSFORMER, "transformer")
language_model = _maker(MODELS + "language_model:LanguageModel.hidden_backward", "language-model", "language-model")
classifier = _maker(MODELS + "classifier:Classifier.backward", "classifier", "classifier")
loss, loss_forward = (_maker("cross_entropy_" + name, "cross-entropy", WITHOUT_LOSS) for name in ("backward", "forward"))
fused = _maker("linear_cross_entropy_backward", "linear-cross-entropy", WITHOUT_LOSS)


def edited(name, replaces, right, wrong, block, *says, **more):
    """The mistake of writing `wrong` for `right` in the library's backward."""
    return Mistake(name, replaces, _edit(replaces, right, wrong), block, says, **more)
