"""Every import from the library, in one place: when a module moves, only this file changes."""

# ruff: noqa: F401
import importlib

from minitransformer import (
    PAD,
    Adam,
    Classifier,
    ClassifierConfig,
    InputError,
    LanguageModel,
    LanguageModelConfig,
    Layer,
    Parameter,
    Threads,
    Transformer,
    TransformerConfig,
    beam_search,
    fast,
    load_weights,
    make_batch,
    sample,
    save_weights,
    training_step,
)


def _first(name, *modules):
    """`name` from the first of `modules` that has it."""
    for module in modules:
        try:
            return getattr(importlib.import_module(f"minitransformer.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"{name} is in none of {', '.join(modules)}")


LocalProcesses = _first("LocalProcesses", "speed.local", "workers.local")

BOS = _first("BOS", "data.special", "functional.special")
EOS = _first("EOS", "data.special", "functional.special")
layer_norm_backward = _first("layer_norm_backward", "functional")
dropout_forward = _first("dropout_forward", "functional")
dropout_backward = _first("dropout_backward", "functional")

ACTIVATIONS = _first("ACTIVATIONS", "functional.activations")
NORMS = _first("NORMS", "layers.layer_norm")
SelfAttention = _first("SelfAttention", "layers")
CrossAttention = _first("CrossAttention", "layers")
Decoder = _first("Decoder", "layers")
DecoderLayer = _first("DecoderLayer", "layers")
Embedding = _first("Embedding", "layers")
Encoder = _first("Encoder", "layers")
EncoderLayer = _first("EncoderLayer", "layers")
FeedForward = _first("FeedForward", "layers")
Input = _first("Input", "layers")
LayerNorm = _first("LayerNorm", "layers")
LearnedPositions = _first("LearnedPositions", "layers")
Linear = _first("Linear", "layers")
LinearCrossEntropy = _first("LinearCrossEntropy", "layers")
MeanOverTokens = _first("MeanOverTokens", "layers")
OutputProjection = _first("OutputProjection", "layers")
Residual = _first("Residual", "layers")
SinusoidalPositions = _first("SinusoidalPositions", "layers")
members = _first("members", "layers.layer")

WindowBatch = _first("WindowBatch", "data.windows")
LabelledBatch = _first("LabelledBatch", "data.labelled")
pad = _first("pad", "data.batches")

GatedFeedForward = _first("GatedFeedForward", "zoo.modern")
GATES = _first("GATES", "zoo.modern.gated")
GroupedQueryAttention = _first("GroupedQueryAttention", "zoo.modern")
Projection = _first("Projection", "zoo.modern")
LibraryRMSNorm = _first("RMSNorm", "zoo.modern")
RotaryPositions = _first("RotaryPositions", "zoo.modern")
UnscaledEmbedding = _first("UnscaledEmbedding", "zoo.modern")
UnscaledSelfAttention = _first("UnscaledSelfAttention", "zoo.attention.unscaled")
UnscaledCrossAttention = _first("UnscaledCrossAttention", "zoo.attention.unscaled")
AdditiveSelfAttention = _first("AdditiveSelfAttention", "zoo.attention.additive")
AdditiveCrossAttention = _first("AdditiveCrossAttention", "zoo.attention.additive")
RestrictedSelfAttention = _first("RestrictedSelfAttention", "zoo.attention.restricted")
AdditiveAttention = _first("AdditiveAttention", "zoo.attention.additive")
AttentionalState = _first("AttentionalState", "zoo.recurrent.attentional_state")
OneDirection = _first("OneDirection", "zoo.recurrent.layer")
Recurrent = _first("Recurrent", "zoo.recurrent.layer")
RNN = _first("RNN", "zoo.recurrent.rnn")
GRU = _first("GRU", "zoo.recurrent.gru")
LSTM = _first("LSTM", "zoo.recurrent.lstm")
RecurrentConfig = _first("RecurrentConfig", "zoo.recurrent.model")
RNNModel = _first("RNNModel", "zoo.recurrent.model")
GRUModel = _first("GRUModel", "zoo.recurrent.model")
LSTMModel = _first("LSTMModel", "zoo.recurrent.model")
LSTMAttentionModel = _first("LSTMAttentionModel", "zoo.recurrent.model")
