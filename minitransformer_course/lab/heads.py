"""What the chapter on heads needs: a model that has attention and nothing else, and pictures of
what its heads do.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from minitransformer.layers.layer import Layer
from minitransformer.models import LanguageModel, LanguageModelConfig
from minitransformer_course.lab.example import LETTERS
from minitransformer_course.lab.pictures import smoothed


class AddsNothing(Layer):
    """In place of a feed-forward network: what it adds is 0."""

    def forward(self, x, rng=None) -> tuple[np.ndarray, None]:
        return np.zeros_like(x), None

    def backward(self, dy, cache) -> np.ndarray:
        return np.zeros_like(dy)


def attention_only(num_layers=2, num_heads=1, seed=0) -> LanguageModel:
    """A model of letters without feed-forward networks: pre-norm, and its output has a matrix of
    its own.
    """
    model = _paper(num_layers, num_heads, seed)
    for layer in model.stack.layers:
        layer.feed_forward = AddsNothing()  # type: ignore[assignment]
    return model


def with_zeros(model) -> LanguageModel:
    """The same model of the paper's layers alone: feed-forward networks of one number, all weights
    0, add nothing either.
    """
    config, trained = model.config, model.parameters()
    same = _paper(config.num_layers, config.num_heads)
    for name, parameter in same.parameters().items():
        parameter.data[...] = trained[name].data if name in trained else 0
    return same


def _paper(num_layers, num_heads, seed=0) -> LanguageModel:
    return LanguageModel(
        LanguageModelConfig(
            vocab_size=LETTERS.size,
            max_length=48,
            num_layers=num_layers,
            d_model=max(32, 16 * num_heads),
            d_ff=1,
            num_heads=num_heads,
            dropout=0.0,
            pre_norm=True,
            share_output=False,
        ),
        seed=seed,
    )


def show_cliff(losses, scores) -> None:
    """Draw training losses, {number of layers: a list for each seed}, and beside the last run of
    two layers the prefix score of each layer's head, {step: (layer 1, layer 2)}.
    """
    _figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    for (layers, runs), style in zip(losses.items(), ("k-", "r--")):
        for seed, run in enumerate(runs):
            name = "" if seed else f"layers: {layers}, {len(runs)} seeds"
            left.plot(smoothed(run, 10), style, linewidth=1, label=name)
    left.axhline(np.log(8), color="0.5", linestyle=":", label="ln 8")
    right.plot(smoothed(losses[2][-1], 10), "k-", label="loss")
    for axes in (left, right):
        axes.set(xlabel="training step", ylabel="loss for each repeated letter", ylim=(0, 4))
    score = right.twinx()
    for layer, style in ((0, ":"), (1, "-")):
        found = [one[layer] for one in scores.values()]
        score.plot(
            list(scores), found, style, color="tab:orange", label=f"head of layer {layer + 1}"
        )
    score.set(ylabel="prefix score", ylim=(0, 1))
    left.legend(fontsize=9, loc="upper right")
    score.legend(fontsize=9, loc="center right")


def show_looks(weights, text) -> None:
    """Draw the first head of each layer while it reads a text; weights: (1, H, T, T) of each."""
    figure, axes = plt.subplots(1, len(weights), figsize=(9.5, 4.2), layout="constrained")
    for layer, (one, found) in enumerate(zip(axes, weights), 1):
        image = _letters(one, found[0, 0], text, text, "Blues", (0, 1))
        one.set(title=f"layer {layer}", xlabel="key: the letter it may look at")
    axes[0].set(ylabel="query: the letter that looks")
    figure.colorbar(image, ax=axes, label="attention weight")


def show_read(p, text) -> None:
    """Draw the probability of each next letter, read after no layer and after each: p (L, T)."""
    figure, axes = plt.subplots(figsize=(9, 2.2), layout="constrained")
    layers = ["no layer", *(f"layer {layer}" for layer in range(1, len(p)))]
    image = _letters(axes, p, text[1:], layers, "Blues", (0, 1))
    axes.set(xlabel="letter that comes next", ylabel="read after")
    figure.colorbar(image, label="probability")


def show_patches(measured, estimated, text) -> None:
    """Draw what each patch changes, (L, T), as it was measured and as a gradient estimates it."""
    figure, both = plt.subplots(2, 1, figsize=(9, 3.8), layout="constrained")
    titles = "measured: one forward for each patch", "estimated: one backward for all"
    for axes, numbers, title in zip(both, (measured, estimated), titles):
        largest = np.abs(numbers).max()
        layers = [f"layer {layer}" for layer in range(1, len(numbers) + 1)]
        image = _letters(axes, numbers, text, layers, "RdBu_r", (-largest, largest))
        axes.set(title=title, xlabel="position of what was moved", ylabel="head of")
        figure.colorbar(image, ax=axes, label="change of d")


def _letters(axes, numbers, columns, rows, cmap, limits) -> Any:
    image = axes.imshow(numbers, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    return image
