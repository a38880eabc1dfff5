"""Meaningless or misleading calls from Python: the error is one line that says what would be right."""

from inspect import signature

import numpy as np
import pytest

from minitransformer import layers as L
from minitransformer import (
    Adam, Ensemble, InputError, Run, Search, Threads, TrainingConfig, Transformer, TransformerConfig, beam_search,
    cross_entropy_forward, generate, greedy, make_batch, sample, schedule, training_step, translate)
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.layers import Embedding, Encoder, FeedForward, LayerNorm, Linear, SelfAttention, StackConfig
from minitransformer.tasks import TASKS
from minitransformer.training.evaluation import exact_match, mean_loss
from minitransformer.zoo import baselines as R
from minitransformer.zoo.parsing.vocabulary import TreebankVocabulary
from tests.library.models.makers import KINDS, make_batch_for, make_model

RNG = np.random.default_rng(0)
VOCABULARY = SymbolVocabulary("abcdefghij")
SOURCE = np.array([[4, 5, 2], [6, 2, 0]])
X = np.ones((2, 3, 4), np.float32)


@pytest.fixture(scope="module")
def model():
    return Transformer(TransformerConfig.named("toy", VOCABULARY.size, num_layers=1, d_model=16, d_ff=16))


@pytest.mark.parametrize("pairs, words", [
    ([([5.5], [4])], "5.5 is not a token id, expected a whole number"),
    ([([5], [4.0])], "4.0 is not a token id"),
    ([([5, 0, 4], [4])], "a sentence contains the id 0, expected ids above 0, the id of padding"),
    ([([5], [-1])], "a sentence contains the id -1"),
    ([("ab", "cd")], "'a' is not a token id"),
    ([(5, [4])], "a sentence is not a list of token ids"),
    ([([[5, 6], [7]], [4])], "a sentence is not a list of token ids"),
    ([(b"x", [4])], "a sentence is not a list of token ids"),
    ([([4], {})], "a sentence is not a list of token ids"),
    ([([None], [4])], "None is not a token id"),
    ([([True], [False])], "True is not a token id"),
    ([[4, 5, 6]], r"expected a list of pairs \(source ids, target ids\)"),
    (3, "expected a list of pairs"),
    ([], "no pairs"),
])
def test_wrong_sentences(pairs, words):
    with pytest.raises(InputError, match=words):
        make_batch(pairs)


def test_sentences_may_be_of_any_kind_of_sequence():
    batch = make_batch(pair for pair in [(np.array([4, 5]), range(6, 8)), ((), [1, 2])])
    assert batch.source.tolist() == [[4, 5, 2], [2, 0, 0]] and batch.terms == 6


@pytest.mark.parametrize("examples, words", [([], "no examples"), ([([4, 0], 1)], "the id 0"), ([([4.5], 1)], "4.5 is not")])
def test_wrong_labelled_sentences(examples, words):
    with pytest.raises(InputError, match=words):
        make_labelled_batch(examples)


@pytest.mark.parametrize("texts, words", [("a b c", r"texts is a single text, expected a list of texts: \['a b c'\]"),
                                          ([5], "texts contains a int"), ([None], "texts contains a NoneType")])
def test_wrong_texts(model, tmp_path, texts, words):
    run = Run.create(tmp_path / "run", TASKS["copy"](), Transformer(TransformerConfig.named("toy", 29)),
                     TASKS["copy"]().make_vocabulary())
    for call in (lambda: translate(model, VOCABULARY, texts, 10), lambda: run.answer(texts)):
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize("rngs, words", [
    (np.random.default_rng(0), "rngs is a Generator, expected a list with a generator for each of the 2 sentences"),
    (0, "rngs is a int"), ([np.random.default_rng(0)], "rngs is 1 generators"),
    ([0, 1], r"rng is 0, expected a generator, such as np.random.default_rng\(0\)")])
def test_wrong_generators(model, rngs, words):
    with pytest.raises(InputError, match=words):
        sample(model, SOURCE, rngs)


@pytest.mark.parametrize("call", [
    lambda: Linear(4, 3, 7), lambda: Embedding(4, 3, 7), lambda: FeedForward(4, 3, RNG, dropout=0.5).forward(X, rng=7),
    lambda: Encoder(StackConfig.named("toy", dropout=0), RNG).forward(np.ones((1, 2, 64), np.float32), rng=7),
    lambda: next(generate(make_model("language-model"), [4, 5], 3, 7)),
    lambda: SelfAttention(4, 2, RNG, dropout=0.5).forward(X, rng=7)])
def test_a_seed_is_no_generator(call):
    with pytest.raises(InputError, match=r"rng is 7, expected a generator, such as np.random.default_rng\(7\)"):
        call()


ARGUMENTS = dict(d_in=4, d_out=4, d_model=4, num_heads=2, vocab_size=4, max_length=4, d_ff=4, d_memory=4, d_attention=4,
                 hidden_size=4, radius=1, attention=R.DotProductAttention(), config=StackConfig.named("toy"))
TAKE_RNG = [layer for layer in {**vars(L), **vars(R)}.values()
            if isinstance(layer, type) and issubclass(layer, L.Layer) and "rng" in signature(layer).parameters]


@pytest.mark.parametrize("layer", TAKE_RNG)
def test_a_generator_left_out(layer):
    with pytest.raises(InputError, match=r"rng is None, expected a generator, such as np.random.default_rng\(0\)"):
        layer(**{name: value for name, value in ARGUMENTS.items() if name in signature(layer).parameters})


def some_vocabularies():
    yield VOCABULARY
    yield CharacterVocabulary("abc")
    yield TreebankVocabulary(["a"], ["S"], ["N"])
    yield SubwordVocabulary.learn(["abc"], 20)


@pytest.mark.parametrize("given", [None, 3, b"abc", ["a"]])
def test_a_wrong_text_has_no_ids(given):
    for vocabulary in some_vocabularies():
        with pytest.raises(InputError, match=f"the text to encode is a {type(given).__name__}, expected a string"):
            vocabulary.encode(given)


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
def test_a_model_without_its_configuration(kind):
    for config in ("toy", None, StackConfig.named("toy")):
        with pytest.raises(InputError, match=r"config is a \w+, expected a \w+Config, such as \w+Config.named"):
            type(make_model(kind))(config)


@pytest.mark.parametrize("layer, x",
                         [(FeedForward(4, 3, RNG), X), (SelfAttention(4, 2, RNG), X)])
@pytest.mark.parametrize("cache", [None, 3, (1, 2), Linear(4, 4, RNG).forward(X)[1]])
def test_a_cache_of_another_layer(layer, x, cache):
    y, _ = layer.forward(x)
    words = rf"{type(layer).__name__}.backward: the cache is a \w+, expected the \w+Cache that forward returned"
    with pytest.raises(InputError, match=words):
        layer.backward(y, cache)


@pytest.mark.parametrize("layer, x", [(Linear(4, 4, RNG), X), (LayerNorm(4), X)])
@pytest.mark.parametrize("cache", [None, 3, FeedForward(4, 3, RNG).forward(X)[1]])
def test_a_cache_of_another_function(layer, x, cache):
    y, _ = layer.forward(x)
    with pytest.raises(InputError, match=r"backward: the cache is a \w+, expected"):
        layer.backward(y, cache)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_of_another_model(kind):
    model, batch = make_model(kind), make_batch_for(kind)
    _, cache = model.loss_forward(batch)
    with pytest.raises(InputError, match=r"the cache is a \w+, expected the"):
        model.backward(np.ones(3), cache)
    with pytest.raises(InputError, match=r"the cache is a NoneType, expected the"):
        model.loss_backward(1.0, None)


def test_an_output_with_its_cache_is_no_input():
    with pytest.raises(InputError, match="Linear: x is a tuple, expected an array .*: forward returns a pair, y, cache = "):
        Linear(4, 4, RNG).forward(LayerNorm(4).forward(X))


def test_the_mean_loss_of_nothing(model):
    with pytest.raises(InputError, match="mean_loss: no batches"):
        mean_loss(model, [])
    batch = make_batch([([4], [5])])
    with pytest.raises(InputError, match="mean_loss: 1 batches without any terms"):
        mean_loss(model, [batch._replace(terms=0)])


def step_with(*given, **more):
    """A training step of the model, with these arguments after the optimizer."""
    return lambda model: training_step(model, Adam(model), *given, **more)


LANGUAGE = make_model("language-model")
BATCH = make_batch([([4, 5], [6])])
HOSTILE = {
    "a beam of text": (lambda model: beam_search(model, SOURCE, "5"), "the beam width is '5'"),
    "half a beam": (lambda model: beam_search(model, SOURCE, 2.5), "the beam width is 2.5"),
    "a row of ids": (lambda model: greedy(model, SOURCE[0]), r"source has shape \(3,\), expected \(B, T_k\)"),
    "a dict as search": (lambda model: translate(model, VOCABULARY, ["a"], 9, {"beam": 5}), r"search is a dict, expected a Search"),
    "a class as search": (lambda model: translate(model, VOCABULARY, ["a"], 9, Search), "search is a class, expected a Search"),
    "a text as prompt": (lambda _: generate(LANGUAGE, "abc", 3, RNG), "the prompt is 'abc', expected a list of token ids"),
    "more tokens than a prompt": (lambda _: beam_search(LANGUAGE, SOURCE[:1], 2, extra_length=3), "extra_length is given, but"),
    "half an id in a prompt": (lambda _: generate(LANGUAGE, [4, 2.5], 3, RNG), r"the prompt is \[4, 2.5\], expected"),
    "an id as text in a prompt": (lambda _: generate(LANGUAGE, ["4"], 3, RNG), "the prompt is .*, expected a list"),
    "prompts of two lengths": (lambda _: generate(LANGUAGE, [[4, 5], [4]], 3, RNG), "the prompt is .*, expected a list"),
    "half a token": (lambda _: generate(LANGUAGE, [4], 2.5, RNG), "the number of tokens is 2.5"),
    "samples as text": (lambda model: sample(model, SOURCE[:1], [RNG], "3"), "the number of samples is '3'"),
    "a temperature as text": (lambda model: sample(model, SOURCE[:1], [RNG], temperature="1"),
                              "temperature is 1, expected a number"),
    "top_k of a half": (lambda model: sample(model, SOURCE[:1], [RNG], top_k=0.5), "top_k is 0.5"),
    "half a size": (lambda _: Linear(2.5, 3, RNG), "a size of the layer is 2.5, expected a whole number of at least 1"),
    "no size": (lambda _: LayerNorm(0), "a size of the layer is 0"),
    "no heads": (lambda _: SelfAttention(4, 0, RNG), "num_heads is 0"),
    "more dropout than all": (lambda _: SelfAttention(4, 2, RNG, dropout=1.5).forward(X, rng=RNG), "the dropout rate is 1.5"),
    "a mask in a list": (lambda _: SelfAttention(4, 2, RNG).forward(X, [[True]]), "mask has dtype list, expected bool"),
    "logits in a list": (lambda _: cross_entropy_forward([[1.0]], np.array([0]), padding=None), "logits is a list"),
    "whole logits": (lambda _: cross_entropy_forward(np.array([[1, 2]]), np.array([0]), padding=None), "logits has dtype int64"),
    "too much smoothing": (lambda _: cross_entropy_forward(np.ones((1, 2)), np.array([0]), 2.0, padding=None), "smoothing is 2.0"),
    "smoothing in a step": (step_with(BATCH, 0.1, smoothing=1.5), "smoothing is 1.5, expected a number of at least 0 and below 1"),
    "no smoothing": (lambda model: model.loss_forward(BATCH, smoothing=None), "smoothing is None"),
    "a tuple of batches": (step_with((BATCH, BATCH), 0.1), "a batch is a tuple, expected the result of make_batch"),
    "pairs for batches": (step_with([([4], [5])], 0.1), "a batch is a tuple"),
    "a number for targets": (step_with(BATCH._replace(next_target=3), 0.1), r"have the shapes \(1, 3\), \(1, 2\), \(\), expected"),
    "a row of ids in a batch": (step_with(BATCH._replace(source=np.array([4])), 0.1), r"a batch's array has shape \(1,\)"),
    "one label alone": (lambda _: make_labelled_batch([([4], 1)])._replace(labels=np.int64(1)).terms,
                        r"a batch's labels has shape \(\), expected \(B\)"),
    "no arrays in a batch": (step_with(BATCH._replace(source=3, target=3, next_target=3), 0.1), "have the shapes"),
    "fewer targets": (step_with(BATCH._replace(next_target=np.zeros((2, 2), int)), 0.1), r"the shapes .* equal numbers of rows"),
    "a seed for a step": (step_with(BATCH, 0.1, seed=3),
                          r"seed is 3, expected a sequence of whole numbers of at least 0, such as \(0, step\)"),
    "a negative seed": (step_with(BATCH, 0.1, seed=(-1, 2)), r"seed is \(-1, 2\)"),
    "no learning rate": (step_with(BATCH, None), "the learning rate is None"),
    "a count of workers": (step_with(BATCH, 0.1, workers=3), r"workers is 3, expected Threads\(model, 3\)"),
    "Adam of a function": (lambda _: Adam(print), "Adam: the model is a builtin_function_or_method, expected a Layer"),
    "threads of nothing": (lambda _: Threads(None, 2), "Threads: the model is a NoneType"),
    "an ensemble of one": (lambda model: Ensemble(model), "an ensemble needs a list of models"),
    "an ensemble of numbers": (lambda _: Ensemble([1, 2]), "an ensemble needs a list of models"),
    "dropout as text": (lambda _: TransformerConfig.named("toy", 20, dropout="0.1"), "dropout is '0.1'"),
    "True layers": (lambda _: TransformerConfig.named("toy", 20, num_layers=True), "num_layers is True"),
    "clipping as text": (lambda _: TrainingConfig(steps=5, warmup=1, clip="1"), "clip is '1', expected a number above 0"),
    "a seed as text": (lambda model: Transformer(model.config, "a"), "seed is 'a', expected a whole number of at least 0"),
    "one batch to measure": (lambda model: mean_loss(model, BATCH), r"batches is a Batch, expected a list of batches: \[batch\]"),
    "nothing to match": (lambda model: exact_match(model, []), "exact_match: no pairs"),
    "a step as text": (lambda _: schedule("1", 64, 50), "step is '1', expected at least 1"),
    "a factor as text": (lambda _: schedule(1, 64, 50, "0.3"), "factor is '0.3', expected a number"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_calls(model, what):
    call, words = HOSTILE[what]
    with pytest.raises(InputError, match=words):
        call(model)


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_threads(model, count):
    with pytest.raises(InputError, match="Threads: count is"):
        Threads(model, count)
