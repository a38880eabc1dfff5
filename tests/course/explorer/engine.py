"""The page's engine beside the library: random small models, computed by both in float64."""

import json
import tempfile
from pathlib import Path

import numpy as np

from minitransformer.data.batches import Batch
from minitransformer.data.windows import WindowBatch
from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.models import (
    LanguageModel,
    LanguageModelConfig,
    Transformer,
    TransformerConfig,
)
from minitransformer.training.optim import Adam
from minitransformer_course.explorer.page import ENGINE, engine_config, script
from minitransformer_course.explorer.recorded import record
from tests.helpers.browser import Browser
from tests.helpers.randomised import randomised

COMPUTE = """(({kind, config, weights, batch, smoothing, gradients}) => {
    const tensors = Object.entries(weights).map(([name, [shape, data]]) => [name, new Tensor(shape, Float64Array.from(data))]);
    const model = new ({Transformer, LanguageModel})[kind](config, Object.fromEntries(tensors));
    const {loss, mean, record, origins} = measure(model, batch, smoothing);
    const numbers = both => [both.y, both.dy].map(one => one.data ? [one.shape, [...one.data]] : [[], [one]]);
    const explained = array => array.data && [...array.data.keys()].map(i => totalOf(origins.of(array, i)));    // null would raise
    const each = (all, f) => Object.fromEntries(Object.entries(all).map(([name, one]) => [name, f(one)]));
    const adam = new Adam(), grads = each(model.parameters, one => [...one.grad.data]);
    const given = each(gradients, data => new Tensor([data.length], Float64Array.from(data)));
    const rest = [...origins.made].filter(([array]) => array !== mean).map(([array, {terms}]) =>
        Math.max(...array.data.map((a, i) => Math.abs(totalOf(terms(i)) - a))));
    return JSON.stringify({loss, arrays: each(record, numbers), grads, explainedLoss: explained(mean)[0],
        explained: each(record, one => [one.y, one.dy].map(explained)), rest: Math.max(...rest),
        explainedGrads: each(model.parameters, one => explained(one.grad)), steps: each(given, one => [...adam.step(one).data]),
        explainedSteps: each(given, grad => [...grad.data.keys()].map(i => totalOf(adam.terms({grad}).y(i))))});
})"""


def blank_page(folder, script=script):
    """A page that holds the engine and nothing else."""
    path = Path(folder) / "engine.html"
    path.write_text(
        "<!DOCTYPE html><meta charset=utf-8>"
        + "".join(f"<script>{script(name)}</script>" for name in (*ENGINE, "page/measure")),
        encoding="utf-8",
    )
    return path


def random_case(seed):
    """(model, batch, smoothing): of either kind, any of its choices, with or without padding, often
    of one token.
    """
    rng = np.random.default_rng(seed)

    def one_of(*choices):
        return choices[rng.integers(len(choices))]

    def ids(vocabulary, length):
        return rng.integers(EOS + 1, vocabulary, length).tolist()

    heads, V = one_of(1, 2, 3), int(rng.integers(6, 12))
    sizes = dict(
        num_layers=one_of(1, 2, 3),
        d_model=heads * one_of(3, 4),
        num_heads=heads,
        d_ff=one_of(5, 7),
        d_k=one_of(None, 2),
        d_v=one_of(None, 5),
        dropout=0.0,
        activation=one_of("relu", "gelu"),
        pre_norm=bool(seed % 2),
        positions=one_of("sinusoidal", "learned"),
        max_length=9,
        norm_epsilon=one_of(1e-5, 1e-2),
    )
    smoothing, length, padding = one_of(0.0, 0.1), one_of(1, 2, 5), one_of(0, 0, 2)
    if seed % 4 == 3:
        model = LanguageModel(
            LanguageModelConfig(vocab_size=V, share_output=one_of(True, False), **sizes), seed
        )
        text = ids(V, length + 1)
        batch = WindowBatch(
            np.array([text[:-1] + [PAD] * padding]), np.array([text[1:] + [PAD] * padding]), length
        )
    else:
        shared = one_of(True, False)
        model = Transformer(
            TransformerConfig(
                source_vocab=V if shared else V + 2,
                target_vocab=V,
                share_embeddings=shared,
                share_output=one_of(True, False),
                **sizes,
            ),
            seed,
        )
        target, source = ids(V, length - 1), ids(V, one_of(0, 1, 4))
        batch = Batch(
            np.array([[*source, EOS] + [PAD] * one_of(0, 0, 3)]),
            np.array([[BOS, *target] + [PAD] * padding]),
            np.array([[*target, EOS] + [PAD] * padding]),
            length,
        )
    return randomised(model, 0.3, seed), batch, smoothing


def differences(browser, model, batch, smoothing):
    """{what: the largest difference between engine and library}: the loss, each layer's value and
    gradient, each parameter's.

    Each a second time for the sum of the products with which the engine explains it, and Adam's
    first step.
    """
    weights = {
        name: [parameter.shape, parameter.data.ravel().tolist()]
        for name, parameter in model.parameters().items()
    }
    ids = {name: getattr(batch, name)[0].tolist() for name in batch._fields[:-1]}
    loss, arrays = record(model, batch, smoothing)
    grads = {name: parameter.grad.copy() for name, parameter in model.parameters().items()}
    case = dict(
        kind=type(model).__name__,
        config=engine_config(model),
        weights=weights,
        batch=ids,
        smoothing=smoothing,
        gradients={name: grad.ravel().tolist() for name, grad in grads.items()},
    )
    found = json.loads(browser.run(f"{COMPUTE}({json.dumps(case)})"))
    assert found["arrays"].keys() == {*arrays, "loss"}

    def difference(numbers, array):
        return float(np.abs(np.asarray(numbers).reshape(array.shape) - array).max(initial=0))

    before = {name: parameter.data.copy() for name, parameter in model.parameters().items()}
    Adam(model).step(1.0)
    steps = {name: parameter.data - before[name] for name, parameter in model.parameters().items()}
    return {
        "loss": abs(found["loss"] - loss),
        "loss, explained": abs(found["explainedLoss"] - loss),
        "all arrays that the engine makes, explained": found["rest"],
        **{
            f"{path}, {what}": difference(numbers, array)
            for path, both in arrays.items()
            for what, (_shape, numbers), array in zip(
                ("value", "gradient"), found["arrays"][path], both
            )
        },
        **{
            f"{path}, {what}, explained": difference(numbers, array)
            for path, both in arrays.items()
            for what, numbers, array in zip(("value", "gradient"), found["explained"][path], both)
        },
        **{
            f"{name}, {what}": difference(found[key][name], array)
            for key, arrays, what in (
                ("grads", grads, "gradient"),
                ("explainedGrads", grads, "gradient, explained"),
                ("steps", steps, "Adam's first step"),
                ("explainedSteps", steps, "Adam's first step, explained"),
            )
            for name, array in arrays.items()
        },
    }


def main():
    """The largest differences over 50 models."""
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        browser.open(blank_page(folder).as_uri())
        found = [differences(browser, *random_case(seed)) for seed in range(50)]
        browser.close()
    for what, chosen in (
        ("loss", lambda name: name == "loss"),
        ("values", lambda name: name.endswith("value")),
        ("gradients", lambda name: name.endswith("gradient")),
        ("steps", lambda name: name.endswith("step")),
        ("explanations", lambda name: name.endswith("explained")),
    ):
        numbers = [value for one in found for name, value in one.items() if chosen(name)]
        print(
            f"{what}: {len(numbers):,} compared in {len(found)} models, largest difference {max(numbers):.1e}"
        )


if __name__ == "__main__":
    main()
