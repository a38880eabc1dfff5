"""Show how much faster each kernel is than its textbook, at the shapes of the training steps of
`step`.

One thread, its own processor time, in turns; a number is the median of the rounds' paired ratios.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from statistics import median

import numpy as np

from research.benchmarks.cases import CASES
from research.benchmarks.report import add_rounds
from minitransformer import Transformer, beam_search
from minitransformer import functional as F
from research.benchmarks.info import collect
from minitransformer.decoding.continuations import OutputWeight, continuations
from minitransformer.data.special import EOS
from minitransformer.dispatch import plugged, running, textbook_of
from minitransformer.layers import LinearCrossEntropy, OutputProjection, Residual
from minitransformer.speed.host import fast


def add_arguments(parser) -> None:
    add_rounds(parser, 15)


def pairs(case) -> Iterator[tuple[str, Callable, Callable, list]]:
    """(name, forward, backward, the inputs of forward) for the arrays of a case's training step."""
    rng, config = np.random.default_rng(0), case.config()

    def array(*shape) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    batch, length, d_model = case.sentences, case.length, config.d_model
    heads = (batch, length, config.num_heads, d_model // config.num_heads)
    x, wide = array(batch, length, d_model), array(batch, length, config.d_ff)
    query, key, value = (array(*heads).swapaxes(1, 2) for _ in range(3))
    mask = np.ones((batch, 1, 1, length), bool)
    yield (
        "layer_norm",
        F.layer_norm_forward,
        F.layer_norm_backward,
        [x, array(d_model), array(d_model)],
    )
    residual = Residual(d_model, 0.1, pre_norm=True)  # only the dropout and the sum
    yield "Residual", residual.forward, residual.backward, [x, x[::-1].copy(), rng]
    yield "dropout", F.dropout_forward, F.dropout_backward, [x, 0.1, rng]
    yield "relu", F.relu_forward, F.relu_backward, [wide]
    yield "gelu", F.gelu_forward, F.gelu_backward, [wide]
    yield (
        "attention",
        F.attention_forward,
        F.attention_backward,
        [query, key, value, mask, 0.1, rng],
    )
    targets = rng.integers(1, case.vocabulary, (batch, length))
    loss, output = LinearCrossEntropy(), OutputProjection(case.vocabulary, d_model, rng)
    yield (
        "output and loss",
        lambda *inputs: loss.forward(*inputs, padding=0),
        lambda dloss, cache: loss.backward(dloss, output, cache),
        [x, output, targets, 0.1],
    )


def ratios(work, turns) -> list[float]:
    """Time of the textbook / time of the kernels, for each turn."""
    found = []
    for _ in range(turns + 1):
        seconds = []
        for context in (textbook, nullcontext):
            with context():
                start = time.thread_time()
                work()
                seconds.append(time.thread_time() - start)
        found.append(seconds[0] / seconds[1])
    return found[1:]  # the first turn warms up


def textbook() -> AbstractContextManager[None]:
    """Within the block no kernel runs: something is plugged in, which is the textbook itself."""
    return plugged(F.causal_mask, textbook_of(F.causal_mask))


def measure(case, turns) -> Iterator[tuple[str, float, float]]:
    """(kernel, the ratio of its forward, of its backward)."""
    for name, forward, backward, inputs in pairs(case):
        repeat = max(1, 200_000 // inputs[0].size)

        def forwards() -> None:
            for _ in range(repeat):
                forward(*inputs)

        both = []
        for context in (textbook, nullcontext):  # each backward gets its own forward's cache
            with context():
                y, cache = forward(*inputs)
                dy = 1.0 if np.ndim(y) == 0 else np.ones_like(y)
                both.append((dy, cache))
        turn = iter(both * (turns + 1))

        def backwards() -> None:
            dy, cache = next(turn)
            for _ in range(repeat):
                backward(dy, cache)

        yield name, median(ratios(forwards, turns)), median(ratios(backwards, turns))
    yield from (
        (name, median(ratios(work, turns)), np.nan) for name, work in without_backward(case)
    )


def without_backward(case) -> Iterator[tuple[str, Callable]]:
    """(kernel, what it does)."""
    P = 1 << 20
    data, grad, m, v = (np.zeros(P, np.float32) for _ in range(4))
    yield (
        "adam_update",
        lambda: F.adam_update(data, grad, m, v, 1, 0.1, 1.0, 0.9, 0.98, 1e-9, np.True_),
    )
    yield "gather_gradients", lambda: F.gather_gradients(data, [grad])
    key = np.ones(1, "uint64")
    yield "random_words", lambda: F.random_words(key, case.sentences * case.length * 64)
    rng, config = np.random.default_rng(0), case.config()
    weight = OutputWeight(rng.standard_normal((case.vocabulary, config.d_model), np.float32))
    x, sums = rng.standard_normal((64, 5, config.d_model), np.float32), np.zeros((64, 5))
    yield "continuations", lambda: continuations(x, weight, sums, 5)
    model, source = Transformer(config), np.array([[*range(3, 15), EOS]])
    yield (
        "next_position",
        lambda: beam_search(model, source, 5, min_length=12, max_length=12),
    )  # a search of one sentence


def execute(args) -> None:
    running()
    facts = collect()
    print(
        f"{facts['processor']}, {facts['blas_kernels']} kernels, numpy {facts['numpy']}, numba {facts['numba']}"
    )
    print(f"{'':20} " + " ".join(f"{name:>15}" for name in CASES))
    print(f"{'':20} " + " ".join(f"{'forward':>8} {'back':>6}" for _ in CASES))
    with fast():
        columns = [
            {name: rest for name, *rest in measure(case, args.rounds)} for case in CASES.values()
        ]
    for name in columns[0]:
        print(
            f"{name:20} "
            + " ".join(
                " ".join(
                    f"{'' if np.isnan(ratio) else f'{ratio:.1f}':>{width}}"
                    for width, ratio in zip((8, 6), column[name])
                )
                for column in columns
            )
        )
