"""Settings and arguments that mean nothing are refused when they are given, in one line."""

import numpy as np
import pytest

from minitransformer import ClassifierConfig, InputError, Search, Transformer, TransformerConfig, beam_search, translate
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.decoding import encode
from minitransformer.interchange.pytorch import from_pytorch
from minitransformer.interchange.weights import load_weights, save_weights
from minitransformer.layers import (
    Decoder, Embedding, Encoder, Input, LayerNorm, Linear, SinusoidalPositions, StackConfig)
from minitransformer.tasks import TASKS
from minitransformer.training.evaluation import mean_loss
from minitransformer.training.run import Run
from minitransformer.training.settings import RunSettings
from minitransformer.zoo.baselines import LSTM, ConvolutionalConfig, GatedConvolution, RecurrentConfig, RecurrentStack
from minitransformer_course.explorer.page import batch_of, explore

RNG = np.random.default_rng(0)
MODEL = Transformer(TransformerConfig.named("toy", 30, num_layers=1))
SOURCE = np.array([[4, 2]])
VOCABULARY = TASKS["copy"]().make_vocabulary()
RUN = Run("runs/copy", RunSettings.of(TASKS["copy"](), MODEL, VOCABULARY, None, "numpy"), MODEL, VOCABULARY)
SIZES = dict(source_vocab=9, target_vocab=9)


class Tensor:
    """What another library calls an array."""

    shape, dtype = (2, 3, 4), "torch.float32"


LINEAR = Linear(4, 4, RNG)
CACHE = LINEAR.forward(np.ones((2, 3, 4), np.float32))[1]
CALLS = {
    "a flag in text": (lambda: RecurrentConfig(**SIZES, bidirectional="no"), "bidirectional is 'no', expected True or False"),
    "a flag of 1": (lambda: RecurrentConfig(**SIZES, share_output=1), "share_output is 1, expected True or False"),
    "sharing in text": (lambda: ConvolutionalConfig(**SIZES, share_embeddings="yes"), "share_embeddings is 'yes'"),
    "a list of names": (lambda: RecurrentConfig.named(["toy"], 9), "unknown configuration"),
    "no such activation": (lambda: StackConfig.named("toy", activation="swish"),
                           "activation is 'swish'; choose from geglu, gelu, relu, swiglu"),
    "a list of activations": (lambda: StackConfig.named("toy", activation=["relu"]), "activation is"),
    "a list of attentions": (lambda: StackConfig.named("toy", attention=["scaled"]), "unknown attention"),
    "settings of 3": (lambda: StackConfig.named("toy", attention_settings=3), "attention_settings is 3, expected a dict"),
    "a list of poolings": (lambda: ClassifierConfig.named("toy", vocab_size=9, num_classes=2, pooling=["mean"]), "pooling is"),
    "dropout in gates": (lambda: GatedConvolution(4, RNG, dropout=1.5), "the dropout rate is 1.5"),
    "dropout of the input": (lambda: Input(Embedding(4, 4, RNG), SinusoidalPositions(), 1.5), "the dropout rate is 1.5"),
    "half a token more": (lambda: beam_search(MODEL, SOURCE, 2, extra_length=2.5), "extra_length is 2.5, expected a whole number"),
    "tokens in text": (lambda: beam_search(MODEL, SOURCE, 2, extra_length="3"), "extra_length is '3', expected a whole number"),
    "the same of a search": (lambda: translate(MODEL, VOCABULARY, ["a"], 5, Search(extra_length="3")), "extra_length is '3'"),
    "a stack without a generator": (lambda: Encoder(StackConfig.named("toy")), "rng is None, expected a generator"),
    "the name of a stack": (lambda: Encoder("toy", RNG), "Encoder: config is a str, expected a StackConfig"),
    "no stack": (lambda: Decoder(None, RNG), "Decoder: config is a NoneType, expected a StackConfig"),
    "weights for a name": (lambda: from_pytorch("toy", {}), "config is a str, expected a TransformerConfig"),
    "no weights": (lambda: from_pytorch(MODEL.config, None), "arrays is a NoneType, expected a dict"),
    "no file": (lambda: load_weights(MODEL), "load_weights: path is None, expected the path of a safetensors file"),
    "file and layer swapped": (lambda: load_weights("file", MODEL), "load_weights: a str is not a Layer"),
    "saved nowhere": (lambda: save_weights(MODEL, None), "save_weights: path is None"),
    "saved without a name": (lambda: save_weights(MODEL, ""), "save_weights: path is '', expected the path of a safetensors file"),
    "saved as a folder": (lambda: save_weights(MODEL, "."), "save_weights: path is '.', expected"),
    "a name that cannot be": (lambda: save_weights(MODEL, "a\0"), "save_weights: path is 'a.*', expected"),
    "no run to explore": (lambda: explore(None, "a"), "explore: the run is a NoneType, expected a Run, such as Run.load"),
    "a folder to explore": (lambda: explore("runs/copy", "a"), "explore: the run is a str, expected a Run"),
    "a model to explore": (lambda: explore(MODEL, "a"), "explore: the run is a Transformer, expected a Run"),
    "no text to explore": (lambda: explore(RUN, None), "explore: the text is a NoneType, expected a str"),
    "no target's text": (lambda: batch_of(MODEL, VOCABULARY, "a b", 3), "explore: the target is a int, expected a str"),
    "the loss of None": (lambda: mean_loss(MODEL, None), "batches is a NoneType, expected a list of batches"),
    "the loss of numbers": (lambda: mean_loss(MODEL, [1, 2]), "a batch is a int, expected the result of make_batch"),
    "the loss of no model": (lambda: mean_loss(None, []), "the model is a NoneType, expected a model"),
    "the loss of a class": (lambda: mean_loss(Transformer, []), "the model is a type, expected a model"),
    "labels alone": (lambda: make_labelled_batch([1, 2]), r"expected a list of pairs \(ids, class\)"),
    "a label in text": (lambda: make_labelled_batch([([4], "a")]), "a class is 'a', expected a whole number of at least 0"),
    "half a label": (lambda: make_labelled_batch([([4], 1.5)]), "a class is 1.5"),
    "a label below 0": (lambda: make_labelled_batch([([4], -1)]), "a class is -1"),
    "a model for a vocabulary": (lambda: encode(MODEL, ["a"], 5), "vocabulary is a Transformer, expected one with encode"),
    "a tensor": (lambda: LINEAR.forward(Tensor()), "Linear: x is a .*Tensor, expected a NumPy or CuPy array"),
    "a tensor to normalise": (lambda: LayerNorm(4).forward(Tensor()), "LayerNorm: x is a .*Tensor, expected a NumPy or CuPy"),
    "a tensor of positions": (lambda: SinusoidalPositions().forward(Tensor()), "SinusoidalPositions: x is a .*Tensor"),
    "a tensor as gradient": (lambda: LINEAR.backward(Tensor(), CACHE), "Linear: dy is a .*Tensor, expected a NumPy or CuPy"),
}


@pytest.mark.parametrize("what", CALLS)
def test_what_means_nothing(what):
    call, words = CALLS[what]
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("layer", [GatedConvolution(4, RNG, dropout=0.3), RecurrentStack([LSTM(4, 4, RNG)])])
@pytest.mark.parametrize("x", [None, 3, [1.0]])
def test_no_input(layer, x):
    with pytest.raises(InputError, match=r": x is a \w+, expected an array of shape"):
        layer.forward(x, np.zeros((1, 8), np.float32) if isinstance(layer, RecurrentStack) else None, rng=RNG)
