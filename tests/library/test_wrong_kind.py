"""Arguments of the wrong kind: another model's batch, a class for an object, a gradient of another shape."""

from contextlib import nullcontext

import numpy as np
import pytest

from minitransformer import (
    Adam, InputError, LanguageModelConfig, RecurrentConfig, Run, Search, TransformerConfig, beam_search, check_contract,
    cross_entropy_backward, cross_entropy_forward, generate, gradcheck, greedy, sample, training_step, translate)
from minitransformer import functional as F
from minitransformer.training.evaluation import mean_loss
from minitransformer.layers import (
    Embedding, FeedForward, LayerNorm, LearnedPositions, Linear, OutputProjection, Residual, SelfAttention, SinusoidalPositions,
    initial)
from minitransformer.tasks import TASKS
from minitransformer.workers.threads import Threads
from minitransformer.replaceable import kernels_run
from minitransformer.training.run import check_free
from tests.library.models.makers import KINDS, RECURRENT, make_batch_for, make_model

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4))
LINEAR = Linear(4, 3, RNG)
WHAT = "expected a layer, or a pair of functions \\(forward, backward\\)"


@pytest.mark.parametrize("block, words", [
    (Linear, rf"the class Linear, {WHAT}: an instance, such as Linear\(...\)"),
    (np.tanh, rf"a ufunc, {WHAT}"), (None, f"a NoneType, {WHAT}"), ([np.tanh, np.cos], f"a list, {WHAT}"),
    ((np.tanh,), f"a tuple, {WHAT}"), ((), f"a tuple, {WHAT}"), ((np.tanh, 3), f"a tuple, {WHAT}")])
def test_wrong_blocks(block, words):
    with pytest.raises(InputError, match=f"gradcheck: the block is {words}"):
        gradcheck(block, [X])


@pytest.mark.parametrize("check", [gradcheck, check_contract])
@pytest.mark.parametrize("inputs, words", [
    (None, r"inputs is a NoneType, expected a list of forward's arguments, such as \[x\], or a dict"),
    (X, "inputs is a ndarray"), ("x", "inputs is a str"), ([], r"forward\(x\) needs x"), ({}, r"forward\(x\) needs x"),
    ([np.ones((2, 4), int)], "Linear: x has dtype int64, expected real numbers such as float32")])
def test_wrong_inputs(check, inputs, words):
    with pytest.raises(InputError, match=words):
        check(LINEAR, inputs)


@pytest.mark.parametrize("settings, words", [(dict(methods=5), "methods is 5"), (dict(methods=None), "methods is None"),
                                             (dict(seed="a"), "seed is 'a', expected a whole number of at least 0")])
def test_wrong_settings_of_a_check(settings, words):
    with pytest.raises(InputError, match=words):
        gradcheck(LINEAR, [X], **settings)


FIELDS = {"transformer": "source, target and next_target", "language-model": "ids and next_target", "classifier": "ids and labels",
          **dict.fromkeys((*RECURRENT, "conv"), "source, target and next_target")}


@pytest.mark.parametrize("kind, given", [(kind, given) for kind in KINDS for given in (*KINDS, None, "text")
                                         if FIELDS.get(given) != FIELDS[kind]])
def test_a_batch_of_another_model(kind, given):
    model, batch = make_model(kind), make_batch_for(given) if given in KINDS else given
    words = f"{type(model).__name__}: the batch is a {type(batch).__name__}, expected one with {FIELDS[kind]}"
    with pytest.raises(InputError, match=words):
        model.loss_forward(batch)
    if given in KINDS:
        with pytest.raises(InputError, match=words):
            training_step(model, Adam(model), batch, 0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dloss", [None, "1", np.ones(3), True, np.array(1.0, object)])
def test_a_wrong_gradient_of_the_loss(kind, dloss):
    model = make_model(kind)
    _, cache = model.loss_forward(make_batch_for(kind))
    with pytest.raises(InputError, match="dloss is .*, expected one number, such as 1 / batch.terms"):
        model.loss_backward(dloss, cache)


def test_a_gradient_of_the_loss_may_be_an_array_of_no_dimension():
    logits = RNG.standard_normal((2, 3))
    _, cache = cross_entropy_forward(logits, np.array([0, 1]), padding=None)
    assert np.array_equal(cross_entropy_backward(np.array(0.5), cache), cross_entropy_backward(0.5, cache))


LAYERS = [(LINEAR, X), (LayerNorm(4), X), (FeedForward(4, 5, RNG), X), (SelfAttention(4, 2, RNG), X),
          (OutputProjection(5, 4, RNG), X), (Embedding(5, 4, RNG), np.ones((2, 3), int))]


@pytest.mark.parametrize("layer, x", LAYERS)
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("make", [
    lambda y: y[:1], lambda y: y[0], lambda y: y.reshape(6, -1), lambda y: np.swapaxes(y, 0, 1), lambda y: np.ones(y.shape[::-1]),
    lambda y: y[..., :1], lambda y: 1.0, lambda y: None, lambda y: y.tolist()])
def test_a_gradient_of_another_shape(layer, x, make, fast):
    layer = layer.astype(np.float64)
    y, cache = layer.forward(x)
    with pytest.raises(InputError, match=r"dy|dlogits") as error, kernels_run() if fast else nullcontext():
        layer.backward(make(y), cache)
    assert str(y.shape)[1:-1] in str(error.value)
    assert not any(parameter.grad.any() for parameter in layer.parameters().values())


@pytest.mark.parametrize("layer, x", LAYERS[:-1])
@pytest.mark.parametrize("dtype", [int, bool, object, np.uint8])
def test_whole_numbers_are_no_input(layer, x, dtype):
    with pytest.raises(InputError, match=rf"has dtype {np.dtype(dtype)}, expected real numbers such as float32"):
        layer.forward(np.ones(x.shape, dtype))


@pytest.mark.parametrize("layer", [SinusoidalPositions(), LearnedPositions(5, 4, RNG)])
def test_whole_numbers_have_no_positions(layer):
    with pytest.raises(InputError, match="x has dtype int64, expected real numbers such as float32"):
        layer.forward(np.ones((2, 3, 4), int))


@pytest.mark.parametrize("layer, x", LAYERS)
def test_objects_are_no_gradient(layer, x):
    y, cache = layer.forward(x)
    with pytest.raises(InputError, match="has dtype object, expected real numbers such as float32"):
        layer.backward(y.astype(object), cache)


@pytest.mark.parametrize("call", [Run.load, Run.open, check_free])
@pytest.mark.parametrize("path", [5, None, ["run"]])
def test_a_wrong_folder(call, path):
    with pytest.raises(InputError, match="the run's folder is .*, expected its path"):
        call(path)


def create(path, **changes):
    task = TASKS["copy"]()
    vocabulary = task.make_vocabulary()
    given = dict(task=task, vocabulary=vocabulary, model=make_toy(vocabulary))
    return Run.create(path, **{**given, **changes})


def make_toy(vocabulary):
    from minitransformer import Transformer

    return Transformer(TransformerConfig.named("toy", vocabulary.size, num_layers=1, d_model=8, d_ff=8))


@pytest.mark.parametrize("changes, words", [
    (dict(vocabulary=None), "vocabulary is None, expected an object of a registered class: characters, pretrained"),
    (dict(task="copy"), "task is 'copy', expected an object of a registered class: brackets,"),
    (dict(task=TASKS["copy"]), "task is <class '.*Copy'>, expected an object"),
    (dict(model=None), "model is None, expected an object"),
    (dict(training={"steps": 3}), "training is a dict, expected a TrainingConfig"),
    (dict(backend="gpu"), "unknown array module 'gpu'; choose numpy, cupy or auto")])
def test_a_run_of_wrong_parts(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        create(tmp_path / "run", **changes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("vocabulary", [None, "abc", 3])
def test_a_wrong_vocabulary(vocabulary):
    with pytest.raises(InputError, match="vocabulary is a .*, expected one with encode and decode, such as run.vocabulary"):
        translate(make_model("transformer"), vocabulary, ["a"], 10)


@pytest.mark.parametrize("length", [None, "5", 0, 2.5])
def test_a_wrong_length(length):
    with pytest.raises(InputError, match="max_length is .*, expected a whole number of at least 1"):
        translate(make_model("transformer"), TASKS["copy"]().make_vocabulary(), ["a"], length)


@pytest.mark.parametrize("make, words", [
    (lambda: TransformerConfig.named("toy", 20, layers=3), "TransformerConfig has no field 'layers'; did you mean num_layers"),
    (lambda: RecurrentConfig.named("toy", 20, layers=3), "RecurrentConfig has no field 'layers'; did you mean num_layers"),
    (lambda: LanguageModelConfig.named(5, vocab_size=3), "unknown configuration 5; choose from base"),
    (lambda: LanguageModelConfig.named(["toy"], vocab_size=3), "unknown configuration .* choose from base"),
    (lambda: TransformerConfig.named("toy", 20, pre_norm="no"), "pre_norm is 'no', expected True or False"),
    (lambda: TransformerConfig.named("toy", 20, share_output=1), "share_output is 1, expected True or False")])
def test_wrong_fields(make, words):
    with pytest.raises(InputError, match=words):
        make()


MODEL = make_model("transformer")
SOURCE = np.array([[4, 2]])
LOGITS, TARGETS = np.ones((2, 3)), np.array([0, 1])
VOCABULARY = TASKS["copy"]().make_vocabulary()
BATCH = make_batch_for("transformer")
CALLS = {
    "no texts": (lambda: translate(MODEL, VOCABULARY, None, 5), "texts is a NoneType, expected a list of texts"),
    "a dict of texts": (lambda: translate(MODEL, VOCABULARY, {"a": "b"}, 5), "texts is a dict"),
    "no threads": (lambda: translate(MODEL, VOCABULARY, ["a"], 5, threads=0), "threads is 0, expected a whole number"),
    "too many threads": (lambda: translate(MODEL, VOCABULARY, ["a"], 5, threads=2000), "threads is 2000, expected a whole number"),
    "too many threads to measure": (lambda: mean_loss(MODEL, [BATCH], threads=2000), "threads is 2000, expected a whole number"),
    "too many threads to train": (lambda: Threads(MODEL, 5000), "Threads: count is 5000, expected a whole number"),
    "no threads to measure": (lambda: mean_loss(MODEL, [BATCH], threads=-1), "threads is -1"),
    "a beam of text": (lambda: Search(beam="5"), "beam is '5', expected a whole number"),
    "a seed below 0": (lambda: translate(MODEL, VOCABULARY, ["a"], 5, Search(samples=1, seed=-1)), "seed is -1, expected"),
    "half a minimum": (lambda: beam_search(MODEL, SOURCE, 1, min_length=1.5), "min_length is 1.5"),
    "a maximum in text": (lambda: beam_search(MODEL, SOURCE, 1, max_length="3"), "max_length is '3', expected a whole number"),
    "alpha in text": (lambda: beam_search(MODEL, SOURCE, 2, "a"), "alpha is 'a', expected a finite number"),
    "alpha nan": (lambda: beam_search(MODEL, SOURCE, 2, np.nan), "alpha is nan"),
    "a classifier that writes": (lambda: greedy(make_model("classifier"), SOURCE), "a Classifier writes no text"),
    "a class that writes": (lambda: sample(type(MODEL), SOURCE, [RNG]), "the class Transformer writes no text"),
    "a translation continued": (lambda: generate(MODEL, [4], 3, RNG), "a Transformer does not continue its source; use translate"),
    "padding in text": (lambda: cross_entropy_forward(LOGITS, TARGETS, padding="0"), "padding is '0', expected the id of missing"),
    "padding True": (lambda: cross_entropy_forward(LOGITS, TARGETS, padding=True), "padding is True"),
    "half a padding": (lambda: MODEL.loss.forward(np.ones((2, 12)), TARGETS, padding=0.5), "padding is 0.5"),
    "targets in a list": (lambda: cross_entropy_forward(LOGITS, [0, 1], padding=None), "targets is a builtins.list"),
    "no dtype": (lambda: MODEL.astype(None), "the dtype is None, expected float32"),
    "keys of no width": (lambda: SelfAttention(4, 2, RNG, d_k=0), "d_k is 0"),
    "a width in text": (lambda: SelfAttention("4", 2, RNG), "d_model is '4'"),
    "dropout above 1": (lambda: FeedForward(4, 4, RNG, dropout=2), "the dropout rate is 2"),
    "dropout in text": (lambda: Residual(4, dropout="1"), "the dropout rate is '1'"),
    "activations in a list": (lambda: FeedForward(4, 4, RNG, ["relu"]), "unknown activation"),
    "a beta in text": (lambda: Adam(MODEL, beta1="0.9"), "Adam: beta1 is 0.9"),
    "a count of workers": (lambda: training_step(MODEL, Adam(MODEL), BATCH, 0.1, workers=2),
                           r"workers is 2, expected Threads\(model, 2\)"),
    "terms in text": (lambda: training_step(MODEL, Adam(MODEL), BATCH._replace(terms="2"), 0.1), "terms is '2'"),
    "terms below 0": (lambda: training_step(MODEL, Adam(MODEL), BATCH._replace(terms=-2), 0.1), "terms is -2"),
    "more dropout than all": (lambda: F.dropout_mask((2, 3), 1.5, RNG, "float32"), "the dropout rate is 1.5"),
    "more dropout than all, applied": (lambda: F.dropout_forward(np.ones(3, np.float32), 1.5, RNG), "the dropout rate is 1.5"),
    "a seed for dropout": (lambda: F.dropout_forward(np.ones(3, complex), 0, 7), "rng is 7, expected a generator"),
    "attention dropout above 1": (lambda: SelfAttention(4, 2, RNG, dropout=1.5), "the dropout rate is 1.5"),
    "no rows": (lambda: initial.normal(RNG, 0, 4), "a size of the layer is 0"),
    "no columns": (lambda: initial.xavier(RNG, 4, 0), "a size of the layer is 0"),
    "no zeros": (lambda: initial.zeros(0), "a size of the layer is 0"),
    "half a one": (lambda: initial.ones(0.5), "a size of the layer is 0.5"),
    "a loss of another width": (lambda: MODEL.loss.forward(np.ones((2, 5)), TARGETS, padding=0), "LinearCrossEntropy: x has shape"),
    "positions of one vector": (lambda: SinusoidalPositions().forward(X[0]), "SinusoidalPositions: x has shape"),
    "positions of another width": (lambda: LearnedPositions(9, 5, RNG).forward(X), "LearnedPositions: x has shape"),
    "one source alone": (lambda: MODEL.hidden(SOURCE[0], SOURCE), "Transformer: source has shape"),
    "fewer targets": (lambda: MODEL.hidden(np.array([[4], [4]]), SOURCE), "Transformer: target has shape"),
    "one prompt alone": (lambda: make_model("language-model").start(SOURCE[0]), "prompt has shape"),
    "one source to decode": (lambda: MODEL.start(SOURCE[0]), "source has shape"),
    **{f"one source for {kind}": (lambda kind=kind: make_model(kind).start(SOURCE[0]), "source has shape")
       for kind in (*RECURRENT, "conv")},
    "no optimizer": (lambda: training_step(MODEL, None, BATCH, 0.1), "the optimizer is a NoneType"),
}


@pytest.mark.parametrize("what", CALLS)
def test_calls_of_the_wrong_kind(what):
    call, words = CALLS[what]
    with pytest.raises(InputError, match=words):
        call()


def test_texts_may_come_from_a_generator():
    assert len(translate(make_toy(VOCABULARY), VOCABULARY, (text for text in "ab"), 5)) == 2
