"""The end of the capstone: the reader's model without an encoder, which learns to write like a text
that the reader chose.

It is the forward of `source=None`: `weights` then has no encoder and no cross-attention, and its
sizes are those of its arrays.
"""

import time
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minitransformer import LanguageModel, LanguageModelConfig
from minitransformer.checking.compare import relative_errors
from minitransformer.data.windows import WindowBatches
from minitransformer_course.judge.flat_weights import FlatWeights, gradients, put
from minitransformer_course.judge.own_text import OwnText
from minitransformer_course.messages import _

WINDOW, BATCH, D_MODEL, LAYERS, HEADS = 64, 16, 64, 2, 4
STEPS, WARMUP, LEARNING_RATE = 1500, 100, 0.003
LIMIT = 150  # seconds of processor time
WRITTEN = 300  # characters of a sample
TEMPERATURE = 0.8
BOUND = 1e-10


@cache
def language_model(vocab_size, d_model) -> LanguageModel:
    """The library's, by which the reader's is proven, and of whose initial weights both begin."""
    sizes = {"num_layers": LAYERS, "d_model": d_model, "d_ff": 2 * d_model, "num_heads": HEADS}
    config = LanguageModelConfig(vocab_size=vocab_size, max_length=WINDOW, dropout=0.0, **sizes)
    return LanguageModel(config).astype("float64")


def named(model) -> dict[str, Any]:
    """{name as in the specification: Parameter}."""
    return {
        name.replace("stack.layers.", "decoder.").replace(".norm.", "."): parameter
        for name, parameter in model.parameters().items()
    }


def library() -> dict[str, Callable]:
    """forward and backward for source=None, made of the library's model."""

    def model_of(weights) -> LanguageModel:
        model = language_model(*weights["embedding.weight"].shape)
        put(named(model), weights)
        return model

    def forward(weights, source, target) -> tuple:
        return model_of(weights).forward(target)

    def backward(dlogits, cache, weights) -> dict[str, np.ndarray]:
        model = model_of(weights)
        return gradients(model, named(model), dlogits, cache)

    return {"forward": forward, "backward": backward}


def first_wrong(functions) -> str:
    """The first array that differs from the library's without an encoder; "" if none does."""
    rng, model = np.random.default_rng(0), language_model(11, 32)
    for parameter in model.parameters().values():
        parameter.data[...] = 0.2 * rng.standard_normal(parameter.data.shape)
    weights = {name: parameter.data.copy() for name, parameter in named(model).items()}
    ids = rng.integers(1, 11, (3, 7))
    expected, cache = model.forward(ids)
    dlogits = rng.standard_normal(expected.shape)
    expected_gradients = gradients(model, named(model), dlogits, cache)
    right = {"logits": expected, **dict(reversed(expected_gradients.items()))}
    logits, own_cache = functions["forward"](weights, None, ids)
    found = {"logits": logits, **functions["backward"](dlogits, own_cache, weights)}
    arrays = [np.asarray(found.get(name, np.nan)) for name in right]
    errors = dict(zip(right, relative_errors(arrays, [*right.values()])))
    return next((name for name, error in errors.items() if not error <= BOUND), "")


def learn(functions, text: OwnText, say, steps=STEPS) -> dict[str, Any]:
    """{"losses": of each step, "bits": [(step, of a held-out character)], "samples": [(step,
    text)], "parameters", "weights": as float32 in base64, "tokens"} of a model that reads windows
    of the text.
    """
    started, rng = time.process_time(), np.random.default_rng(0)
    initial = LanguageModel(language_model(text.vocabulary.size, D_MODEL).config)
    weights = FlatWeights(named(initial))
    batches = WindowBatches(text.train, WINDOW, BATCH, seed=0)
    held_out = text.held_out[: 16 * (WINDOW + 1)]
    unseen = held_out[: len(held_out) // (WINDOW + 1) * (WINDOW + 1)].reshape(-1, WINDOW + 1)
    losses, bits, samples = [], [], []

    def show(step) -> None:
        logits, _cache = functions["forward"](weights.by_name(), None, unseen[:, :-1])
        total, _dlogits = functions["loss"](logits, unseen[:, 1:])
        bits.append((step, float(total) / unseen[:, 1:].size / np.log(2)))
        written = write(
            functions["forward"], weights.by_name(), unseen[0, :8].tolist(), rng, WRITTEN
        )
        samples.append((step, text.vocabulary.decode(written)))
        said = _(
            "step {step:5,}: {bits:.2f} bits for a character of the held-out text, {seconds:.0f} s"
        )
        say(said.format(step=step, bits=bits[-1][1], seconds=time.process_time() - started))

    show(0)
    for step in range(1, steps + 1):
        used = max((step - 1) / steps, (time.process_time() - started) / LIMIT)
        if used >= 1:
            break
        batch = next(batches)
        logits, cache = functions["forward"](weights.by_name(), None, batch.ids)
        total, dlogits = functions["loss"](logits, batch.next_target)
        found = functions["backward"](dlogits / batch.terms, cache, weights.by_name())
        rate = LEARNING_RATE * min(1, step / WARMUP) * (1 - used)
        weights.move(functions["adam_step"], found, step, rate)
        losses.append(float(total) / batch.terms)
        if step in (steps // 10, steps // 3):
            show(step)
    show(len(losses))
    return {
        "losses": losses,
        "bits": bits,
        "samples": samples,
        "parameters": weights.values.size,
        "weights": b64encode(weights.values.astype("<f4").tobytes()).decode(),
        "tokens": text.vocabulary.tokens(range(text.vocabulary.size)),
    }


def write(forward, weights, ids, rng, count) -> list[int]:
    """`ids` and what follows, each drawn from p, the unlikely ones a little less often."""
    for _step in range(count):
        logits, _cache = forward(weights, None, np.array([ids[-WINDOW:]]))
        row = logits[0, -1] / TEMPERATURE
        row[:3] = -np.inf  # padding and the ends of a word are no characters
        p = np.exp(row - row.max())
        ids = [*ids, int(rng.choice(len(p), p=p / p.sum()))]
    return ids
