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


def relu(name, wrong, *says, block="relu", replaces="relu_backward", **more):
    return Mistake("relu-" + name, replaces, wrong, block, says, **more)


def gelu(name, wrong, *says, block="gelu", replaces="gelu_backward", in_model="transformer-pre-norm", **more):
    return Mistake("gelu-" + name, replaces, wrong, block, says, in_model=in_model, **more)


def learned_positions(name, wrong, *says, replaces=LEARNED, in_model="transformer-unshared", **more):
    return Mistake("learned-positions-" + name, replaces, wrong, "learned-positions", says, in_model=in_model, **more)


def heads(name, wrong, *says, replaces="MultiHeadAttention.backward", **more):
    return Mistake("heads-" + name, replaces, wrong, "multi-head-attention", says, **more)


def self_attention(name, wrong, *says, **more):
    return Mistake("self-attention-" + name, LAYERS + "attention:SelfAttention.backward", wrong, "self-attention", says, **more)


def cross_attention(name, wrong, *says, **more):
    return Mistake("cross-attention-" + name, LAYERS + "attention:CrossAttention.backward", wrong, "cross-attention", says, **more)


def loss(name, wrong, *says, **more):
    return Mistake("cross-entropy-" + name, "cross_entropy_backward", wrong, "cross-entropy", says, in_model="", **more)


def forward_loss(name, wrong, *says, **more):
    return Mistake("cross-entropy-forward-" + name, "cross_entropy_forward", wrong, "cross-entropy", says, in_model="", **more)


def linear_loss(name, wrong, *says, **more):
    return Mistake("linear-cross-entropy-" + name, "linear_cross_entropy_backward", wrong, "linear-cross-entropy", says, in_model="", **more)


def edited(name, replaces, right, wrong, block, *says, **more):
    """The mistake of writing `wrong` for `right` in the library's backward."""
    function = TABLE[replaces].textbook if replaces in TABLE else pkgutil.resolve_name(replaces)
    source = textwrap.dedent(inspect.getsource(function))
    source = source[source.index("def "):]
    assert right in source.rpartition('"""')[2], f"{replaces} has changed: it does not contain {right!r}"
    head, quotes, body = source.rpartition('"""')
    namespace = dict(function.__globals__)
    exec(head + quotes + body.replace(right, wrong), namespace)
    return Mistake(name, replaces, namespace[function.__name__], block, says, **more)
