"""A campaign of random calls from Python: each is right, or one line of InputError. pytest does not run it.

    python -m tests.fuzz_calls --seed 4 --count 100000

Call number n of a seed is the same wherever it is made, so several processes can share a campaign: `--start N --count M` makes M
calls from N on, and `--start N --count 1` repeats one.

Half of the calls are forward and backward of a layer (tests/library/layers/cases.py) with random sizes. The others are
searches, training steps, and what comes before them: settings, batches, vocabularies, files of weights. In two of three calls
something is changed: the dtype, the order in memory or the shape of an array, or a value becomes None, a list, NaN or a word.
What is not refused is compared with the textbook on the same numbers in float64, or with its definition: dtype of the inputs
float64 to 1e-9, float32 to 2e-3, of the largest number in the array.

Recorded: the first 100,000 calls of seed 4. 50,626 were right and 49,358 refused in one line. 16 were wrong, of eight kinds that
have been mended since; repeated, they are refused. extra_length for a language model, a number or one row where a batch has its
array, wrong labels, sampling from two tokens, and bytes or a dict as a sentence ended with a bare TypeError, ValueError
or IndexError, and so did a search with no prompts in float32. No numbers were wrong.
"""

import argparse
import collections
import io
import re
import sys
import tempfile
import warnings
from contextlib import redirect_stderr
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from minitransformer import (
    Adam, InputError, Search, Transformer, TransformerConfig, beam_search, generate, greedy, load_weights, make_batch, sample,
    schedule, training_step, translate)
from minitransformer.data.labelled import make_labelled_batch
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.zoo.parsing.vocabulary import TreebankVocabulary
from minitransformer.functional.special import BOS, EOS
from minitransformer.layers import Linear
from minitransformer.replaceable import kernels_run
from tests.library.layers.cases import NAMES, case, changed
from tests.library.layers.test_contract import backward, forward, upstream
from tests.library.models.makers import KINDS, make_batch_for, make_model

WORDS = (None, "x", "3", b"x", 3, 2.5, [], [1.0], {}, True, object(), -1, 0, 60, float("nan"), float("inf"), np.int64(3), ((1, 2),))
DTYPES = ("float16", "float32", "float64", "int64", "uint8", "bool", "object", ">f4")


def of_dtype(value, dtype):
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def spoiled(value, rng):
    """Another value in its place, and what was done."""
    kind = rng.integers(6)
    if not isinstance(value, np.ndarray) or kind == 0:
        return WORDS[rng.integers(len(WORDS))], "a word"
    if kind == 1:
        return value.astype(DTYPES[rng.integers(len(DTYPES))]), "dtype"
    if kind == 2 and value.ndim:
        return [np.asfortranarray(value), value[::-1].copy()[::-1], value.T.copy().T][rng.integers(3)], "order"
    if kind == 3 and value.ndim:
        return np.concatenate([value, value], axis=rng.integers(value.ndim)), "longer"
    if kind == 4:
        return (value[None] if rng.integers(2) or not value.ndim or not len(value) else value[0]), "axes"
    return value[tuple(slice(0, 0) if rng.integers(4) == 0 else slice(None) for _ in value.shape)], "empty"


def one_spoiled(values, rng):
    """The same with one value spoiled, of a tuple, a list or a dict, or of one in it."""
    if not isinstance(values, (tuple, list, dict)) or not len(values):
        return spoiled(values, rng)
    places = list(values) if isinstance(values, dict) else range(len(values))
    place = places[rng.integers(len(places))]
    new, what = (one_spoiled if rng.integers(2) else spoiled)(values[place], rng)
    if isinstance(values, dict):
        return {**values, place: new}, f"{place}: {what}"
    changed_values = [new if i == place else value for i, value in enumerate(values)]
    return (type(values)(*changed_values) if hasattr(values, "_fields") else type(values)(changed_values)), f"{place}: {what}"


def perhaps_spoiled(values, rng):
    return one_spoiled(values, rng) if rng.integers(3) else (values, "as it should be")


# Each kind of call: kind(rng) -> (what it is, run, arrays). run(exact) returns a list of arrays: what a user gets, or what is right
# `arrays` were given: they decide how precise the numbers must be.

def of_layer(rng):
    """Forward and backward: outputs, the gradients of inputs, those of parameters."""
    name = NAMES[rng.integers(len(NAMES))]
    layer, inputs = case(name, int(rng.integers(40)))
    dtype = ("float32", "float64")[rng.integers(2)]
    layer, inputs = layer.astype(dtype), changed(inputs, lambda value: of_dtype(value, dtype))
    which, what = rng.integers(3), "as it should be"
    if which == 1:
        inputs, what = one_spoiled(inputs, rng)
    given = [np.zeros(0, dtype), *(inputs.values() if isinstance(inputs, dict) else inputs)]    # and the gradients
    draw = int(rng.integers(2 ** 32))

    def gradient(y):
        dy = upstream(y)
        dy = tuple(np.asarray(one, dtype) for one in dy) if isinstance(dy, tuple) else np.asarray(dy, dtype)
        dy = one_spoiled(dy, np.random.default_rng(draw))[0] if which == 2 else dy
        given.extend(dy if isinstance(dy, tuple) else (dy,))
        return dy

    def run(exact):
        own = layer.astype("float64") if exact else layer
        own.zero_grad()
        y, kept = forward(own, changed(inputs, lambda value: of_dtype(value, "float64")) if exact else inputs)
        dy = gradient(y)
        if exact:
            dy = changed(dy, lambda one: of_dtype(one, "float64")) if isinstance(dy, tuple) else of_dtype(dy, "float64")
        found = [*(y if isinstance(y, tuple) else (y,)), *backward(own, dy, kept)]
        return [*found, *(parameter.grad.copy() for parameter in own.parameters().values())]

    return f"{name}, {dtype}, {'gradient' if which == 2 else what}", run, given


@cache
def models_of(kind, seed):
    """A model in float32 and in float64, with the same numbers."""
    own = make_model(kind, seed, num_layers=1).astype("float32")
    return own, own.astype("float64")


def of_search(rng):
    """Scores as the textbook finds them, and log-probabilities as teacher forcing gives them."""
    kind = [kind for kind in KINDS if kind != "classifier"][rng.integers(len(KINDS) - 1)]
    both = models_of(kind, int(rng.integers(3))) if rng.integers(4) else vocabulary_of(int(rng.integers(1, 7)))
    own, exact_model = both if rng.integers(2) else (both[1], both[1])
    size = len(own.output.weight.data)
    source = rng.integers(min(3, size - 1), size, (rng.integers(1, 4), rng.integers(1, 5)))
    search = (greedy, beam_search, sample, generate)[rng.integers(4)]
    length = dict(min_length=int(rng.integers(3)), max_length=int(rng.integers(3, 7)))
    drawing = dict(temperature=float(rng.uniform(0.5, 2)), top_k=int(rng.integers(5)), top_p=float(rng.uniform(0.3, 1)))
    draw = int(rng.integers(2 ** 32))
    arguments, what = perhaps_spoiled({
        greedy: dict(source=source), generate: dict(prompt=source[0].tolist(), count=int(rng.integers(1, 30)), rng=0, **drawing),
        beam_search: dict(source=source, width=int(rng.integers(1, 7)), alpha=float(rng.uniform(0, 2)),
                          extra_length=int(rng.integers(5)), **length),
        sample: dict(source=source, rngs=[0] * len(source), count=int(rng.integers(1, 4)), **drawing, **length)}[search], rng)
    kept = []

    def run(exact):
        fresh = lambda value: np.random.default_rng(draw) if isinstance(value, int) and value == 0 else value
        again = {name: fresh(value) if name == "rng" else list(map(fresh, value)) if name == "rngs" and isinstance(value, list)
                 else value for name, value in arguments.items()}
        found = search(exact_model if exact else own, **again)
        if search in (greedy, generate):
            return [np.array(ids) for ids in found] if search is greedy else [np.array(list(found))]
        kept[:] = kept or found
        of = [(np.array(row), h) for row, several in zip(arguments["source"], kept) for h in several]
        return [np.array([h.score for several in found for h in several]), np.array(
            [rescored(exact_model, row, h.ids) if exact else h.log_probability for row, h in of])]

    return f"{search.__name__} of {type(own).__name__}, {size} tokens, {what}", run, [own.flat.data]


@cache
def vocabulary_of(size):
    own = Transformer(TransformerConfig.named("toy", size, num_layers=1, d_model=8, d_ff=8, num_heads=2), seed=size)
    return own, own.astype("float64")


def rescored(model, source, ids):
    """The log-probability of `ids` and EOS by teacher forcing."""
    if hasattr(model, "stack"):    # a language model
        logits = model.forward(np.array([[*source, *ids]], int))[0][0, len(source) - 1:]
    else:
        logits = model.forward(source[None], np.array([[BOS, *ids]]))[0][0]
    log_p = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return sum(log_p[i, token] for i, token in enumerate([*ids, EOS]))


def of_step(rng):
    """The loss of a training step, and its gradient as Adam has seen it."""
    kind, dtype, seed = KINDS[rng.integers(len(KINDS))], ("float32", "float64")[rng.integers(2)], int(rng.integers(100))
    model = make_model(kind, seed, num_layers=1, dropout=(0.0, 0.3)[rng.integers(2)]).astype(dtype)
    arguments, what = perhaps_spoiled(dict(
        batch=make_batch_for(kind, seed, int(rng.integers(1, 4))), learning_rate=float(rng.uniform(0, 0.1)), seed=(0, seed),
        smoothing=(0.0, 0.1)[rng.integers(2)], clip=(None, 1.0, 1e-3)[rng.integers(3)], workers=None,
        adam=dict(beta1=0.9, beta2=0.98, epsilon=1e-9)), rng)

    def run(exact):
        own = model.astype("float64" if exact else dtype)
        adam = Adam(own, **arguments["adam"]) if isinstance(arguments["adam"], dict) else arguments["adam"]
        sums = training_step(own, adam, **{name: value for name, value in arguments.items() if name != "adam"})
        return [*sums, *(moment / max(abs(moment).max(), 1e-30) for moment in (adam.m, adam.v))]

    return f"training_step of {type(model).__name__}, {dtype}, {what}", run, [model.flat.data]


@cache
def vocabularies():
    """[(a vocabulary, the characters of its texts, the text that it gives back)]."""
    subwords = SubwordVocabulary.learn(["abc cab a-b", "b c a"] * 9, 20)
    return [(SymbolVocabulary("abc"), "abc -", lambda text: " ".join(re.sub(r"[\s-]", "", text))),
            (CharacterVocabulary("abc -\n"), "abc -\n", str), (subwords, "abc -", lambda text: text.removeprefix(" ")),
            (TreebankVocabulary(["a", "b", "c"], ["S"], ["N"]), ("a ", "b ", "c "), str.strip)]


def codes(text):
    return np.array(list(map(ord, text)))


def of_data(rng):
    """Batches, vocabularies, texts, settings and weights; what is right is said in other words."""
    return (of_batch, of_vocabulary, of_texts, of_settings, of_weights, of_schedule)[rng.integers(6)](rng)


def of_batch(rng):
    sentence = lambda: rng.integers(1, 9, rng.integers(5)).tolist()
    labelled = bool(rng.integers(2))
    pairs, what = perhaps_spoiled([(sentence(), int(rng.integers(3)) if labelled else sentence()) for _ in range(3)], rng)
    rows = lambda sentences: np.array(list(zip_longest(*sentences, fillvalue=0))).T.reshape(len(sentences), -1)

    def run(exact):
        if not exact:
            return list((make_labelled_batch if labelled else make_batch)(pairs))
        sources, targets = [list(ids) for ids, _ in pairs], [other for _, other in pairs]
        if labelled:
            return [rows(sources), targets]
        return [rows([[*ids, EOS] for ids in sources]), rows([[BOS, *ids] for ids in targets]),
                rows([[*ids, EOS] for ids in targets]), sum(len(ids) + 1 for ids in targets)]

    return f"a batch, {what}", run, []


def of_vocabulary(rng):
    vocabulary, alphabet, normal = vocabularies()[rng.integers(4)]
    if rng.integers(2) and not isinstance(vocabulary, SubwordVocabulary):
        ids, what = perhaps_spoiled(rng.integers(0, vocabulary.size, rng.integers(6)).tolist(), rng)
        if rng.integers(2):
            ids, what = spoiled(np.array(ids), rng) if isinstance(ids, list) and all(type(i) is int for i in ids) else (ids, what)
        right = lambda: vocabulary.joint.join(vocabulary.listed[i] for i in ids if i >= 3)
        return (f"decode of {type(vocabulary).__name__}, {what}",
                lambda exact: [codes(right() if exact else vocabulary.decode(ids))], [])
    text, regular = "".join(alphabet[i] for i in rng.integers(len(alphabet), size=rng.integers(8))), rng.integers(3) > 0
    if not regular:
        text = (*WORDS, "a\udcff", "äz", "a\x00b")[rng.integers(len(WORDS) + 3)]

    def run(exact):
        found = normal(text) if exact and regular else vocabulary.decode(vocabulary.encode(text))
        return [codes(found if regular else "")]

    return f"encode of {type(vocabulary).__name__}, {'as it should be' if regular else 'a word'}", run, []


def of_texts(rng):
    vocabulary, model = SymbolVocabulary("abc"), vocabulary_of(6)
    texts = ["".join("abc"[i] for i in rng.integers(3, size=rng.integers(4))) for _ in range(3)]
    search = dict(beam=int(rng.integers(1, 4)), max_length=5)
    arguments, what = perhaps_spoiled(dict(vocabulary=vocabulary, texts=texts, max_length=int(rng.integers(1, 5)), search=search,
                                           threads=1), rng)

    def run(exact):
        own = arguments["search"]
        with redirect_stderr(io.StringIO()):
            return [codes("\n".join(translate(model[exact], **{
                **arguments, "search": Search(**own) if isinstance(own, dict) else own})))]

    return f"translate, {what}", run, []


def of_settings(rng):
    fields = dict(num_layers=1, d_model=8, num_heads=2, d_ff=8, d_k=None, d_v=3, dropout=0.0, embedding_dropout=None,
                  attention_dropout=0.1, feed_forward_dropout=0.0, activation="gelu", pre_norm=True, positions="learned",
                  max_length=9, attention="scaled", attention_settings={}, share_output=True, share_embeddings=True, vocab_size=9)
    fields, what = perhaps_spoiled(fields, rng)
    ids = np.array([[4, 5, 2]])

    def run(exact):
        model = Transformer(TransformerConfig.named("toy", **fields), seed=0)
        return [(model.astype("float64") if exact else model).forward(ids, ids)[0]]

    return f"settings, {what}", run, [np.zeros(0, "float32")]


def of_weights(rng):
    layer = Linear(3, 2, np.random.default_rng(0))
    data = bytearray(save({name: parameter.data for name, parameter in layer.parameters().items()}))
    what = ("as it should be", "flipped", "cut", "another layer", "a path")[rng.integers(5)]
    if what == "flipped":
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    data = bytes(data[:rng.integers(len(data))] if what == "cut" else data)
    word = WORDS[rng.integers(len(WORDS))] if what == "a path" else None

    def run(exact):
        if exact:
            return [load(data)["weight"], load(data)["bias"]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "weights")
            path.write_bytes(data)
            own = Linear(3, 3 if what == "another layer" else 2, np.random.default_rng(1))
            load_weights(own, word if what == "a path" else path)
        return [own.weight.data, own.bias.data]

    return f"load_weights, {what}", run, []


def of_schedule(rng):
    values, what = perhaps_spoiled((int(rng.integers(1, 99)), int(rng.integers(1, 99)), int(rng.integers(1, 99)), 0.5), rng)

    def run(exact):
        if not exact:
            return [schedule(*values)]
        step, d_model, warmup, factor = values
        return [factor / d_model ** 0.5 * min(1 / step ** 0.5, step / warmup ** 1.5)]

    return f"schedule, {what}", run, []


def call(seed, number):
    """What a call was, and its outcome: "right", "refused", or what is wrong."""
    rng = np.random.default_rng([seed, number])
    what, run, given = (of_layer, of_layer, of_layer, of_search, of_step, of_data)[rng.integers(6)](rng)
    what = f"{number}: {what}"
    try:
        with kernels_run():
            found = run(False)
    except InputError as error:
        return what, "refused" if "\n" not in str(error) else f"more than one line: {error}"
    except Exception as error:
        return what, f"{type(error).__name__}: {error}"
    try:
        expected = run(True)
    except InputError as error:
        return what, f"only the textbook refuses it: {error}"
    except Exception as error:
        return what, f"the textbook: {type(error).__name__}: {error}"
    dtypes = {str(value.dtype) for value in given if hasattr(value, "dtype")}
    tolerance = 1e-2 if "float16" in dtypes else 2e-3 if dtypes & {"float32", ">f4"} else 1e-9
    if len(found) != len(expected):
        return what, f"{len(found)} arrays, expected {len(expected)}"
    for one, other in zip(found, expected):
        one, other = np.asarray(one, float), np.asarray(other, float)
        if one.shape != other.shape or abs(one - other).max(initial=0) > tolerance * max(1, abs(other).max(initial=0)):
            return what, f"wrong numbers: {one.shape}, {other.shape}"
    return what, "right"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    outcomes = collections.Counter()
    warnings.simplefilter("ignore", RuntimeWarning)
    for number in range(options.start, options.start + options.count):
        what, outcome = call(options.seed, number)
        known = outcome in ("right", "refused")
        outcomes[outcome if known else "wrong"] += 1
        if not known:
            print(what, outcome, flush=True)
        if (number + 1) % 1000 == 0:
            print(f"{number + 1}: {dict(outcomes)}", flush=True)
    print(dict(outcomes))
    return bool(outcomes["wrong"])


if __name__ == "__main__":
    sys.exit(main())
