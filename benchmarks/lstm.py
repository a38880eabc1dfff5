"""Compare a training step of one LSTM layer with PyTorch's nn.LSTM: forward, backward, Adam; in turns, on one thread.

The ratio is tokens per second here over those of PyTorch: the median of the rounds' own ratios, and their middle half. Also
prints where the time of a step goes here. Needs torch: pip install ".[bench]".
"""

import os
import time
from collections.abc import Callable
from statistics import median, quantiles

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from benchmarks.report import add_rounds
from minitransformer import Adam, fast
from minitransformer.cli.info import collect
from minitransformer.extras import require
from minitransformer.zoo import baselines as R
from minitransformer.zoo.baselines import LSTM

LENGTH, SENTENCES, WIDTHS = 32, 32, (128, 256)
TURN = 5    # steps


def make_data(width) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((SENTENCES, LENGTH, width)).astype(np.float32) for _ in range(2))


def make_ours(width) -> tuple[LSTM, Callable[[], None]]:
    layer, (x, dy) = LSTM(width, width, np.random.default_rng(0)), make_data(width)
    adam, dfinal = Adam(layer), np.zeros((SENTENCES, 2 * width), np.float32)

    def step() -> None:
        _, cache = layer.forward(x)
        layer.backward((dy, dfinal), cache)
        adam.step(1e-4)
    return layer, step


def make_theirs(width) -> Callable[[], None]:
    import torch

    layer, (x, dy) = torch.nn.LSTM(width, width, batch_first=True), map(torch.from_numpy, make_data(width))
    adam = torch.optim.Adam(layer.parameters(), 1e-4, fused=True)
    x.requires_grad_()    # there would be a layer below

    def step() -> None:
        adam.zero_grad()
        x.grad = None
        y, _ = layer(x)
        y.backward(dy)
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        adam.step()
    return step


def seconds_of(work, times=TURN) -> float:
    since = time.process_time()    # not disturbed by other work; one thread, so nothing else is left out
    for _ in range(times):
        work()
    return (time.process_time() - since) / times


def parts(layer, width) -> dict[str, Callable]:
    """{part of a step: a call of it}."""
    (x, _), dfinal = make_data(width), np.zeros((SENTENCES, 2 * width), np.float32)
    x = np.ascontiguousarray(x.swapaxes(0, 1))
    z, input = layer.input.forward(x)
    state, weight = np.zeros_like(dfinal), layer.weight.data
    states, cache = R.lstm_forward(z, state, weight)
    dstates = np.ones_like(states)
    dz = np.ones_like(z[0])
    return {"input product, forward": lambda: layer.input.forward(x),
            "input product, backward": lambda: layer.input.backward(z, input),
            "through time, forward": lambda: R.lstm_forward(z, state, weight),
            "  its products of a state": lambda: [states[0, :, :width] @ weight for _ in range(LENGTH)],
            "through time, backward": lambda: R.lstm_backward(dstates, cache),
            "  its products of a gradient": lambda: [dz @ weight.T for _ in range(LENGTH)],
            "  its product for the weight": lambda: states[:, :, :width].reshape(-1, width).T @ z.reshape(-1, 4 * width)}


def add_arguments(parser) -> None:
    add_rounds(parser, 30, least=2)    # quartiles


def execute(args) -> None:
    torch, rounds = require("torch"), args.rounds
    torch.set_num_threads(1)
    print(f"{LENGTH} x {SENTENCES} tokens, float32, one thread; NumPy {np.__version__}, PyTorch {torch.__version__}, "
          f"OpenBLAS kernels: {collect()['blas_kernels']}")
    with fast():
        for width in WIDTHS:
            layer, ours = make_ours(width)
            theirs = make_theirs(width)
            times = [(seconds_of(ours), seconds_of(theirs)) for _ in range(rounds + 2)][2:]
            ratios = [there / here for here, there in times]
            low, _, high = quantiles(ratios, n=4)
            here, there = (LENGTH * SENTENCES / median(column) for column in zip(*times))
            print(f"d = {width}: {here:,.0f} tokens/s here, {there:,.0f} in PyTorch: {median(ratios):.2f} "
                  f"({low:.2f} to {high:.2f})")
            for name, call in parts(layer, width).items():
                print(f"    {name:30} {1000 * min(seconds_of(call, 1) for _ in range(rounds)):6.2f} ms")
