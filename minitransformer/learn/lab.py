"""What several chapters need and no chapter is about: the running example, its attention, the map, and pictures in a script.

The running example is a small trained Transformer that writes a word backwards. tutorials/drawkcab/train.py makes its weights.
"""

import atexit
import string
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Transformer, TransformerConfig, beam_search, greedy, load_weights, make_batch
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.decoding.cached import CachedStack
from minitransformer.functional import attention_forward, softmax_forward
from minitransformer.functional.special import BOS, EOS, SPECIAL
from minitransformer.learn.at_work import at_work as run
from minitransformer.learn.course import PACKAGE, folder_in
from minitransformer.learn.messages import _
from minitransformer.learn.progress import PASSED, Progress
from minitransformer.pictures import architecture
from minitransformer.pictures.attention_map import Attended
from minitransformer.tasks.text_to_text import attended

LETTERS = SymbolVocabulary(string.ascii_lowercase, joint="")
CONFIG = TransformerConfig(num_layers=1, d_model=32, num_heads=4, d_ff=128, dropout=0.0,
                           source_vocab=LETTERS.size, target_vocab=LETTERS.size)

PARTS = {    # {part of the map: the exercises that make it the reader's own}
    "linear": ["linear_backward"],
    "embedding": ["embedding_backward"],
    "positions": ["sinusoids"],
    "softmax": ["softmax", "softmax_backward"],
    "attention": ["attention", "attention_backward"],
    "masks": ["padding_mask", "causal_mask"],
    "heads": ["split_heads", "merge_heads"],
    "residual": ["residual_backward"],
    "layer_norm": ["layer_norm", "layer_norm_backward"],
    "feed_forward": ["feed_forward_backward"],
    "dropout": ["dropouts_backward"],
    "encoder": ["multi_head", "feed_forward_backward", "post_norm_backward"],
    "decoder": ["decoder_layer", "memory_backward"],
    "decoding": ["nucleus", "beam_step", "ranked", "cached_step"],
}


def you_are_here(*parts) -> None:
    """Draw the map with this chapter's parts outlined, and filled those whose exercises pass in the current folder."""
    progress = Progress(".")
    own = [part for part, names in PARTS.items() if all(progress.of(name)["state"] == PASSED for name in names)]
    figure = plt.figure()
    axes = figure.add_axes((0, 0, 1, 1))
    architecture.draw(axes, here=parts, own=own)
    figure.set_size_inches(architecture.WIDTH, axes.get_ylim()[1])    # one unit is an inch


def drawkcab() -> tuple[Transformer, SymbolVocabulary]:
    """(model, vocabulary) of the running example: a new model at each call, so change its weights as you like."""
    model = Transformer(CONFIG)
    load_weights(model, folder_in(PACKAGE) / "drawkcab" / "weights.safetensors")
    return model, LETTERS


def write(model, vocabulary, word) -> str:
    """What the model writes, letter by letter, after it has read `word`. Raises InputError for anything but letters a to z."""
    return vocabulary.decode(greedy(model, np.array([[*vocabulary.encode(word), EOS]]))[0])


def at_work(word="backward") -> None:
    """Let the reader's functions, all that pass so far, run inside the running example: it writes the word backwards."""
    run(*drawkcab(), write, word)


def attention_of(model, vocabulary, word, kind="cross") -> Attended:
    """The attention of the last layer while the model reads `word` and writes its answer: weights (H, T_q, T_k) and the tokens.

    kind: "encoder", "decoder" or "cross".
    """
    found = attended(model, vocabulary, vocabulary.encode(word))[kind]
    return found._replace(weights=found.weights[-1][0])


def show_map(axes, found, head=0) -> Any:
    """Draw one head of what `attention_of` returns: a row for each query, a column for each key. Returns the image."""
    image = axes.imshow(found.weights[head], cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(found.keys)), found.keys)
    axes.set_yticks(range(len(found.queries)), found.predicted or found.queries)
    axes.set_xlabel("key: the letter it may look at")
    axes.set_ylabel("query: the letter being written" if found.predicted else "query: the letter that looks")
    axes.set_title(f"head {head}", fontsize=10)
    return image


def deep(pre_norm, seed) -> tuple[Transformer, Any, float]:
    """(model, cache, dloss): an untrained model of 24 layers in each stack, before its backward on eight random texts."""
    model = Transformer(TransformerConfig.named("toy", 30, num_layers=24, d_model=16, d_ff=64, pre_norm=pre_norm), seed=seed)
    texts = np.random.default_rng(seed).integers(len(SPECIAL), 30, (8, 10)).tolist()
    batch = make_batch([(text, text) for text in texts])
    return model, model.loss_forward(batch)[1], 1 / batch.terms


def show_norm(both, x, n, dx) -> None:
    """Draw LayerNorm of rows of three numbers on two axes in 3-D: x on the way to n, and, seen along (1, 1, 1), dx from n.

    x, n, dx: (N, 3).
    """
    angles = np.linspace(0, 2 * np.pi, 100)
    circle = np.outer(np.cos(angles), (1, -1, 0)) / 2 ** 0.5 + np.outer(np.sin(angles), (1, 1, -2)) / 6 ** 0.5
    both[0].scatter(*x.T, color="silver", label="rows x")
    both[0].quiver(*x.T, *(n - x).T, color="silver", linewidth=1, arrow_length_ratio=0.1)
    both[0].plot(*np.outer((1, 1, 1), (-3, 3)), ":", color="black", label="along (1, 1, 1)")
    both[0].view_init(elev=12, azim=-35)
    both[1].quiver(*n.T, *dx.T, color="tab:purple", label="dx, drawn from n")
    both[1].view_init(elev=np.degrees(np.arctan(2 ** -0.5)), azim=45)
    for axes, title, reach in zip(both, ("LayerNorm moves each row onto the circle", "seen along (1, 1, 1)"), (3, 2)):
        axes.plot(*3 ** 0.5 * circle.T, color="gray", linewidth=1)
        axes.scatter(*n.T, color="black", label="rows n")
        axes.set(title=title, xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach),
                 xlabel="first number", ylabel="second number", zlabel="third number")
        axes.set_box_aspect((1, 1, 1), zoom=0.85)
        axes.locator_params(nbins=4)
        axes.legend(loc="upper left")


def show_orders(both) -> None:
    """Draw a sub-layer f in its residual with a LayerNorm, post-norm and pre-norm, and the gradient's direct path, on two axes."""
    orders = (("post-norm: y = LayerNorm(x + f(x))", {"f": (1.5, 1.4), "+": (0, 2.1), "LayerNorm": (0, 3)}),
              ("pre-norm: y = x + f(LayerNorm(x))", {"LayerNorm": (1.5, 1.2), "f": (1.5, 2.1), "+": (0, 3)}))
    for axes, (title, boxes) in zip(both, orders):
        top = boxes["+"][1]
        axes.annotate("", (0, 0.2), (0, 4), arrowprops={"arrowstyle": "->", "color": "tab:purple", "linewidth": 5, "alpha": 0.5})
        axes.plot([0, 0], [0, 4], color="black")
        axes.plot([0, 1.5, 1.5, 0], [0.6, 0.6, top, top], color="black")
        for name, (x, y) in {"x": (0, 0), **boxes, "y": (0, 4)}.items():
            axes.text(x, y, name, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"})
        axes.text(-0.2, 1.4, "the gradient's\ndirect path", ha="right", va="center", color="tab:purple")
        axes.set(title=title, xlim=(-1.6, 2.3), ylim=(-0.4, 4.4))
        axes.axis("off")


def show_tree(axes, tried, finished) -> None:
    """Draw every hypothesis of a beam search on its way from left to right: `tried` is [(path, log-probability)].

    A path is a tuple of words. Those that lived on have a thick frame; those in `finished` are green.
    """
    lived = {path[:-1] for path, _total in tried}
    leaves = [path for path, _total in tried if path not in lived]
    leaves.sort(key=lambda path: [[one for one, _total in tried].index(path[:n]) for n in range(2, len(path) + 1)])
    height: dict[tuple, Any] = {path: -i for i, path in enumerate(leaves)}
    for path in sorted(lived, key=len, reverse=True):
        height[path] = np.mean([y for child, y in height.items() if child[:-1] == path])
    for path, total in [(("<s>",), 0.0), *tried]:
        x, y = len(path) - 1, height[path]
        if x:
            axes.plot([x - 1, x], [height[path[:-1]], y], color="silver", zorder=0)
        axes.text(x, y, f"{path[-1]} {np.exp(total):.2f}", ha="center", va="center", bbox={
            "boxstyle": "round", "facecolor": "lightgreen" if path in finished else "white",
            "linewidth": 2.5 if path in lived or path in finished else 0.5})
    axes.set(xlim=(-0.4, max(map(len, height)) - 0.6), ylim=(0.6 - len(leaves), 0.6), xticks=range(max(map(len, height))),
             yticks=(), xlabel="tokens written")
    axes.spines[["left", "right", "top"]].set_visible(False)


def steps_of(model, vocabulary, word) -> np.ndarray:
    """The logits (T, V) of each step while the model writes `word` backwards, each time the most likely letter."""
    source, written = np.array([[*vocabulary.encode(word), EOS]]), vocabulary.encode(write(model, vocabulary, word))
    return model.forward(source, np.array([[BOS, *written]]))[0][0].astype("float64")


def show_steps(logits, letters=LETTERS) -> None:
    """Draw a row for each step of writing: the probability of each token, from its logits (T, V)."""
    p = softmax_forward(logits)[0][:, EOS:]
    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    image = axes.imshow(p, cmap="Blues", vmin=0, vmax=1)
    axes.set(yticks=range(len(p)), yticklabels=range(1, len(p) + 1), xlabel="token that may come next", ylabel="step of the loop")
    axes.set_xticks(range(p.shape[1]), letters.listed[EOS:])
    figure.colorbar(image, label="probability")


def race(cached, x, weights) -> None:
    """Causal attention over x (T, d), all positions again for each output, against cached(t): print and draw differences and times.

    Of eight positions in a row the fastest counts: the machine has other work, too.
    """
    def again(t) -> np.ndarray:
        query, key, value = (x[:t + 1] @ w for w in weights)
        return attention_forward(query, key, value, np.tri(t + 1, dtype=bool))[0][-1]

    outputs, seconds = [], []
    for step in (again, cached):
        ends, made = [time.perf_counter()], []
        for t in range(len(x)):
            made.append(step(t))
            ends.append(time.perf_counter())
        outputs.append(np.array(made))
        seconds.append(np.diff(ends).reshape(-1, 8).min(axis=1))
    print(f"largest difference {np.abs(outputs[0] - outputs[1]).max():.0e}, "
          f"{seconds[0].sum() / seconds[1].sum():.0f} times as fast with the cache")
    figure, (grid, times) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 2))
    grid.imshow(np.tri(8) + np.eye(8), cmap="Greys", vmax=2.5)
    grid.set(xlabel="position that is computed", ylabel="step of the loop", title="dark: new, grey: again", xticks=(), yticks=())
    for row, style, name in zip(seconds, ("-", "--"), ("all positions again", "with the cache")):
        times.plot(range(0, len(x), 8), 1e6 * row, style, color="black", label=name)
    times.set(xlabel="position being written", ylabel="microseconds for one token")
    times.legend()


def with_a_broken_cache(length) -> str:
    """What a beam search on 100 random words of so many letters finds if the cache is never reordered."""
    advance = CachedStack.advance

    def broken(state, ids, parents=None) -> Any:
        places = np.minimum(np.arange(ids.shape[1]), state._past.shape[1] - 1) if state._past is not None else 0
        return advance(state, ids, None if parents is None else np.broadcast_to(places, ids.shape))

    model, vocabulary = drawkcab()
    draw = np.random.default_rng(length)
    words = ["".join(draw.choice([*string.ascii_lowercase], length)) for _word in range(100)]
    source = np.array([[*vocabulary.encode(word), EOS] for word in words])
    right = beam_search(model, source, 4)
    with mock.patch.object(CachedStack, "advance", broken):
        wrong = beam_search(model, source, 4)
    exact = [vocabulary.decode(found[0].ids) == word[::-1] for found, word in zip(wrong, words)]
    differ = [[one.ids for one in a] != [one.ids for one in b] for a, b in zip(right, wrong)]
    return f"{length} letters: {np.mean(exact):.0%} of the words are right, {np.mean(differ):.0%} of the beams differ"


def _show_figures(script) -> None:
    """At the end of a script: its figures in windows, or, where matplotlib has no windows, as files in the current folder."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    if any(figure.canvas.required_interactive_framework for figure in figures):
        plt.show()
        return
    for figure in figures:
        path = f"{script}-{figure.number}.png"
        try:
            figure.savefig(path, dpi=120)
            print(_("figure {number}: {path}").format(number=figure.number, path=path))
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)


_script = getattr(sys.modules["__main__"], "__file__", None)    # a notebook has none, and shows figures by itself
if _script:
    atexit.register(_show_figures, Path(_script).stem)
