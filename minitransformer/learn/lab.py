"""What several chapters need but no chapter is about: the running example, its attention, the map, and pictures in a script.

The running example is a small trained Transformer that writes a word backwards. tutorials/drawkcab/train.py makes its weights.
"""

import atexit
import string
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from minitransformer import Transformer, TransformerConfig, beam_search, greedy, load_weights
from minitransformer.data.batches import Batch, make_batch
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
from minitransformer.tasks.toy import LetterTask, ToyTask
from minitransformer.training import gradients

LETTERS = SymbolVocabulary(string.ascii_lowercase, joint="")
CONFIG = TransformerConfig(num_layers=1, d_model=32, num_heads=4, d_ff=128, dropout=0.0,
                           source_vocab=LETTERS.size, target_vocab=LETTERS.size)

PARTS = {    # {part of the map: the exercises that make it the reader's own}
    "linear": ["linear_backward"],
    "embedding": ["embedding_backward"],
    "positions": ["sinusoids"],
    "softmax": ["softmax", "softmax_backward"],
    "attention": ["attention", "attention_backward"],
    "masks": ["causal_mask", "three_masks"],
    "heads": ["split_heads", "merge_heads"],
    "residual": ["residual_backward"],
    "layer_norm": ["layer_norm", "layer_norm_backward"],
    "feed_forward": ["feed_forward_backward"],
    "dropout": ["dropouts_backward"],
    "encoder": ["attention_backward", "residual_backward", "layer_norm_backward", "feed_forward_backward", "dropouts_backward",
                "post_norm_backward"],
    "decoder": ["decoder_layer", "memory_backward"],
    "loss": ["cross_entropy_backward", "smoothed_targets"],
    "adam": ["adam_step"],
    "decoding": ["nucleus", "beam_step", "ranked", "cached_step"],
}


def you_are_here(*parts) -> None:
    """Draw the map with this chapter's parts outlined, and those filled whose exercises pass in the current folder."""
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


def accuracy(model, batch) -> float:
    """The share of letters that the model predicts when it is given the right ones before; the end of a word does not count."""
    logits, _cache = model.forward(batch.source, batch.target)
    letters = batch.next_target > EOS
    return float((logits.argmax(axis=-1) == batch.next_target)[letters].mean())


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


def show_mask(axes, mask, tokens) -> None:
    """Draw a mask (T, T) whose rows and columns are these tokens."""
    image = axes.imshow(mask, cmap=plt.get_cmap("Blues", 2), vmin=0, vmax=1)
    axes.set(xlabel="key: the tokens it may look at", ylabel="query: the position that asks")
    axes.set_xticks(range(len(tokens)), tokens)
    axes.set_yticks(range(len(tokens)), tokens)
    axes.figure.colorbar(image, ticks=[0.25, 0.75]).set_ticklabels(["False", "True:\nmay attend"])


def show_split(three, x) -> None:
    """Draw x (T, 2 d) on three axes: as stored, reshaped directly to (2, T, d), and as two heads need it, in blue and yellow."""
    length, width = x.shape
    size = width // 2
    owner = np.broadcast_to(np.arange(width) // size, x.shape)
    for axes, title, split in zip(three, ("x", "x, reshaped straight", "what each head needs"), (
            lambda array: array[None], lambda array: array.reshape(2, length, size),
            lambda array: array.reshape(length, 2, size).swapaxes(0, 1))):
        for block, (numbers, colours) in enumerate(zip(split(x), split(owner))):
            for (i, k), number in np.ndenumerate(numbers):
                place = k, block * (length + 0.4) + i
                axes.add_patch(plt.Rectangle(place, 1, 1, facecolor=("lightskyblue", "khaki")[colours[i, k]], edgecolor="white"))
                axes.text(place[0] + 0.5, place[1] + 0.5, f"{number:02}", ha="center", va="center")
            if title != "x":
                axes.text(-0.2, block * (length + 0.4) + length / 2, f"head {block}", ha="right", va="center")
        axes.text(1 if title != "x" else 2, -0.3, title, ha="center", fontsize=12)
        axes.set(xlim=(-1.4, 4.2), ylim=(2 * (length + 0.4), -1), aspect="equal")
        axes.axis("off")


def suspect_mask(ids) -> np.ndarray:
    """A causal mask (T, T) with the mistake that chapter 6 hunts."""
    return np.tri(ids.shape[1], k=1, dtype=bool)


@dataclass(frozen=True, kw_only=True)
class Dice(LetterTask):
    """From eight letters to eight throws of a die, a to f, about which the source says nothing."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        return [string.ascii_lowercase[i] for i in rng.integers(26, size=8)], ["abcdef"[i] for i in rng.integers(6, size=8)]


@dataclass(frozen=True, kw_only=True)
class AddNeighbours(ToyTask):
    """From three to five digits to the last digit of the sum of each and the next: 3 8 5 -> 1 3."""

    def draw(self, rng) -> tuple[list[str], list[str]]:
        digits = rng.integers(10, size=rng.integers(3, 6))
        return [str(digit) for digit in digits], [str(total % 10) for total in digits[:-1] + digits[1:]]

    def make_vocabulary(self) -> SymbolVocabulary:
        return SymbolVocabulary(string.digits)


def deep(pre_norm, seed) -> tuple[Transformer, Any, float]:
    """(model, cache, dloss): an untrained model of 24 layers in each stack, before its backward on eight random texts."""
    model = Transformer(TransformerConfig.named("toy", 30, num_layers=24, d_model=16, d_ff=64, pre_norm=pre_norm), seed=seed)
    texts = np.random.default_rng(seed).integers(len(SPECIAL), 30, (8, 10)).tolist()
    batch = make_batch([(text, text) for text in texts])
    return model, model.loss_forward(batch)[1], 1 / batch.terms


def memory_parts(pre_norm, seed) -> list[np.ndarray]:
    """The gradient of the memory from each layer of the decoder of a `deep` model, the first layer's first."""
    model, cache, dloss = deep(pre_norm, seed)
    dy, decode = model.loss.backward(dloss, cache.loss), cache.hidden.decode.decoder
    dy = model.decoder.norm.backward(dy, decode.norm) if model.decoder.norm else dy
    parts = []
    for layer, one in zip(reversed(model.decoder.layers), reversed(decode.layers)):
        dy, dmemory = layer.backward(dy, one)
        parts.insert(0, dmemory)
    return parts


def gradients_of_uses(model, vocabulary, word) -> tuple:
    """(dsource, dtarget, dlogits, h, source, target, E) while the model writes `word` backwards: what meets its shared matrix E.

    dsource, dtarget: the gradients of the embedded ids; h: the decoder's output, of which the logits are made.
    """
    batch, matrix = _batch(vocabulary, word), model.target_embedding.weight.data
    h, cache = model.hidden(*batch.inputs)
    p = softmax_forward(model.output.forward(h)[0])[0]
    dlogits = (p - np.eye(p.shape[-1])[batch.next_target]) / batch.terms
    dtarget, dmemory = model.decoder.backward(dlogits @ matrix, cache.decode.decoder)
    dsource = model.encoder.backward(dmemory, cache.encode.encoder)
    return dsource, dtarget, dlogits, h, *batch.inputs, matrix


def show_uses(parts, letters=LETTERS) -> None:
    """Draw the norm of each row of the shared matrix's gradient, from each of its three uses: parts, three of shape (V, D)."""
    figure, axes = plt.subplots(figsize=(9, 2.2), layout="constrained")
    image = axes.imshow(np.linalg.norm(parts, axis=-1), cmap="Purples", norm=LogNorm(1e-4))
    axes.set_xticks(range(letters.size), letters.listed, rotation=90)
    axes.set_yticks(range(3), ("source", "target", "logits"))
    axes.set(xlabel="row of the matrix", ylabel="its use", facecolor="lightyellow")
    figure.colorbar(image, label="norm of\nthe gradient")


def show_counts(names, counts) -> None:
    """Draw where the parameters of models are: counts {box: one number for each model}."""
    figure, axes = plt.subplots(figsize=(9, 2.4), layout="constrained")
    total, left = sum(counts.values()), 0
    for (box, count), shade in zip(counts.items(), ("0.85", "0.65", "0.4", "0.1")):
        axes.barh(names, 100 * count / total, left=left, color=shade, label=box)
        left = left + 100 * count / total
    axes.set(xlabel="share of the parameters (%)", xlim=(0, 100))
    axes.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=4)


def through_layers(variance, seed, layers=30, width=256) -> tuple[list[float], list[float]]:
    """What a plain network of ReLU layers does to a signal, and to a gradient on the way back: their sizes after each layer.

    variance: that of its weights. The gradient's list begins at the first layer, where it arrives last.
    """
    draw = np.random.default_rng(seed)
    x, weights = draw.standard_normal((32, width)), variance ** 0.5 * draw.standard_normal((layers, width, width))
    signals, passed = [], []
    for weight in weights:
        x = x @ weight
        passed.append(x > 0)
        x = x * passed[-1]
        signals.append(float(np.sqrt((x ** 2).mean())))
    dx, sizes = draw.standard_normal(x.shape), []
    for weight, on in zip(weights[::-1], passed[::-1]):
        dx = (dx * on) @ weight.T
        sizes.append(float(np.sqrt((dx ** 2).mean())))
    return signals, sizes[::-1]


def show_norm(both, x, n, dx) -> None:
    """Draw LayerNorm of rows of three numbers on two 3-D axes: x on the way to n, and, seen along (1, 1, 1), dx from n.

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


def cross_attention_inputs(model, vocabulary, word) -> tuple[np.ndarray, np.ndarray]:
    """The last cross-attention's inputs while the model writes `word` backwards: x (T_q, d_model) and the memory (T_k, d_model).

    Rows of x: the letters of the word from the last to the first, and the end. Rows of the memory: the word, and the end.
    """
    ids = vocabulary.encode(word)
    _y, cache = model.hidden(np.array([[*ids, EOS]]), np.array([[BOS, *ids[::-1]]]))
    found = cache.decode.decoder.layers[-1].cross_attention.sublayer
    return found.query.x[0], found.key.x[0]


def loss_of_weights(model, vocabulary, word) -> tuple[Any, np.ndarray, np.ndarray]:
    """(f, w, gradient) of the loss for each letter while the model writes `word` backwards.

    w: all its weights in one vector; f(w): the loss, for complex w, too; gradient: from the library's backwards.
    """
    model, complex_model = model.astype("float64"), model.astype("complex128")
    add_gradients(model, vocabulary, word)
    batch = _batch(vocabulary, word)

    def loss(weights) -> Any:
        complex_model.flat.data[...] = weights
        return complex_model.loss_forward(batch)[0].loss / batch.terms
    return loss, model.flat.data, model.flat.grad


def add_gradients(model, vocabulary, word) -> None:
    """Add the gradients of the loss for each letter, while the model writes `word` backwards, to those of its parameters."""
    batch = _batch(vocabulary, word)
    gradients.add_gradients(model, [batch], batch.terms)


def _batch(vocabulary, word) -> Batch:
    ids = vocabulary.encode(word)
    return make_batch([(ids, ids[::-1])])


def show_graph(axes, inputs, values, gradients) -> None:
    """Draw a computation from left to right: on each node its value in black, its name, and its gradient in purple below.

    inputs: {node: [the nodes that it is computed from]}, the last one computed last; values, gradients: {node: number}.
    """
    columns: list[list[str]] = [[list(inputs)[-1]]]    # from right to left
    while made := [one for name in columns[-1] for one in inputs.get(name, [])]:
        columns.append(made)
    places = {name: (-1.7 * column, 0.85 * (len(names) - 1) / 2 - 0.85 * row)
              for column, names in enumerate(columns) for row, name in enumerate(names)}
    for name, (x, y) in places.items():
        axes.text(x, y, f"${name}$", ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"})
        axes.text(x, y + 0.22, f"{values[name]:g}", ha="center", va="center")
        axes.text(x, y - 0.24, f"{gradients[name]:g}", ha="center", va="center", color="tab:purple")
        for one in inputs.get(name, []):
            axes.annotate("", (x, y), places[one], arrowprops={"arrowstyle": "->", "color": "0.5", "shrinkA": 14, "shrinkB": 20})
    axes.set(xlim=(-1.7 * len(columns) + 1, 0.5), ylim=(-0.45 * len(columns[-1]), 0.45 * len(columns[-1])))
    axes.axis("off")


def show_lookup(axes, tokens, ids, vocabulary) -> None:
    """Draw the table of an embedding, and arrows from the tokens below to the rows above that their gradients are added to.

    ids: for each token the number of its row; vocabulary: what the rows belong to.
    """
    rows = np.arange(len(vocabulary)) + (len(tokens) - len(vocabulary)) / 2
    frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"}
    for x, name in zip(rows, vocabulary):
        axes.text(x, 1, f"row of\n{name}", ha="center", va="center", bbox=frame)
    for place, (token, x) in enumerate(zip(tokens, rows[ids])):
        axes.text(place, 0, token, ha="center", va="center", bbox=frame | {"facecolor": "0.93"})
        axes.annotate("", (x, 1), (place, 0), arrowprops={"arrowstyle": "->", "color": "tab:purple", "shrinkA": 12, "shrinkB": 22})
        axes.text(place + 0.2 * (x - place), 0.2, "dy", ha="center", va="center", color="tab:purple",
                  bbox={"color": "white", "pad": 1})
    axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(-0.25, 1.3))
    axes.axis("off")


def show_scores(axes, scores, queries, keys) -> Any:
    """Draw scores that have not been through a softmax, red if they are positive and blue if negative. Returns the image.

    scores: (T_q, T_k); queries, keys: the letters of the rows and of the columns.
    """
    largest = abs(scores).max()
    image = axes.imshow(scores, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axes.set_xticks(range(len(keys)), keys)
    axes.set_yticks(range(len(queries)), queries)
    axes.set_xlabel("key: the letter it may look at", color="tab:orange")
    axes.set_ylabel("query: the letter that looks", color="tab:blue")
    axes.figure.colorbar(image, ax=axes, label="score: query times key")
    return image


def show_losses(axes, curves, level=None) -> None:
    """Draw training losses {what they are: one number for each step}; level: (number, its name) of a dotted line."""
    for (name, losses), colour, style in zip(curves.items(), ("black", "tab:red", "tab:brown"), ("-", "--", "-.")):
        axes.plot(range(1, len(losses) + 1), losses, style, color=colour, label=name)
    if level:
        axes.axhline(level[0], color="0.5", linestyle=":", label=level[1])
    axes.set_xlabel("training step")
    axes.set_ylabel("loss for each token")
    axes.legend()


def show_tree(axes, tried, finished, title) -> None:
    """Draw every hypothesis of a beam search on its way from left to right: `tried` is [(path, log-probability)].

    A path is a tuple of words. Those that survived have a thick frame; those in `finished` are green.
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
             yticks=(), xlabel="tokens written", title=title)
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

    The fastest of eight consecutive positions counts, because the machine has other work, too.
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
    """What a beam search on 100 random words of that many letters finds if the cache is never reordered."""
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
    """At the end of a script: its figures in windows, or, if matplotlib has no windows, as files in the current folder."""
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
