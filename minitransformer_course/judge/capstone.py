"""The capstone: the reader's own model, its gradients against one_file.py's, then training until it
writes words backwards.

The model is the FUNCTIONS of {name: array}; names and shapes are one_file.py's. Those that the
reader's my_model.py lacks are the library's, in which the reader's functions of my_transformer.py
run.
"""

import dataclasses
import runpy
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from minitransformer import Transformer, TransformerConfig
from minitransformer.checking.compare import relative_error, relative_errors
from minitransformer.data.batches import make_batch
from minitransformer.decoding import beam_search
from minitransformer.functional import adam_update, cross_entropy_backward, cross_entropy_forward
from minitransformer.data.special import EOS, PAD
from minitransformer.training.optim import schedule
from minitransformer.cores import one_blas_thread
from minitransformer_course.judge import capstone_text
from minitransformer_course.judge.call import describe
from minitransformer_course.judge.capstone_train import (
    ADAM,
    BATCH,
    CALLED,
    watching,
    wrong_in_training,
)
from minitransformer_course.judge.course import find_exercise, folder_of_chapters
from minitransformer_course.judge.flat_weights import FlatWeights, gradients, put
from minitransformer_course.messages import _
from minitransformer_course.judge.my_transformer import FUNCTIONS
from minitransformer_course.judge.own_text import FILE, own_text
from minitransformer_course.judge.plug import plugs

BOUND = 1e-10
SIZES: dict[str, Any] = {
    "vocab_size": 29,
    "d_model": 32,
    "num_heads": 4,
    "d_ff": 64,
    "num_layers": 2,
    "dropout": 0.0,
}
STEPS, WARMUP, DROPOUT = 2000, 400, 0.05
WORDS, LETTERS, UNSEEN = 20_000, 6, 200
LIMIT = 150  # seconds of processor time for training
PAIRS = [
    ([4, 9, 3, 3, 7], [5, 8]),
    ([6], [10, 3, 5]),
    ([3, 10], [4]),
]  # padding on both sides, a letter twice


class Wrong(Exception):
    """A function of the reader's returns something other than it should."""


def run(parts, own, steps=STEPS, say=lambda text: None) -> dict[str, Any]:
    """{"own", "errors", "not_passed", "steps", "exact", "seconds", "example"}, or {"own", "error":
    (what, where)}.

    parts: the reader's {name of an exercise: function}; own: those of FUNCTIONS. Trains if no error
    is above BOUND. say(text) is called now and then.
    """
    from minitransformer_course.judge.judgement import check_function

    paper = SimpleNamespace(**runpy.run_path(str(folder_of_chapters() / "one_file.py")))
    result: dict[str, Any] = {"own": list(own), "not_passed": []}
    with one_blas_thread, plugs(parts), np.errstate(all="ignore"):
        functions = library()
        functions |= own
        for name in CALLED if "train" in own else ():
            own["train"].__globals__[name] = functions[name]  # those that the file lacks
        try:
            result["errors"], result["first_wrong"] = proof(paper, functions)
            if max(result["errors"].values()) <= BOUND:
                parameters, pairs = (
                    paper.parameters(paper.Transformer(**SIZES)),
                    _pairs(np.random.default_rng(0), 300),
                )
                result["train"] = (
                    wrong_in_training(paper, functions, parameters, pairs) if "train" in own else ""
                )
                if result["train"]:
                    return result
                say(
                    _(
                        "the same as tutorials/one_file.py; training until {n} words that it never saw are right"
                    ).format(n=UNSEEN)
                )
                result |= train(paper, functions, "train" in own, steps, say)
                if result["exact"] == 1 and Path(FILE).exists():
                    result["text"] = write_text(functions, own, say)
                return result
        except Wrong as error:
            return {**result, "error": (str(error), "")}
        except Exception as error:  # the reader's function, or the library's that got its answer
            return {**result, "error": describe(error)}
    if "adam_step" in own and result["errors"]["adam_step"] > BOUND:
        result["likely"] = check_function(
            find_exercise("adam_step"), own["adam_step"], watched=False
        ).diagnosis
    result["not_passed"] = [
        name
        for name in parts
        if not check_function(find_exercise(name), parts[name], watched=False).passed
    ]
    return result


def write_text(functions, own, say) -> dict[str, Any]:
    """What capstone_text.learn returns for the reader's text, or {"wrong": what forbids it}."""
    mine = "forward" in own and "backward" in own
    functions = {**functions, **({} if mine else capstone_text.library())}
    try:
        wrong = capstone_text.first_wrong(functions)
        if wrong:
            said = _("with source=None, {name} is missing or differs from the library's")
            return {"wrong": said.format(name=wrong)}
        say(_("the same without an encoder; now it learns from {file}").format(file=FILE))
        return capstone_text.learn(functions, own_text(FILE), say)
    except Exception as error:  # the reader's function
        what, where = describe(error)
        return {"wrong": _("with source=None: {error}").format(error=f"{where}: {what}")}


def config() -> TransformerConfig:
    """SIZES as the library says it."""
    vocabulary, sizes = (
        SIZES["vocab_size"],
        {name: size for name, size in SIZES.items() if name != "vocab_size"},
    )
    return TransformerConfig(source_vocab=vocabulary, target_vocab=vocabulary, **sizes)


@cache
def _model(dropout) -> Transformer:
    return Transformer(dataclasses.replace(config(), dropout=dropout)).astype("float64")


def named(model) -> dict[str, Any]:
    """{name as in one_file.py: Parameter} of the library's model."""
    return {
        name.replace("target_embedding.", "embedding.")
        .replace(".layers.", ".")
        .replace(".norm.", "."): parameter
        for name, parameter in model.parameters().items()
    }


def with_weights(weights, dropout=0.0) -> Transformer:
    """The library's model with these weights, until the next call."""
    model = _model(dropout)
    put(named(model), weights)
    return model


def library() -> dict[str, Callable]:
    """FUNCTIONS, made of the library's Transformer; train calls what the dict holds then."""

    def forward(weights, source, target, dropout=0.0, rng=None) -> tuple:
        logits, cache = with_weights(weights, dropout).forward(source, target, rng=rng)
        return logits, (cache, dropout)

    def backward(dlogits, cache, weights) -> dict[str, np.ndarray]:
        cache, dropout = cache
        model = with_weights(weights, dropout)
        return gradients(model, named(model), dlogits, cache)

    def loss(logits, next_target) -> tuple:
        total, cache = cross_entropy_forward(logits, next_target, padding=PAD)
        return total, cross_entropy_backward(1.0, cache)

    def adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon) -> tuple:
        w, g, m, v = w.copy(), g.copy(), m.copy(), v.copy()
        adam_update(w, g, m, v, t, learning_rate, 1.0, beta1, beta2, epsilon, np.array(True))
        return w, m, v

    def write(weights, source, length) -> np.ndarray:
        found = [
            best.ids
            for best, *_others in beam_search(with_weights(weights), source, 1, max_length=length)
        ]
        return np.array([(ids + [EOS] * length)[:length] for ids in found])

    def train(pairs, rng, dropout, warmup) -> Iterator[tuple]:
        flat = FlatWeights(named(Transformer(config(), seed=int(rng.integers(2**31)))))
        for step in count(1):
            weights = flat.by_name()
            source, target, next_target, tokens = make_batch(
                [pairs[i] for i in rng.integers(len(pairs), size=BATCH)]
            )
            logits, cache = functions["forward"](
                weights, source, target, *([dropout, rng] if dropout else [])
            )
            total, dlogits = functions["loss"](logits, next_target)
            found = functions["backward"](dlogits / tokens, cache, weights)
            rate = schedule(step, SIZES["d_model"], warmup)
            flat.move(functions["adam_step"], found, step, rate)
            yield total / tokens, flat.by_name()

    functions: dict[str, Callable] = dict(
        zip(FUNCTIONS, (forward, backward, loss, adam_step, write, train))
    )
    return functions


def proof(paper, functions) -> tuple[dict[str, float], str | None]:
    """{array: how far it is from one_file.py's}, in the order in which they are computed: gradients
    begin at the loss. And what `first_wrong` says, or None if the logits are right.

    Each function is given one_file.py's own results of those before it, so that one mistake makes
    no other function wrong.
    """
    model, rng = paper.Transformer(**SIZES), np.random.default_rng(0)
    for parameter in paper.parameters(model).values():
        parameter.data += 0.1 * rng.standard_normal(
            parameter.data.shape
        )  # biases and betas are not 0
    weights = {name: parameter.data.copy() for name, parameter in paper.parameters(model).items()}
    source, target, next_target = paper.make_batch(PAIRS)
    expected, cache = model.forward(source, target)
    total, loss_cache = paper.cross_entropy_forward(expected, next_target, 0.0)
    dexpected = paper.cross_entropy_backward(1.0, loss_cache)
    model.backward(dexpected, cache)

    logits, cache = _pair("forward", functions["forward"](weights, source, target))
    if not np.array_equal(functions["forward"](weights, source, target)[0], logits, equal_nan=True):
        raise Wrong(
            _(
                "forward gives other logits when it is called again: without a generator there is no dropout"
            )
        )
    real = next_target != PAD  # what stands at padding is never read
    errors = {
        "logits": relative_error([logits[real]], [expected[real]])
        if np.shape(logits) == expected.shape
        else np.inf
    }
    loss, dlogits = _pair("loss", functions["loss"](expected, next_target))
    errors |= {
        "loss": relative_error([loss], [total]),
        "dlogits": relative_error([dlogits], [dexpected]),
    }
    gradients = functions["backward"](dexpected, cache, weights)
    if not isinstance(gradients, dict):
        raise Wrong(
            _("backward returns {got}, expected a dict of gradients by name").format(
                got=type(gradients).__name__
            )
        )
    changed = [
        name
        for name, parameter in paper.parameters(model).items()
        if not np.array_equal(weights[name], parameter.data)
    ]
    if changed:
        raise Wrong(
            _("forward or backward changes the weights that it is given: {name}").format(
                name=changed[0]
            )
        )
    right = {name: parameter.grad for name, parameter in reversed(paper.parameters(model).items())}
    errors |= dict(
        zip(
            right,
            relative_errors(
                [np.asarray(gradients.get(name, np.nan)) for name in right], [*right.values()]
            ),
        )
    )
    given = (*rng.standard_normal((3, 50)), rng.random(50), 3, 0.01, *ADAM)
    moved = functions["adam_step"](*given)
    errors["adam_step"] = relative_error(moved, find_exercise("adam_step").reference(*given))
    length = 6
    with watching(functions["greedy"], functions) as seen:
        written = functions["greedy"](weights, source, length)
    if any(given[4:] not in ([], [None]) for given, _out in seen["forward"]):
        raise Wrong(
            _("greedy calls forward with a generator: there is no dropout when a model writes")
        )
    alike = [
        upto(ids) == upto(other[:length])
        for ids, other in zip(written, paper.greedy(model, source))
    ]
    errors["greedy"] = 0.0 if alike and all(alike) else float("inf")
    return errors, first_wrong(paper, functions["forward"], weights, source, target) if errors[
        "logits"
    ] > BOUND else None


def first_wrong(paper, forward, weights, source, target) -> str:
    """The sub-layer that makes the logits wrong, if all add 0 at first and are then turned on one
    by one; "": none is needed.
    """
    model, real = paper.Transformer(**SIZES), target != PAD
    last = [name for name in weights if ".output." in name or ".outer." in name]
    given = {**weights, **{name: 0 * weights[name] for name in last}}
    layers = sorted(
        dict.fromkeys(name.rsplit(".", 2)[0] for name in last),
        key=lambda name: name.startswith("encoder"),
    )
    for layer in [
        "",
        *layers,
    ]:  # the encoder's last, since only what is in the decoder makes them heard
        given |= {name: weights[name] for name in last if layer and name.startswith(layer + ".")}
        for name, parameter in paper.parameters(model).items():
            parameter.data[...] = given[name]
        logits, expected = forward(given, source, target)[0], model.forward(source, target)[0]
        if (
            np.shape(logits) != expected.shape
            or relative_error([logits[real]], [expected[real]]) > BOUND
        ):
            return layer
    return ""


def _pair(name, returned) -> tuple:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise Wrong(
            _("{name} returns {got}, expected two things").format(
                name=name, got=type(returned).__name__
            )
        )
    return returned


def upto(ids) -> list[int]:
    """The ids before the end of the text."""
    ids = [int(one) for one in ids]
    return ids[: ids.index(EOS)] if EOS in ids else ids


class Learned(NamedTuple):
    """The model after a step of its training."""

    step: int
    loss: float
    # -> means over up to 100 steps, as the paper's are of its last checkpoints
    weights: Callable[[], dict[str, np.ndarray]]
    measure: Callable[[], tuple]  # -> (the share of UNSEEN words that are right, [word, written])


def learning(paper, functions, own, seed=0) -> Iterator[Learned]:
    """Train on words and the same words backwards, endlessly.

    own: whether train(...) is the reader's, whose forward has dropout then.
    """
    rng = np.random.default_rng(seed)
    unseen = _pairs(rng, UNSEEN)
    pairs = [pair for pair in _pairs(rng, WORDS) if pair not in unseen]
    source, _target, _next = paper.make_batch(unseen)
    kept: list[dict[str, np.ndarray]] = []

    def mean() -> dict[str, np.ndarray]:
        return {name: np.mean([one[name] for one in kept], axis=0) for name in kept[-1]}

    def measure() -> tuple:
        written = [*map(upto, functions["greedy"](mean(), source, LETTERS + 1))]
        right = [one == target for one, (_source, target) in zip(written, unseen)]
        return float(np.mean(right)), [_word(paper, ids) for ids in (unseen[0][0], written[0])]

    dropout = DROPOUT if own else 0.0
    for step, (loss, weights) in enumerate(functions["train"](pairs, rng, dropout, WARMUP), 1):
        kept = [*kept[-99:], {name: one.copy() for name, one in weights.items()}]
        yield Learned(step, float(loss), mean, measure)


def _word(paper, ids) -> str:
    return "".join(paper.VOCABULARY[i] for i in ids)


def train(paper, functions, own, steps, say, seed=0) -> dict[str, Any]:
    """Train until all UNSEEN words that the model never saw are right, or for `steps` steps."""
    started, exact = time.process_time(), 0.0
    for seen in learning(paper, functions, own, seed):
        late = time.process_time() - started > LIMIT
        if seen.step % 100 == 0 or seen.step >= steps or late:
            exact, example = seen.measure()
            said = _(
                "step {step:5,}: loss {loss:.3f}, {exact:.1%} of {n} unseen words right, {seconds:.0f} s"
            )
            seconds = time.process_time() - started
            say(said.format(step=seen.step, loss=seen.loss, exact=exact, n=UNSEEN, seconds=seconds))
        if exact == 1 or late or seen.step >= steps:
            break
    return {
        "steps": seen.step,
        "exact": exact,
        "seconds": time.process_time() - started,
        "example": example,
    }


def _pairs(rng, n) -> list[tuple[list[int], list[int]]]:
    """Words of up to LETTERS letters, each with itself backwards."""
    words = [
        rng.integers(EOS + 1, SIZES["vocab_size"], rng.integers(1, LETTERS + 1)).tolist()
        for _word in range(n)
    ]
    return [(word, word[::-1]) for word in words]
