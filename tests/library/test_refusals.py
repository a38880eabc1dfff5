"""What is refused, and how: one line that names the argument and its value, and says what would be right."""

from contextlib import nullcontext
from inspect import signature

import numpy as np
import pytest

from minitransformer import (
    Adam, ClassifierConfig, InputError, LanguageModelConfig, RecurrentConfig, Run, Threads,
    TransformerConfig, beam_search, cross_entropy_backward,
    cross_entropy_forward, functional as F, generate, gradcheck, greedy, layers as L, make_batch, sample,
    training_step, translate)
from minitransformer.interchange.weights import save_weights
from minitransformer.layers import (
    Embedding, Encoder, FeedForward, Input, LayerNorm, LearnedPositions, Linear, OutputProjection,
    SelfAttention, SinusoidalPositions, StackConfig, initial)
from minitransformer.replaceable import kernels_run
from minitransformer.tasks import TASKS
from minitransformer.zoo import baselines as R
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.training.evaluation import exact_match, mean_loss
from minitransformer.training.settings import RunSettings
from minitransformer_course.explorer.page import batch_of, explore
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from tests.library.models.makers import KINDS, RECURRENT, make_batch_for, make_model

RNG = np.random.default_rng(0)
VOCABULARY = SymbolVocabulary("abcdefghij")
SOURCES, SOURCE = np.array([[4, 5, 2], [6, 2, 0]]), np.array([[4, 2]])
X = np.ones((2, 3, 4), np.float32)
LINEAR = Linear(4, 4, RNG)
CACHE = LINEAR.forward(X)[1]
MODEL, LANGUAGE = make_model("transformer"), make_model("language-model")
BATCH = make_batch([([4, 5], [6])])
LOGITS, TARGETS = np.ones((2, 3)), np.array([0, 1])
RUN = Run("runs/copy", RunSettings.of(TASKS["copy"](), MODEL, VOCABULARY, None, "numpy"), MODEL, VOCABULARY)


def step_with(*given, **more):
    """A training step of the model, with these arguments after the optimizer."""
    return lambda: training_step(MODEL, Adam(MODEL), *given, **more)


class Tensor:
    """What another library calls an array."""

    shape, dtype = (2, 3, 4), "torch.float32"


CALLS = {
    "half a beam": (lambda: beam_search(MODEL, SOURCE, 2.5), "the beam width is 2.5"),
    "a row of ids": (lambda: greedy(MODEL, SOURCES[0]), r"source has shape \(3,\), expected \(B, T_k\)"),
    "half a token": (lambda: generate(LANGUAGE, [4], 2.5, RNG), "the number of tokens is 2.5"),
    "samples as text": (lambda: sample(MODEL, SOURCE[:1], [RNG], "3"), "the number of samples is '3'"),
    "top_k of a half": (lambda: sample(MODEL, SOURCE[:1], [RNG], top_k=0.5), "top_k is 0.5"),
    "more dropout than all": (lambda: SelfAttention(4, 2, RNG, dropout=1.5).forward(X, rng=RNG), "the dropout rate is 1.5"),
    "a mask in a list": (lambda: SelfAttention(4, 2, RNG).forward(X, [[True]]), "mask has dtype list, expected bool"),
    "logits in a list": (lambda: cross_entropy_forward([[1.0]], np.array([0]), padding=None), "logits is a list"),
    "too much smoothing": (lambda: cross_entropy_forward(np.ones((1, 2)), np.array([0]), 2.0, padding=None), "smoothing is 2.0"),
    "smoothing in a step": (step_with(BATCH, 0.1, smoothing=1.5), "smoothing is 1.5, expected a number of at least 0 and below 1"),
    "a number for targets": (step_with(BATCH._replace(next_target=3), 0.1), r"have the shapes \(1, 3\), \(1, 2\), \(\), expected"),
    "a row of ids in a batch": (step_with(BATCH._replace(source=np.array([4])), 0.1), r"a batch's array has shape \(1,\)"),
    "one label alone": (lambda: make_labelled_batch([([4], 1)])._replace(labels=np.int64(1)).terms,
                        r"a batch's labels has shape \(\), expected \(B\)"),
    "fewer targets": (step_with(BATCH._replace(next_target=np.zeros((2, 2), int)), 0.1), r"the shapes .* equal numbers of rows"),
    "nothing to match": (lambda: exact_match(MODEL, []), "exact_match: no pairs"),
    "terms below 0": (lambda: training_step(MODEL, Adam(MODEL), BATCH._replace(terms=-2), 0.1), "no terms to learn from"),
    "a beta of 2": (lambda: Adam(MODEL, beta1=2), "Adam: beta1 is 2, beta2 is 0.98"),
    "saved without a name": (lambda: save_weights(MODEL, ""), "save_weights: path is '', expected the path of a safetensors file"),
    "too many threads to train": (lambda: Threads(MODEL, 5000), "Threads: count is 5000, expected a whole number"),
    "a maximum in text": (lambda: beam_search(MODEL, SOURCE, 1, max_length="3"), "max_length is '3', expected a whole number"),
    "alpha nan": (lambda: beam_search(MODEL, SOURCE, 2, np.nan), "alpha is nan"),
    "a translation continued": (lambda: generate(MODEL, [4], 3, RNG), "a Transformer does not continue its source; use translate"),
    "padding in text": (lambda: cross_entropy_forward(LOGITS, TARGETS, padding="0"), "padding is '0', expected the id of missing"),
    "half a padding": (lambda: MODEL.loss.forward(np.ones((2, 12)), TARGETS, padding=0.5), "padding is 0.5"),
    "targets in a list": (lambda: cross_entropy_forward(LOGITS, [0, 1], padding=None), "targets is a builtins.list"),
    "keys of no width": (lambda: SelfAttention(4, 2, RNG, d_k=0), "d_k is 0"),
    "a width in text": (lambda: SelfAttention("4", 2, RNG), "d_model is '4'"),
    "dropout above 1": (lambda: FeedForward(4, 4, RNG, dropout=2), "the dropout rate is 2"),
    "a seed for dropout": (lambda: F.dropout_forward(np.ones(3, complex), 0, 7), "rng is 7, expected a generator"),
    "no rows": (lambda: initial.normal(RNG, 0, 4), "a size of the layer is 0"),
    "half a one": (lambda: initial.ones(0.5), "a size of the layer is 0.5"),
    "a loss of another width": (lambda: MODEL.loss.forward(np.ones((2, 5)), TARGETS, padding=0), "LinearCrossEntropy: x has shape"),
    "positions of one vector": (lambda: SinusoidalPositions().forward(X[0]), "SinusoidalPositions: x has shape"),
    "positions of another width": (lambda: LearnedPositions(9, 5, RNG).forward(X), "LearnedPositions: x has shape"),
    "one source alone": (lambda: MODEL.hidden(SOURCE[0], SOURCE), "Transformer: source has shape"),
    "fewer rows of targets": (lambda: MODEL.hidden(np.array([[4], [4]]), SOURCE), "Transformer: target has shape"),
    "one prompt alone": (lambda: make_model("language-model").start(SOURCE[0]), "prompt has shape"),
    **{f"one source for {kind}": (lambda kind=kind: make_model(kind).start(SOURCE[0]), "source has shape")
       for kind in RECURRENT},
    "a flag in text": (lambda: RecurrentConfig(source_vocab=9, target_vocab=9, bidirectional="no"),
                       "bidirectional is 'no', expected True or False"),
    "a list of names": (lambda: RecurrentConfig.named(["toy"], 9), "unknown configuration"),
    "no such activation": (lambda: StackConfig.named("toy", activation="swish"),
                           "activation is 'swish'; choose from geglu, gelu, relu, swiglu"),
    "a list of attentions": (lambda: StackConfig.named("toy", attention=["scaled"]), "unknown attention"),
    "settings of 3": (lambda: StackConfig.named("toy", attention_settings=3), "attention_settings is 3, expected a dict"),
    "a list of poolings": (lambda: ClassifierConfig.named("toy", vocab_size=9, num_classes=2, pooling=["mean"]), "pooling is"),
    "dropout of the input": (lambda: Input(Embedding(4, 4, RNG), SinusoidalPositions(), 1.5), "the dropout rate is 1.5"),
    "a stack without a generator": (lambda: Encoder(StackConfig.named("toy")), "rng is None, expected a generator"),
    "no run to explore": (lambda: explore(None, "a"), "explore: the run is a NoneType, expected a Run, such as Run.load"),
    "a folder to explore": (lambda: explore("runs/copy", "a"), "explore: the run is a str, expected a Run"),
    "a model to explore": (lambda: explore(MODEL, "a"), "explore: the run is a Transformer, expected a Run"),
    "no text to explore": (lambda: explore(RUN, None), "explore: the text is a NoneType, expected a str"),
    "no target's text": (lambda: batch_of(MODEL, VOCABULARY, "a b", 3), "explore: the target is a int, expected a str"),
    "a tensor": (lambda: LINEAR.forward(Tensor()), "Linear: x is a .*Tensor, expected a NumPy or CuPy array"),
    "a tensor as gradient": (lambda: LINEAR.backward(Tensor(), CACHE), "Linear: dy is a .*Tensor, expected a NumPy or CuPy"),
    **{f"a length of {length!r}": (lambda length=length: translate(MODEL, VOCABULARY, ["a"], length),
                                   "max_length is .*, expected a whole number of at least 1") for length in (None, "5", 0, 2.5)},
    "no such field": (lambda: TransformerConfig.named("toy", 20, layers=3), "no field 'layers'; did you mean num_layers"),
    "no such field of another": (lambda: RecurrentConfig.named("toy", 20, layers=3), "no field 'layers'; did you mean num_layers"),
    "a number for a name": (lambda: LanguageModelConfig.named(5, vocab_size=3), "unknown configuration 5; choose from base"),
    "a flag of the stack": (lambda: TransformerConfig.named("toy", 20, pre_norm="no"), "pre_norm is 'no', expected True or False"),
    **{f"{count!r} threads": (lambda count=count: Threads(MODEL, count), "Threads: count is") for count in (0, -1, 1.5, "2")},
    "no dilation": (lambda: R.SeparableConvolution(4, 4, RNG, dilation=0), "dilation is 0"),
    "no examples": (lambda: make_labelled_batch([]), "no examples"),
    "padding with a label": (lambda: make_labelled_batch([([4, 0], 1)]), "the id 0"),
    "an output with its cache": (lambda: LINEAR.forward(LayerNorm(4).forward(X)),
                                 "Linear: x is a tuple, expected an array .*: forward returns a pair, y, cache = "),
}


@pytest.mark.parametrize("what", CALLS)
def test_what_is_refused(what):
    call, words = CALLS[what]
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("pairs, words", [
    ([([5.5], [4])], "the token ids are float64, expected whole numbers"),
    ([([5], [4.0])], "the token ids are float64"),
    ([([5, 0, 4], [4])], "a sentence contains the id 0, expected ids above 0, the id of padding"),
    ([([5], [-1])], "a sentence contains the id -1"),
    ([("ab", "cd")], "the token ids are <U1"),
    ([([None], [4])], "the token ids are object"),
    ([([True], [False])], "the token ids are bool"),
    ([], "no pairs"),
])
def test_wrong_sentences(pairs, words):
    with pytest.raises(InputError, match=words):
        make_batch(pairs)


def test_sentences_may_be_of_any_kind_of_sequence():
    batch = make_batch(pair for pair in [(np.array([4, 5]), range(6, 8)), ((), [1, 2])])
    assert batch.source.tolist() == [[4, 5, 2], [2, 0, 0]] and batch.terms == 6


@pytest.mark.parametrize("texts, words", [("a b c", r"texts is a single text, expected a list of texts: \['a b c'\]"),
])
def test_wrong_texts(texts, words):
    for call in (lambda: translate(MODEL, VOCABULARY, texts, 10), lambda: RUN.answer(texts)):
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize("rngs, words", [
    ([np.random.default_rng(0)], "rngs is 1 generators, expected one for each of the 2 sentences")])
def test_wrong_generators(rngs, words):
    with pytest.raises(InputError, match=words):
        sample(MODEL, SOURCES, rngs)


@pytest.mark.parametrize("call", [
    lambda: Linear(4, 3, 7), lambda: Embedding(4, 3, 7), lambda: FeedForward(4, 3, RNG, dropout=0.5).forward(X, rng=7),
    lambda: Encoder(StackConfig.named("toy", dropout=0), RNG).forward(np.ones((1, 2, 64), np.float32), rng=7),
    lambda: next(generate(make_model("language-model"), [4, 5], 3, 7)),
    lambda: SelfAttention(4, 2, RNG, dropout=0.5).forward(X, rng=7)])
def test_a_seed_is_no_generator(call):
    with pytest.raises(InputError, match=r"rng is 7, expected a generator, such as np.random.default_rng\(7\)"):
        call()


ARGUMENTS = dict(d_in=4, d_out=4, d_model=4, num_heads=2, vocab_size=4, max_length=4, d_ff=4, d_memory=4, d_attention=4,
                 hidden_size=4, radius=1, attention=R.AdditiveAttention(4, 4, 4, RNG), config=StackConfig.named("toy"))


TAKE_RNG = [layer for layer in {**vars(L), **vars(R)}.values()
            if isinstance(layer, type) and issubclass(layer, L.Layer) and "rng" in signature(layer).parameters]


@pytest.mark.parametrize("layer", TAKE_RNG)
def test_a_generator_left_out(layer):
    with pytest.raises(InputError, match=r"rng is None, expected a generator, such as np.random.default_rng\(0\)"):
        layer(**{name: value for name, value in ARGUMENTS.items() if name in signature(layer).parameters})


def some_vocabularies():
    yield VOCABULARY
    yield CharacterVocabulary("abc")
    yield SubwordVocabulary.learn(["abc"], 20)


@pytest.mark.parametrize("ids, words", [
    (None, "the ids to decode are a NoneType, expected a list of token ids"), ("4", "the ids to decode are a str"),
    ([4, 10 ** 4], "10000 is not the id of a token, expected a whole number from 0 to"), ([-1], "-1 is not the id of a token"),
    ([[4, 5]], r"\[4, 5\] is not the id of a token"), ([True], "True is not"), ([4.0], "4.0 is not")])
def test_wrong_ids_have_no_text(ids, words):
    for vocabulary in some_vocabularies():
        for function in (vocabulary.decode, vocabulary.tokens):
            with pytest.raises(InputError, match=words):
                function(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_of_another_model(kind):
    model, batch = make_model(kind), make_batch_for(kind)
    _, cache = model.loss_forward(batch)
    with pytest.raises(InputError, match=r"the cache is a \w+, expected the"):
        model.backward(np.ones(3), cache)
    with pytest.raises(InputError, match=r"the cache is a NoneType, expected the"):
        model.loss_backward(1.0, None)


def test_the_mean_loss_of_nothing():
    with pytest.raises(InputError, match="mean_loss: no batches"):
        mean_loss(MODEL, [])
    batch = make_batch([([4], [5])])
    with pytest.raises(InputError, match="mean_loss: 1 batches without any terms"):
        mean_loss(MODEL, [batch._replace(terms=0)])


WHAT = "expected a layer, or a pair of functions \\(forward, backward\\)"


@pytest.mark.parametrize("block, words", [
    (Linear, rf"the class Linear, {WHAT}: an instance, such as Linear\(...\)"),
    (np.tanh, rf"a ufunc, {WHAT}"), (None, f"a NoneType, {WHAT}"), ([np.tanh, np.cos], f"a list, {WHAT}"),
    ((np.tanh,), f"a tuple, {WHAT}"), ((), f"a tuple, {WHAT}"), ((np.tanh, 3), f"a tuple, {WHAT}")])
def test_wrong_blocks(block, words):
    with pytest.raises(InputError, match=f"gradcheck: the block is {words}"):
        gradcheck(block, [X])


@pytest.mark.parametrize("inputs, words", [
    ([], r"forward\(x\) needs x"), ({}, r"forward\(x\) needs x"),
    ([np.ones((2, 4), int)], "Linear: x has dtype int64, expected real numbers such as float32")])
def test_wrong_inputs(inputs, words):
    with pytest.raises(InputError, match=words):
        gradcheck(LINEAR, inputs)



@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_gradient_of_the_loss(kind):
    model = make_model(kind)
    _, cache = model.loss_forward(make_batch_for(kind))
    for dloss in (None, "1", np.ones(3), True, np.array(1.0, object)):
        with pytest.raises(InputError, match="dloss is .*, expected one number, such as 1 / batch.terms"):
            model.loss_backward(dloss, cache)


def test_a_gradient_of_the_loss_may_be_an_array_of_no_dimension():
    logits = RNG.standard_normal((2, 3))
    _, cache = cross_entropy_forward(logits, np.array([0, 1]), padding=None)
    assert np.array_equal(cross_entropy_backward(np.array(0.5), cache), cross_entropy_backward(0.5, cache))


LAYERS = [(LINEAR, X), (SinusoidalPositions(), X), (LearnedPositions(5, 4, RNG), X),
          (LayerNorm(4), X), (FeedForward(4, 5, RNG), X), (SelfAttention(4, 2, RNG), X),
          (OutputProjection(5, 4, RNG), X), (Embedding(5, 4, RNG), np.ones((2, 3), int))]


@pytest.mark.parametrize("layer, x", LAYERS)
@pytest.mark.parametrize("fast", [True, False])
def test_a_gradient_of_another_shape(layer, x, fast):
    """With the textbook and with kernels; nothing is added before it is refused."""
    layer = layer.astype(np.float64)
    y, cache = layer.forward(x)
    for wrong in (y[:1], y[0], y.reshape(6, -1), np.swapaxes(y, 0, 1), y[..., :1], 1.0, None, y.tolist(), y.astype(object)):
        with pytest.raises(InputError, match=r"dy|dlogits"), kernels_run() if fast else nullcontext():
            layer.backward(wrong, cache)
    assert not any(parameter.grad.any() for parameter in layer.parameters().values())


@pytest.mark.parametrize("layer, x", LAYERS[:-1])
def test_whole_numbers_are_no_input(layer, x):
    for dtype in (int, bool, object, np.uint8):
        with pytest.raises(InputError, match=rf"has dtype {np.dtype(dtype)}, expected real numbers such as float32"):
            layer.forward(np.ones(x.shape, dtype))


@pytest.mark.parametrize("changes, words", [
    (dict(vocabulary=None), "vocabulary is None, expected an object of a registered class: characters, pretrained"),
    (dict(task="copy"), "task is 'copy', expected an object of a registered class: classify,"),
    (dict(task=TASKS["copy"]), "task is <class '.*Copy'>, expected an object"),
    (dict(model=None), "model is None, expected an object"),
    (dict(training={"steps": 3}), "training is a dict, expected a TrainingConfig"),
    (dict(backend="gpu"), "unknown array module 'gpu'; choose numpy, cupy or auto")])
def test_a_run_of_wrong_parts(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        Run.create(tmp_path / "run", **{"task": TASKS["copy"](), "model": MODEL, "vocabulary": VOCABULARY, **changes})
    assert not list(tmp_path.iterdir())


def test_texts_may_come_from_a_generator():
    assert len(translate(MODEL, VOCABULARY, (text for text in "ab"), 5)) == 2
